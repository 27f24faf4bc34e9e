package filelog

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/ignex/nova/topiclog"
)

// batch is what is written with one write. It is staged while the loop writes the
// one before it; the log's mutex guards it until the loop takes it. When a batch
// fails, so does the one staged behind it: nothing overtakes a failed append.
type batch struct {
	buf      []byte // records
	frames   []staged
	topics   []*topic // announced in it
	reserved []reservation
	sync     bool // done only after an fsync

	taken chan struct{} // closed when the loop takes it; nil when nobody waits for that
	done  chan struct{} // closed when err is set
	err   error
}

type staged struct {
	topic  *topic
	id     string
	except string
	offset uint64
	at     int // of the record in buf
	frame  int // of the frame in buf
	end    int
}

// reservation of a block of offsets, with what to return to when it fails.
type reservation struct {
	topic  *topic
	before uint64
}

func checkSizes(name, id, except string, frame int) error {
	switch {
	case len(name) > maxName:
		return fmt.Errorf("filelog: the topic's name has %d bytes; at most %d", len(name), maxName)
	case len(id) > maxName:
		return fmt.Errorf("filelog: the emit id has %d bytes; at most %d", len(id), maxName)
	case len(except) > maxName:
		return fmt.Errorf("filelog: the client left out has a name of %d bytes; at most %d", len(except), maxName)
	case frame > maxFrame:
		return fmt.Errorf("filelog: frame of %d bytes; at most %d", frame, maxFrame)
	}
	return nil
}

// Append implements topiclog.Log. It returns when the frame's batch is written
// (with SyncAlways: synced). If ctx ends before that, the frame may or may not be
// kept: append it again with the same id. After an error of the file system
// nothing of the batch is kept, the log stays usable, and a later append works
// once the cause, such as a full disk, is gone.
func (l *Log) Append(ctx context.Context, name, id string, frame []byte) (uint64, error) {
	if err := checkSizes(name, id, "", len(frame)); err != nil {
		return 0, err
	}
	if err := l.lockForRoom(ctx); err != nil {
		return 0, err
	}
	_, offset, b := l.stage(name, id, "", frame)
	l.mu.Unlock()
	if err := l.wait(ctx, b); err != nil {
		return 0, err
	}
	return offset, nil
}

// AppendAll implements topiclog.Batcher. The frames of one call have at most
// 64 MiB together.
func (l *Log) AppendAll(ctx context.Context, entries []topiclog.Entry) error {
	total := 0
	for _, e := range entries {
		total += len(e.Frame)
		if err := checkSizes(e.Topic, e.ID, e.Except, total); err != nil {
			return err
		}
	}
	if err := l.lockForRoom(ctx); err != nil {
		return err
	}
	var last, before *batch // those to wait for: at most the one in flight and the staged one
	for i := range entries {
		e := &entries[i]
		t, offset, b := l.stage(e.Topic, e.ID, e.Except, e.Frame)
		e.Epoch, e.Offset = t.epoch, offset
		if b != nil && b != last {
			before, last = last, b
		}
	}
	l.mu.Unlock()
	if err := l.wait(ctx, before); err != nil {
		return err
	}
	return l.wait(ctx, last)
}

// Sync returns when everything whose append has returned is safe from a power
// failure. It implements topiclog.Syncer.
func (l *Log) Sync(ctx context.Context) error {
	if err := l.lockForRoom(ctx); err != nil {
		return err
	}
	b := l.batch()
	b.sync = true
	l.mu.Unlock()
	return l.wait(ctx, b)
}

// lockForRoom returns with l.mu held, or an error.
func (l *Log) lockForRoom(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.mu.Lock()
	for {
		if l.closed {
			l.mu.Unlock()
			return topiclog.ErrClosed
		}
		if l.staged == nil || len(l.staged.buf) < maxBatch {
			return nil
		}
		if l.staged.taken == nil {
			l.staged.taken = make(chan struct{})
		}
		taken := l.staged.taken
		l.mu.Unlock()
		select {
		case <-taken:
		case <-ctx.Done():
			return ctx.Err()
		}
		l.mu.Lock()
	}
}

func (l *Log) wait(ctx context.Context, b *batch) error {
	if b == nil {
		return nil
	}
	select {
	case <-b.done:
		return b.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// batch returns the staged one, a new one if needed. l.mu is held.
func (l *Log) batch() *batch {
	if l.staged == nil {
		l.staged = &batch{buf: l.spareBuf, frames: l.spareFrames, done: make(chan struct{})}
		l.spareBuf, l.spareFrames = nil, nil
		token(l.wake)
	}
	return l.staged
}

// stage puts a frame into the batch and returns its offset and the batch to wait
// for: nil when the id is known and written. l.mu is held.
func (l *Log) stage(name, id, except string, frame []byte) (*topic, uint64, *batch) {
	t := l.topics[name]
	if t == nil {
		l.lastTopic++
		t = &topic{number: l.lastTopic, name: name, epoch: rand.Text()}
		l.topics[name] = t
	}
	if id != "" {
		if v, ok := l.ids.get(t, id); ok {
			if v.offset <= t.head {
				return t, v.offset, nil
			}
			return t, v.offset, v.batch
		}
	}
	b := l.batch()
	offset := t.next + 1
	if !t.announced {
		// The first block needs no fsync: if this record is lost, so is the epoch.
		t.announced = true
		t.reserved = max(t.reserved, l.options.blockEnd(offset))
		b.topics = append(b.topics, t)
		b.buf = appendTopic(b.buf, t.number, t.name, t.epoch, t.reserved, t.head, t.lost)
	}
	if offset > t.reserved {
		b.reserved = append(b.reserved, reservation{topic: t, before: t.reserved})
		t.reserved = l.options.blockEnd(offset)
		b.buf = appendReserve(b.buf, t.number, t.reserved)
		b.sync = true // before any offset of the block is seen
	}
	at := len(b.buf)
	b.buf = appendFrame(b.buf, t.number, offset, id, except, frame)
	b.frames = append(b.frames, staged{topic: t, id: id, except: except, offset: offset, at: at, frame: len(b.buf) - len(frame), end: len(b.buf)})
	t.next = offset
	t.pending++
	if id != "" {
		l.ids.put(t, id, offset, b)
	}
	return t, offset, b
}

// undo takes a batch back that was not written. Offsets stay burned: the bytes
// may have reached the disk. Later batches are undone first. l.mu is held.
func (l *Log) undo(b *batch) {
	for i := len(b.reserved) - 1; i >= 0; i-- {
		b.reserved[i].topic.reserved = b.reserved[i].before
	}
	for _, s := range b.frames {
		s.topic.pending--
		if s.id != "" {
			l.ids.remove(s.topic, s.id)
		}
	}
	for _, t := range b.topics {
		t.announced = false
		if t.pending == 0 && l.topics[t.name] == t {
			delete(l.topics, t.name) // its epoch was never seen
		}
	}
}

// apply makes a batch that was written at base of the active segment visible and
// returns its entries, when a tail wants them. l.mu is held.
func (l *Log) apply(b *batch, base int64) (entries []topiclog.Entry) {
	for _, t := range b.topics {
		t.defined = true
	}
	if len(l.tails) > 0 && len(b.frames) > 0 {
		entries = make([]topiclog.Entry, 0, len(b.frames))
	}
	for i := range b.frames {
		s := &b.frames[i]
		s.topic.add(l.active, s.offset, base+int64(s.at))
		s.topic.pending--
		if s.id != "" {
			l.ids.settle(s.topic, s.id)
		}
		if entries != nil {
			entries = append(entries, topiclog.Entry{
				Topic: s.topic.name, Epoch: s.topic.epoch, Offset: s.offset, ID: s.id, Except: s.except, Frame: b.buf[s.frame:s.end:s.end],
			})
		}
	}
	l.frames += len(b.frames)
	return entries
}

// recycle keeps the memory of a batch for a later one, unless tails have it.
func (l *Log) recycle(b *batch, shared bool) {
	if !shared && cap(b.buf) <= maxBatch {
		l.spareBuf = b.buf[:0]
	}
	clear(b.frames)
	l.spareFrames = b.frames[:0]
	b.buf, b.frames, b.topics, b.reserved = nil, nil, nil, nil
}
