package session

import (
	"crypto/sha256"
	"sync/atomic"

	"github.com/ignex/nova/wire"
)

// Batch is an immutable sequence of frames that rings refer to.
type Batch struct {
	frames  []Frame
	classes uint8    // a bit per wire.Delivery of its frames
	own     bool     // all frames are of the protocol itself
	laid    []byte   // all frames side by side, nil = they are apart
	marks   []uint32 // where in laid the envelope of each begins
	longest int      // of the frames laid
	refs    atomic.Int32
	keys    atomic.Pointer[[]string] // of frames of class latest, once somebody asked
	weight  int                      // see Weight
}

// MaxBatch is the most frames of one batch: a receiver that keeps one frame of a
// batch keeps all of it alive.
const MaxBatch = 256

// What frames cost in memory beside their bytes, on a 64-bit machine.
const (
	longKey   = 64           // the most bytes of a key that are kept
	batchCost = 112          // a Batch
	frameCost = 112          // a Frame in it, and what the allocator rounds up
	packCost  = 64           // what goes with a compressed payload
	keyCost   = 32 + longKey // what goes with a frame of class latest
)

// NewBatch makes a batch of at most MaxBatch frames. It takes the slice over.
// Frames of the protocol itself, those without an event, are never dropped and
// stand outside the bounds of data when they have a batch of their own.
func NewBatch(frames []Frame) *Batch {
	b := &Batch{frames: frames, own: true}
	sum, weight := 0, batchCost
	for i := range frames {
		f := &frames[i]
		sum += len(f.data)
		f.sum = sum
		weight += f.Weight()
		b.classes |= 1 << f.class()
		b.own = b.own && f.Event == nil
	}
	b.weight = weight
	return b
}

// maxLaid is the most bytes of frames side by side; what is longer saves nothing.
const maxLaid = 64 << 10

// Lay puts the frames side by side in memory, so that a socket gets all of them in
// one copy. It pays when there are many sockets, and must come before any has the
// batch.
func (b *Batch) Lay() {
	size := b.bytes(0, len(b.frames))
	if len(b.frames) < 2 || size > maxLaid {
		return
	}
	b.laid, b.marks = make([]byte, 0, size), make([]uint32, len(b.frames))
	for i := range b.frames {
		f := &b.frames[i]
		b.marks[i] = uint32(len(b.laid) + int(f.head))
		b.laid = append(b.laid, f.data...)
		f.data = b.laid[len(b.laid)-len(f.data) : len(b.laid) : len(b.laid)]
		b.longest = max(b.longest, len(f.data))
	}
}

// before returns the bytes of the frames in front of frame i.
func (b *Batch) before(i int) int {
	if i == 0 {
		return 0
	}
	return b.frames[i-1].sum
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

// Weight returns the bytes of memory that the batch takes.
func (b *Batch) Weight() int { return b.weight }

// Hold counts a user of the batch. Its weight counts in total while it has any,
// however many: the first Hold adds it, the last Release takes it away. A nil
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
		total.Add(int64(b.weight))
	case now == 0:
		total.Add(-int64(b.weight))
	}
}

// key returns what tells apart the values of frame i, "" when it has no key.
func (b *Batch) key(i int, key func(*Frame) string) string {
	list := b.keys.Load()
	if list == nil {
		made := make([]string, len(b.frames))
		for k := range b.frames {
			if f := &b.frames[k]; f.class() == wire.DeliverLatest && key != nil {
				made[k] = shortKey(key(f))
			}
		}
		list = &made
		b.keys.Store(list) // of two that made one at a time, either will do
	}
	return (*list)[i]
}

// shortKey returns a key that stands for a longer one, whose memory is not counted,
// and is no other.
func shortKey(key string) string {
	if len(key) <= longKey {
		return key
	}
	var b [longKey + 1]byte
	sum := sha256.Sum256([]byte(key))
	copy(b[:], sum[:])
	return string(b[:])
}

// bytes returns the bytes of n frames from first on.
func (b *Batch) bytes(first, n int) int {
	return b.before(first+n) - b.before(first)
}
