package filelog

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"
)

// tickEvery is how often age is looked at.
func (l *Log) tickEvery() time.Duration {
	if l.options.MaxAge < 0 {
		return time.Hour
	}
	return min(max(l.options.MaxAge/16, time.Millisecond), time.Minute)
}

// age deletes what is too old and ends an active segment that has lived an eighth
// of MaxAge, so that it becomes too old in time.
func (l *Log) age() {
	if l.options.MaxAge < 0 {
		return
	}
	l.discard()
	if s := l.active; s.size > s.state && time.Since(s.created) > l.options.MaxAge/8 {
		err := l.repair()
		if err == nil {
			err = l.roll()
		}
		if err != nil {
			l.options.Logger.Error("filelog: begin a segment", "error", err)
		}
	}
}

// discard deletes segments that are out of bounds and forgets topics of which
// nothing is left. The active segment stays.
func (l *Log) discard() {
	l.mu.Lock()
	if n := l.surplus(); n > 0 {
		for _, s := range l.segments[:n] {
			s.gone = true
			l.doomed = append(l.doomed, s)
			if s.readers == 0 {
				l.closeFile(s)
			}
		}
		l.segments = slices.Delete(l.segments, 0, n)
		for _, t := range l.topics {
			l.frames -= t.dropBefore(l.segments[0].number)
		}
		l.forget()
	}
	l.mu.Unlock()
	// Oldest first, each durable before the next, and none before a failed one is
	// tried again: no hole can be left.
	for len(l.doomed) > 0 {
		s := l.doomed[0]
		err := l.options.fs.Remove(s.name)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			err = l.options.fs.SyncDir(l.dir)
		}
		if err != nil {
			l.options.Logger.Error("filelog: delete a segment; trying again later", "file", s.name, "error", err)
			return
		}
		l.doomed = slices.Delete(l.doomed, 0, 1)
	}
}

// closeFile closes a segment that is gone, for the last reader.
func (l *Log) closeFile(s *segment) {
	if err := s.file.Close(); err != nil {
		l.options.Logger.Warn("filelog: close a segment", "file", s.name, "error", err)
	}
}

// surplus returns how many of the oldest segments have to go. l.mu is held.
func (l *Log) surplus() int {
	bytes := max(l.options.SegmentBytes, 4*l.active.state) // the next segment
	for _, s := range l.segments {
		bytes += s.size
	}
	frames := l.frames
	for i, s := range l.segments[:len(l.segments)-1] {
		tooOld := l.options.MaxAge > 0 && time.Since(l.segments[i+1].created) > l.options.MaxAge
		tooMuch := l.options.MaxBytes > 0 && bytes > l.options.MaxBytes
		if !tooOld && !tooMuch && frames <= l.options.MaxFrames {
			return i
		}
		bytes -= s.size
		frames -= s.frames
	}
	return len(l.segments) - 1
}

// forget removes topics without frames, kept or staged. l.mu is held.
func (l *Log) forget() {
	for name, t := range l.topics {
		if len(t.chunks) == 0 && t.pending == 0 {
			delete(l.topics, name)
		}
	}
}

// roll ends the active segment, synced, and begins the next one. Bounds are kept
// first, which also makes room on a full disk.
func (l *Log) roll() error {
	l.mustRoll = true // also if this fails: the next file may exist
	if err := l.syncTo(l.active.size); err != nil {
		return err
	}
	l.discard()
	l.mu.Lock()
	l.forget()
	state := l.state(nil)
	l.mu.Unlock()
	s, err := createSegment(l.options.fs, l.dir, l.active.number+1, state)
	if err != nil {
		return err
	}
	l.mu.Lock()
	l.begin(s)
	l.mu.Unlock()
	return nil
}

// begin makes s the active segment. l.mu is held.
func (l *Log) begin(s *segment) {
	l.segments = append(l.segments, s)
	l.active = s
	l.synced = s.size
	l.mustRoll = false
	l.limit = min(max(l.options.SegmentBytes, 4*s.state), maxSegment)
}

// state appends the records that a segment begins with. l.mu is held.
func (l *Log) state(b []byte) []byte {
	count := 0
	for _, t := range l.topics {
		if t.defined {
			b = appendTopic(b, t.number, t.name, t.epoch, t.reserved, t.head, t.lost)
			count++
		}
	}
	return appendEnd(b, count)
}

// createSegment writes a new file with the state of the topics, durably.
func createSegment(fsys fileSystem, dir string, number uint64, state []byte) (*segment, error) {
	s := &segment{number: number, name: segmentName(dir, number), created: time.Now()}
	f, err := fsys.Open(s.name, true)
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", s.name, err)
	}
	s.file = f
	head := appendHeader(make([]byte, 0, segmentHead+len(state)), number, s.created)
	_, err = f.WriteAt(append(head, state...), 0)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = fsys.SyncDir(dir)
	}
	if err != nil {
		_ = f.Close()
		_ = fsys.Remove(s.name) // the error at hand matters more; the next try empties the file
		return nil, fmt.Errorf("begin %s: %w", s.name, err)
	}
	s.state = int64(segmentHead + len(state))
	s.size = s.state
	return s, nil
}
