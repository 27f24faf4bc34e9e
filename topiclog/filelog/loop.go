package filelog

import (
	"errors"
	"fmt"
	"runtime"
	"time"
)

// syncRetry is the pause before a failed fsync is tried again.
const syncRetry = time.Second

// run is the loop: the only writer.
func (l *Log) run() {
	defer close(l.ended)
	tick := time.NewTicker(l.tickEvery())
	defer tick.Stop()
	defer l.syncTimer.Stop()
	for {
		select {
		case <-l.wake:
			runtime.Gosched() // whoever is about to append shares the write
			l.commit()
		case err := <-l.syncDone:
			l.syncEnded(err)
			l.armSync()
		case <-l.syncTimer.C:
			l.backgroundSync()
		case <-tick.C:
			l.age()
		case <-l.closing:
			l.commit()
			l.failed = l.finish()
			return
		}
	}
}

// sync runs fsync beside the loop, one at a time.
func (l *Log) sync() {
	for f := range l.toSync {
		l.syncDone <- f.Sync()
	}
}

// commit writes the staged batch, makes it visible and answers.
func (l *Log) commit() {
	l.mu.Lock()
	b := l.staged
	l.take(b)
	l.mu.Unlock()
	if b == nil {
		return
	}
	base, err := l.write(b)
	if err != nil {
		l.refuse(b, fmt.Errorf("filelog: append in %s: %w", l.dir, err))
		l.armSync()
		return
	}
	l.mu.Lock()
	l.active.size = base + int64(len(b.buf))
	l.stats.Writes++
	entries := l.apply(b, base)
	var tails []*tail
	for t := range l.tails {
		tails = append(tails, t)
	}
	l.recycle(b, len(entries) > 0)
	l.mu.Unlock()
	close(b.done)
	for _, t := range tails {
		if len(entries) > 0 {
			t.push(entries, l.closing, l.syncEarly)
		}
	}
	l.armSync()
}

// take makes b no longer the staged batch. l.mu is held.
func (l *Log) take(b *batch) {
	l.staged = nil
	if b != nil && b.taken != nil {
		close(b.taken)
	}
}

// refuse fails a batch and the one behind it, which was numbered after it.
func (l *Log) refuse(b *batch, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	behind := l.staged
	l.take(behind)
	for _, failed := range []*batch{behind, b} {
		if failed != nil {
			l.stats.Failures++
			l.undo(failed)
			failed.err = err
			close(failed.done)
		}
	}
}

// write puts the batch at the end of the active segment, a new one if needed, and
// syncs if it must. base is where it begins. After an error nothing of it counts.
func (l *Log) write(b *batch) (base int64, err error) {
	if err := l.repair(); err != nil {
		return 0, err
	}
	if len(b.buf) > 0 && l.full(len(b.buf)) {
		if err := l.roll(); err != nil {
			return 0, err
		}
	}
	base = l.active.size
	if len(b.buf) > 0 {
		if _, err := l.active.file.WriteAt(b.buf, base); err != nil {
			l.dirtyTail = true
			return 0, errors.Join(fmt.Errorf("write %s: %w", l.active.name, err), l.cutTail())
		}
	}
	if b.sync || l.options.Sync == SyncAlways {
		if err := l.syncTo(base + int64(len(b.buf))); err != nil {
			l.dirtyTail = true
			return 0, errors.Join(err, l.cutTail())
		}
	}
	return base, nil
}

// full reports whether the active segment has to end before n more bytes.
func (l *Log) full(n int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.active
	return l.mustRoll || s.size > s.state && (s.size+int64(n) > l.limit || s.frames > l.options.MaxFrames/8)
}

// syncTo makes the active segment durable up to size.
func (l *Log) syncTo(size int64) error {
	l.awaitSync()
	if l.badSync {
		return fmt.Errorf("sync %s: an earlier fsync failed", l.active.name)
	}
	if l.synced >= size && !l.cutDirty {
		return nil
	}
	l.countSync()
	if err := l.active.file.Sync(); err != nil {
		l.badSync = true
		return fmt.Errorf("sync %s: %w", l.active.name, err)
	}
	l.synced, l.cutDirty = size, false
	return nil
}

func (l *Log) countSync() {
	l.mu.Lock()
	l.stats.Syncs++
	l.mu.Unlock()
}

// armSync starts the interval when something is not synced.
func (l *Log) armSync() {
	switch {
	case l.syncing:
	case l.badSync:
		l.syncTimer.Reset(syncRetry)
	case l.options.Sync == SyncInterval && l.synced < l.active.size && !l.timerOn:
		l.timerOn = true
		l.syncTimer.Reset(l.options.SyncEvery)
	}
}

// syncEarly is called when a tail holds the loop up, for nobody knows how long: what was
// acknowledged is not to wait for it.
func (l *Log) syncEarly() {
	if l.options.Sync != SyncInterval || l.badSync {
		return
	}
	if err := l.syncTo(l.active.size); err != nil {
		l.options.Logger.Error("filelog: fsync failed; trying again", "file", l.active.name, "error", err)
	}
}

func (l *Log) backgroundSync() {
	l.timerOn = false
	if l.badSync {
		if err := l.repair(); err != nil {
			l.options.Logger.Error("filelog: the log cannot be synced", "error", err)
			l.armSync()
		}
		return
	}
	if l.syncing || l.synced >= l.active.size {
		return
	}
	l.countSync()
	l.syncing, l.syncMark = true, l.active.size
	l.toSync <- l.active.file
}

// awaitSync waits for the syncer, so that the loop owns the file.
func (l *Log) awaitSync() {
	if l.syncing {
		l.syncEnded(<-l.syncDone)
	}
}

func (l *Log) syncEnded(err error) {
	l.syncing = false
	if err != nil {
		l.badSync = true
		l.options.Logger.Error("filelog: fsync failed; trying again", "file", l.active.name, "error", err)
		return
	}
	l.synced = max(l.synced, l.syncMark)
}

// cutTail removes what a failed write left behind size.
func (l *Log) cutTail() error {
	if err := l.active.file.Truncate(l.active.size); err != nil {
		return fmt.Errorf("cut %s to %d bytes: %w", l.active.name, l.active.size, err)
	}
	l.dirtyTail, l.cutDirty = false, true
	return nil
}

// repair brings the active segment back to a state that can be written on.
//
// After a failed fsync the system may believe that pages are on the disk which
// are not, and a second fsync says so. They are therefore read back, checked,
// written again and synced.
func (l *Log) repair() error {
	if l.dirtyTail {
		if err := l.cutTail(); err != nil {
			return err
		}
	}
	if !l.badSync { // once set, the syncer rests
		return nil
	}
	s := l.active
	buf := make([]byte, s.size-l.synced)
	if _, err := s.file.ReadAt(buf, l.synced); err != nil {
		return fmt.Errorf("read back %s: %w", s.name, err)
	}
	for rest, at := buf, l.synced; len(rest) > 0; {
		_, n, err := parse(rest)
		if err != nil {
			return &DamageError{File: s.name, Offset: at, Cause: err}
		}
		rest, at = rest[n:], at+int64(n)
	}
	if _, err := s.file.WriteAt(buf, l.synced); err != nil {
		return fmt.Errorf("write again %s: %w", s.name, err)
	}
	l.countSync()
	if err := s.file.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", s.name, err)
	}
	l.badSync, l.cutDirty, l.synced = false, false, s.size
	return nil
}

// finish ends the loop's work: everything synced, the end marked as clean.
func (l *Log) finish() error {
	err := l.repair()
	if err == nil {
		err = l.syncTo(l.active.size)
	}
	l.awaitSync()
	close(l.toSync)
	if err == nil {
		err = writeState(l.options.fs, l.dir, runState{
			Clean: true, Segment: l.active.number, Size: l.active.size, Boot: l.options.fs.Boot(), Sync: l.options.Sync.String(),
		})
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.segments {
		s.gone = true
		if s.readers == 0 {
			err = errors.Join(err, s.file.Close())
		}
	}
	l.topics, l.segments, l.ids, l.frames = nil, nil, nil, 0
	if err = errors.Join(err, l.lock.Close()); err != nil {
		return fmt.Errorf("filelog: close %s: %w", l.dir, err)
	}
	return nil
}
