package session

import (
	"sync/atomic"

	"github.com/ignex/nova/wire"
)

// Batch is an immutable sequence of frames that rings refer to.
type Batch struct {
	frames  []Frame
	classes uint8 // a bit per wire.Delivery of its frames
	own     bool  // all frames are of the protocol itself
	refs    atomic.Int32
	keys    atomic.Pointer[[]string] // of frames of class latest, once somebody asked
}

// MaxBatch is the most frames of one batch: a receiver that keeps one frame of a
// batch keeps all of it alive.
const MaxBatch = 256

// NewBatch makes a batch of at most MaxBatch frames. It takes the slice over.
// Frames of the protocol itself, those without an event, are never dropped and
// stand outside the bounds of data when they have a batch of their own.
func NewBatch(frames []Frame) *Batch {
	b := &Batch{frames: frames, own: true}
	sum := 0
	for i := range frames {
		f := &frames[i]
		sum += len(f.data)
		f.sum = sum
		b.classes |= 1 << f.class()
		b.own = b.own && f.Event == nil
	}
	return b
}

// Len returns the number of frames.
func (b *Batch) Len() int { return len(b.frames) }

// Frame returns frame i.
func (b *Batch) Frame(i int) *Frame { return &b.frames[i] }

// class is the delivery class; frames of the protocol itself must arrive.
func (f *Frame) class() wire.Delivery {
	switch {
	case f.Event == nil:
		return wire.DeliverMust
	case f.Event.Delivery == wire.DeliverLatest && f.Event.Key == "":
		return wire.DeliverDrop
	}
	return f.Event.Delivery
}

// Hold counts a user of the batch. Its bytes count in total while it has any,
// however many: the first Hold adds them, the last Release takes them away. A nil
// total counts nothing.
func (b *Batch) Hold(total *atomic.Int64) { b.hold(total, 1) }

// Release is the opposite of Hold.
func (b *Batch) Release(total *atomic.Int64) { b.hold(total, -1) }

func (b *Batch) hold(total *atomic.Int64, users int32) {
	if total == nil || users == 0 {
		return
	}
	switch now := b.refs.Add(users); {
	case now == users && users > 0:
		total.Add(int64(b.bytes(0, len(b.frames))))
	case now == 0:
		total.Add(-int64(b.bytes(0, len(b.frames))))
	}
}

// key returns what tells apart the values of frame i, "" when it has no key.
func (b *Batch) key(i int, key func(*Frame) string) string {
	list := b.keys.Load()
	if list == nil {
		made := make([]string, len(b.frames))
		for k := range b.frames {
			if f := &b.frames[k]; f.class() == wire.DeliverLatest && key != nil {
				made[k] = key(f)
			}
		}
		list = &made
		b.keys.Store(list) // of two that made one at a time, either will do
	}
	return (*list)[i]
}

// bytes returns the bytes of n frames from first on.
func (b *Batch) bytes(first, n int) int {
	if n == 0 {
		return 0
	}
	total := b.frames[first+n-1].sum
	if first > 0 {
		total -= b.frames[first-1].sum
	}
	return total
}
