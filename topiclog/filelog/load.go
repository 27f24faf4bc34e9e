package filelog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// loader rebuilds the index from the segments.
type loader struct {
	l      *Log
	byID   map[uint64]*topic // by number
	recent []recent          // the last ids, as a ring
	at     int

	segment  *segment
	complete bool // the segment's state was read to its end
	count    uint64
	damaged  bool // something was dropped before this state

	before  *runState
	clean   bool   // the run before ended cleanly
	suspect bool   // the end of the log is damaged by more than an unfinished write
	dropped bool   // Options.DropDamaged did something
	noted   bool   // one of them is written down
	cut     int64  // bytes removed from the end
	next    uint64 // number of the next segment
}

type recent struct {
	topic  *topic
	offset uint64
	id     []byte
}

func newLoader(l *Log, before *runState) *loader {
	return &loader{l: l, before: before, byID: map[uint64]*topic{}, recent: make([]recent, max(l.options.RetryWindow, 0)), next: 1}
}

func (in *loader) load(ctx context.Context, numbers []uint64) error {
	in.clean = in.before == nil && len(numbers) == 0 // a new directory
	for i, number := range numbers {
		if err := ctx.Err(); err != nil {
			return err
		}
		if i > 0 && number != in.next {
			name := segmentName(in.l.dir, in.next)
			if err := in.missing(&DamageError{File: name, Cause: errors.New("the file is missing")}); err != nil {
				return err
			}
		}
		in.next = number + 1
		if err := in.loadSegment(number, i == len(numbers)-1); err != nil {
			return err
		}
	}
	for _, t := range in.l.topics {
		t.next = t.head
	}
	for i := range in.recent { // oldest first
		if r := in.recent[(in.at+i)%len(in.recent)]; r.topic != nil && in.l.topics[r.topic.name] == r.topic {
			in.l.ids.put(r.topic, string(r.id), r.offset, nil)
		}
	}
	return nil
}

// missing puts a segment that says nothing new where one is not there.
func (in *loader) missing(cause *DamageError) error {
	if !in.l.options.DropDamaged {
		return cause
	}
	in.l.options.Logger.Error("filelog: dropping", "error", cause)
	in.dropped, in.damaged = true, true
	if err := in.note(); err != nil {
		return err
	}
	s, err := createSegment(in.l.options.fs, in.l.dir, in.next, in.l.state(nil))
	if err == nil {
		in.l.segments = append(in.l.segments, s)
		in.next++
	}
	return err
}

func (in *loader) loadSegment(number uint64, last bool) error {
	s := &segment{number: number, name: segmentName(in.l.dir, number)}
	f, err := in.l.options.fs.Open(s.name, false)
	if err != nil {
		return err
	}
	s.file = f
	in.l.segments = append(in.l.segments, s)
	if s.size, err = f.Size(); err != nil {
		return err
	}
	if last && in.before != nil && in.before.Clean && in.before.Segment == number && in.before.Size == s.size {
		in.clean = true
	}
	d, err := in.read(s)
	if err != nil || d == nil {
		return err
	}
	if errors.Is(d.cause, errVersion) {
		return fmt.Errorf("%s: %w", s.name, d.cause)
	}
	switch {
	case last && !in.clean:
		in.suspect = in.suspect || !d.cut
	case in.l.options.DropDamaged:
		in.l.options.Logger.Error("filelog: dropping the rest of a segment", "file", s.name, "at", d.at, "error", d.cause)
		in.dropped, in.damaged = true, true
	default:
		return &DamageError{File: s.name, Offset: d.at, Cause: d.cause}
	}
	in.cut += s.size - d.at
	if in.suspect || in.dropped {
		if err := in.note(); err != nil {
			return err
		}
	}
	if in.complete {
		return in.shorten(s, d.at)
	}
	return in.replace(s, last)
}

// note writes down that frames are missing, before the damage that shows it is cut off:
// should this Open come to nothing, the next one has to know.
func (in *loader) note() error {
	if in.noted {
		return nil
	}
	in.noted = true
	return writeState(in.l.options.fs, in.l.dir, runState{})
}

// shorten ends a segment behind its last good record.
func (in *loader) shorten(s *segment, size int64) error {
	if err := s.file.Truncate(size); err != nil {
		return fmt.Errorf("cut %s to %d bytes: %w", s.name, size, err)
	}
	s.size = size
	return s.file.Sync()
}

// replace removes a segment whose state cannot be read: at the end of the log it
// was begun in vain, before it its place is taken by one that says nothing new.
func (in *loader) replace(s *segment, last bool) error {
	in.l.segments = in.l.segments[:len(in.l.segments)-1]
	if err := s.file.Close(); err != nil {
		return err
	}
	if err := in.l.options.fs.Remove(s.name); err != nil {
		return err
	}
	in.next = s.number
	if last {
		return in.l.options.fs.SyncDir(in.l.dir)
	}
	return in.missing(&DamageError{File: s.name, Cause: errors.New("its state cannot be read")})
}

// read applies a segment's records and says where they stop making sense.
func (in *loader) read(s *segment) (*damage, error) {
	in.segment, in.complete, in.count = s, false, 0
	head := make([]byte, segmentHead)
	n, err := s.file.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	number, created, err := parseHeader(head[:n])
	if err == nil && number != s.number {
		err = fmt.Errorf("the file says it is segment %d", number)
	}
	if err != nil {
		s.created = time.Now()
		return &damage{cause: err, cut: errors.Is(err, errShort)}, nil
	}
	s.created = created
	_, d, err := scan(s.file, segmentHead, s.size, in.apply)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", s.name, err)
	}
	if d == nil && !in.complete {
		d = &damage{at: s.size, cause: errors.New("the state of the topics has no end"), cut: true}
	}
	return d, nil
}

// apply is called with each record in order; its error makes the record a bad one.
func (in *loader) apply(at int64, length int, r record) error {
	switch r.kind {
	case kindTopic:
		return in.topic(r)
	case kindEnd:
		return in.end(at+int64(length), r.count)
	}
	t := in.byID[r.topic]
	if t == nil {
		return fmt.Errorf("topic number %d is not known", r.topic)
	}
	if r.kind == kindReserve {
		t.reserved = max(t.reserved, r.reserved) // less than a state that was written for a batch that failed
		return nil
	}
	if !in.complete {
		return errors.New("a frame within the state of the topics")
	}
	if r.offset <= t.head || r.offset > t.reserved {
		return fmt.Errorf("offset %d; the topic's head is %d, reserved %d", r.offset, t.head, t.reserved)
	}
	t.add(in.segment, r.offset, at)
	in.l.frames++
	if len(r.id) > 0 && len(in.recent) > 0 {
		slot := &in.recent[in.at]
		slot.topic, slot.offset, slot.id = t, r.offset, append(slot.id[:0], r.id...)
		in.at = (in.at + 1) % len(in.recent)
	}
	return nil
}

func (in *loader) topic(r record) error {
	if r.lost > r.head || r.head > r.reserved || r.reserved%in.l.options.block != 0 {
		return fmt.Errorf("topic state lost %d, head %d, reserved %d", r.lost, r.head, r.reserved)
	}
	in.count++
	t := in.l.topics[string(r.name)]
	if t == nil || t.number != r.topic || t.epoch != string(r.epoch) {
		if in.byID[r.topic] != nil {
			return fmt.Errorf("topic number %d is another's", r.topic)
		}
		if t != nil { // it was forgotten and has come back
			in.remove(t)
		}
		t = &topic{number: r.topic, name: string(r.name), epoch: string(r.epoch), announced: true, defined: true}
		in.l.topics[t.name], in.byID[t.number] = t, t
		in.l.lastTopic = max(in.l.lastTopic, t.number)
	}
	if in.damaged && r.head > t.head {
		t.lost = max(t.lost, r.head) // what was dropped had frames of it
	}
	t.seen = !in.complete
	t.reserved = max(t.reserved, r.reserved)
	t.head = max(t.head, r.head)
	t.lost = max(t.lost, r.lost)
	return nil
}

// end closes the state of a segment: what it does not name was forgotten then.
func (in *loader) end(behind int64, count uint64) error {
	if in.complete || count != in.count {
		return fmt.Errorf("the end of a state of %d topics after %d", count, in.count)
	}
	for _, t := range in.l.topics {
		if !t.seen {
			in.remove(t)
		}
		t.seen = false
	}
	in.complete, in.damaged = true, false
	in.segment.state = behind
	return nil
}

func (in *loader) remove(t *topic) {
	delete(in.l.topics, t.name)
	delete(in.byID, t.number)
	for _, c := range t.chunks {
		c.segment.frames -= len(c.at)
		in.l.frames -= len(c.at)
	}
}
