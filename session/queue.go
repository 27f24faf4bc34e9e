package session

import (
	"sync/atomic"

	"github.com/ignex/nova/wire"
)

// Policy says what happens when more is unsent than the bounds allow, with frames
// whose event has no class of its own.
type Policy uint8

// The policies.
const (
	DropOldest Policy = iota // they are like class drop
	DropNewest               // the new one is dropped when nothing else can be
	Disconnect               // they are like class must
)

// Limits are the bounds of a queue and what it needs from outside. Many queues
// share one; it must not change while they are in use.
type Limits struct {
	Policy       Policy
	UnsentFrames int // bound of what no socket has taken yet
	UnsentBytes  int
	// KeepFrames and KeepBytes bound the written part that resume can give again.
	KeepFrames int
	KeepBytes  int
	Numbered   bool // stamp delivery numbers
	ShareSize  int  // bytes from which on frames are not copied for each socket, see Cursor.Share
	JoinSize   int  // most bytes of a joined message, below 64 KiB, see Cursor.Batch
	// Resumed encodes the answer to a resume as one WebSocket message.
	Resumed func(ok bool, from uint64) []byte
	// Gap appends one WebSocket message that declares the numbers from..to lost.
	// Its length is always the same: GapSize, at most MaxGap.
	Gap     func(dst []byte, from, to uint64, reason Reason) []byte
	GapSize int
	// Key returns what tells the values of a frame of class latest apart, its event
	// included; "" = it has no key and is like class drop. nil: none has.
	Key func(f *Frame) string
	// Held counts the memory of all that queues hold: the weight of each batch once,
	// and their own slots. nil: not counted, and batches are not repacked.
	Held *atomic.Int64
}

// Stats count the frames that went through a queue, each once: Numbered is the
// sum of all others but Oldest and Newest. What is written again counts only the first time.
type Stats struct {
	Numbered   uint64
	Written    uint64
	Superseded uint64
	Dropped    uint64 // when the queue was full: for their class, or by policy:
	Oldest     uint64 // of Dropped, by policy DropOldest
	Newest     uint64 // of Dropped, by policy DropNewest
	Withdrawn  uint64
	Discarded  uint64 // unsent when the session broke or ended
	HandedOver uint64 // moved to another node with their session
	Unsent     uint64
}

// Add sums up.
func (s *Stats) Add(o Stats) {
	s.Numbered += o.Numbered
	s.Written += o.Written
	s.Superseded += o.Superseded
	s.Dropped += o.Dropped
	s.Oldest += o.Oldest
	s.Newest += o.Newest
	s.Withdrawn += o.Withdrawn
	s.Discarded += o.Discarded
	s.HandedOver += o.HandedOver
	s.Unsent += o.Unsent
}

// Queue is the delivery state of one session, with a socket or without. One lock
// of the caller guards a queue and its cursor.
//
// Invariants: lost ≤ written < next; the ring holds exactly lost+1 … next−1;
// unsent counts and kept bytes count frames, never holes; nothing at or after
// the cursor is trimmed.
type Queue struct {
	limits *Limits
	cursor *Cursor // the one socket that may move the state
	next   uint64  // number of the next frame
	lost   uint64  // highest number that can no longer be given
	// written is the highest number that went to a socket whole, or a hole the
	// writer has passed.
	written  uint64
	acked    uint64 // the client has everything up to here
	lastHole uint64 // highest number that has no frame

	// mark freezes the order in front of it: only frames from mark on are
	// superseded. It moves to the end whenever the writer has passed it, so each
	// turn of the queue carries a key at most once, and carries it.
	mark uint64

	unsentFrames int // of data
	unsentBytes  int
	ownFrames    int // of the protocol itself, outside the bounds of data
	ownBytes     int
	keptBytes    int
	keepFrames   int // at most limits.KeepFrames, less when memory is short

	admitted bool
	broken   bool
	trailers bool
	gaps     bool // holes are declared

	ring ring
	late []withdrawal

	stats      Stats
	lastLatest uint64 // highest number of class latest
	conflated  uint64 // next when superseded frames were looked for last
	firm       uint64 // no victim stands between the cursor and here
	stop       uint64 // broken: numbers from here on are not written
}

// Init prepares a queue whose first frame gets number 1.
func (q *Queue) Init(limits *Limits) {
	*q = Queue{limits: limits, next: 1, mark: 1, keepFrames: limits.KeepFrames, ring: ring{held: limits.Held}}
}

// Stagger makes queues with different phases get memory for what they keep at different
// times, though they are given the same frames.
func (q *Queue) Stagger(phase uint8) { q.ring.phase = phase }

// Admit opens the queue: nothing is numbered before. next is the number of the
// first frame; trailers says whether the client wants topic positions, gaps
// whether it wants holes declared.
func (q *Queue) Admit(next uint64, trailers, gaps bool) {
	q.admitted, q.trailers, q.gaps = true, trailers, gaps && q.limits.Numbered
	q.next, q.written, q.lost, q.acked = next, next-1, next-1, next-1
	q.mark, q.conflated, q.firm = next, next, next
	if q.cursor != nil {
		q.cursor.at.next, q.cursor.to.next = next, next
	}
}

// Near brings what Append and Fill look at into the processor's cache, see Cursor.Near.
// The sum means nothing; without it nothing would be read.
func (q *Queue) Near() (sum int) {
	sum = int(q.next) + q.unsentBytes + q.ring.n + int(q.stats.Written+q.firm) + int(q.ring.slot().count)
	if c := q.cursor; c != nil {
		sum += int(c.at.ahead) + int(c.to.next) + c.flown + len(c.order)
	}
	return sum
}

// Admitted reports whether the queue takes frames.
func (q *Queue) Admitted() bool { return q.admitted }

// Broken reports whether a frame that may not be lost silently was refused. The
// connection has to be closed as a slow consumer.
func (q *Queue) Broken() bool { return q.broken }

// Unsent returns the frames and bytes no socket has taken yet.
func (q *Queue) Unsent() (frames, bytes int) {
	return q.unsentFrames + q.ownFrames, q.unsentBytes + q.ownBytes
}

// Room returns the frames and bytes of data that can be added within the bounds.
func (q *Queue) Room() (frames, bytes int) {
	return max(q.limits.UnsentFrames-q.unsentFrames, 0), max(q.limits.UnsentBytes-q.unsentBytes, 0)
}

// Written returns the highest number a socket took whole.
func (q *Queue) Written() uint64 { return q.written }

// Last returns the number given last.
func (q *Queue) Last() uint64 { return q.next - 1 }

// Sent returns how many frames were written so far.
func (q *Queue) Sent() uint64 { return q.stats.Written }

// Stats returns the counts so far.
func (q *Queue) Stats() Stats {
	s := q.stats
	s.Unsent = uint64(q.unsentFrames + q.ownFrames)
	return s
}

// SetKeep lowers the number of written frames kept, when many sessions share
// the memory. It takes effect with the next write.
func (q *Queue) SetKeep(frames int) { q.keepFrames = min(frames, q.limits.KeepFrames) }

// Shrink is SetKeep that takes effect at once, and Repack.
func (q *Queue) Shrink(frames int) {
	q.SetKeep(frames)
	q.trim()
	q.Repack()
}

// Append numbers and queues count frames of a batch from first on, then sees to
// the bounds. It returns how many frames were given up for them, of this or older
// batches. It is the only place that gives numbers.
func (q *Queue) Append(b *Batch, first, count int) (dropped int) {
	if !q.admitted || q.broken || count == 0 {
		return 0
	}
	last := q.ring.n - 1
	if last >= 0 && q.ring.at(last).batch == b && int(q.ring.at(last).first+q.ring.at(last).count) == first {
		q.ring.at(last).count += uint32(count)
	} else {
		q.ring.add(run{batch: b, num: q.next, count: uint32(count), first: uint32(first)})
	}
	q.next += uint64(count)
	q.stats.Numbered += uint64(count)
	if b.classes&(1<<wire.DeliverLatest) != 0 {
		q.lastLatest = q.next - 1
	}
	q.count(b, count, b.bytes(first, count))
	if q.ownFrames > 2*max(q.limits.UnsentFrames, minOwn) {
		return q.Break() // nobody reads, and joins go on and on
	}
	if !q.over() {
		return 0
	}
	return q.relieve(count)
}

// minOwn is the least bound for unsent frames of the protocol itself.
const minOwn = 512

// count moves the unsent counts by frames of a batch.
func (q *Queue) count(b *Batch, frames, bytes int) {
	if b.own {
		q.ownFrames += frames
		q.ownBytes += bytes
		return
	}
	q.unsentFrames += frames
	q.unsentBytes += bytes
}

func (q *Queue) over() bool {
	return q.unsentFrames > q.limits.UnsentFrames || q.unsentBytes > q.limits.UnsentBytes
}

// end returns the number behind the last one that may be written.
func (q *Queue) end() uint64 {
	if q.broken {
		return q.stop
	}
	return q.next
}

// sealed returns the first number that is in nobody's hands; those before it are
// in a write that is under way.
func (q *Queue) sealed() uint64 {
	c := q.cursor
	if c == nil || !c.flying && c.to.off == 0 {
		return 0
	}
	switch {
	case c.to.off == 0 || c.to.piece != pieceRing:
		return c.to.next
	case c.to.upTo > 0:
		return c.to.upTo + 1
	}
	return c.to.next + 1
}

// free returns the first number that can still be taken out of the queue.
func (q *Queue) free() uint64 {
	n := max(q.written+1, q.sealed())
	if c := q.cursor; c != nil {
		n = max(n, c.to.next)
	}
	return n
}

// drop makes a hole of n unsent numbers of run i from num on.
func (q *Queue) drop(i int, num uint64, n int, reason Reason) {
	r := q.ring.at(i)
	q.count(r.batch, -n, -r.bytes(int(num-r.num), n))
	switch reason {
	case Superseded:
		q.stats.Superseded += uint64(n)
	default:
		q.stats.Dropped += uint64(n)
	}
	q.makeHole(i, num, n, reason)
}

// makeHole leaves a hole alone that a write under way declares.
func (q *Queue) makeHole(i int, num uint64, n int, reason Reason) {
	q.lastHole = max(q.lastHole, num+uint64(n)-1)
	q.ring.hole(i, num, uint32(n), reason, q.joins(num))
}

// joins reports whether a hole that begins with num may be joined with one before.
func (q *Queue) joins(num uint64) bool {
	sealed := q.sealed()
	return num > sealed || num <= q.cursor.at.next
}

// trim gives up the oldest written frames that the client has or that are beyond
// the bounds, never what the cursor has yet to write.
func (q *Queue) trim() {
	limit := q.written
	if c := q.cursor; c != nil {
		limit = min(limit, c.at.next-1)
		if c.rewind > 0 {
			limit = min(limit, c.rewind-1)
		}
	}
	acked := min(q.acked, limit)
	for q.lost < limit {
		over := int(q.written-q.lost) - q.keepFrames
		if acked > q.lost {
			over = max(over, int(acked-q.lost))
		}
		if over <= 0 && q.keptBytes <= q.limits.KeepBytes {
			return
		}
		r := q.ring.at(0)
		n := min(int(r.count), int(limit-q.lost))
		if r.batch != nil {
			if over <= 0 {
				n = 1
			} else {
				n = min(n, over)
			}
		}
		q.keptBytes -= r.bytes(0, n)
		q.lost += uint64(n)
		q.ring.cutFront(uint32(n))
	}
}

// Ack says that the client has everything up to number n, which need not be kept
// any more. false: n was never written.
func (q *Queue) Ack(n uint64) bool {
	most := q.written
	if c := q.cursor; c != nil && c.flying {
		most = max(most, c.to.next-1) // the socket may have it, and has not said so
	}
	if n > most {
		return false
	}
	if n > q.acked {
		q.acked = n
		q.trim()
	}
	return true
}

// Break drops everything that no write has begun on, and refuses everything from
// now on. It returns the number of frames dropped.
func (q *Queue) Break() (dropped int) {
	if q.broken {
		return 0
	}
	q.stop = q.free()
	q.broken = true
	for num := q.stop; num < q.next; {
		i := q.ring.find(num)
		r := q.ring.at(i)
		end := r.end()
		if n := int(end - num); r.batch != nil {
			q.count(r.batch, -n, -r.bytes(int(num-r.num), n))
			q.makeHole(i, num, n, ByPolicy)
			q.stats.Discarded += uint64(n)
			dropped += n
		}
		num = end
	}
	return dropped
}

// End empties the queue for good. The cursor stays usable for control frames.
func (q *Queue) End() {
	if q.cursor != nil {
		q.Detach(q.cursor)
	}
	q.Break()
	q.stats.Discarded += uint64(q.unsentFrames + q.ownFrames)
	q.unsentFrames, q.unsentBytes, q.ownFrames, q.ownBytes, q.keptBytes = 0, 0, 0, 0, 0
	q.written, q.lost = q.next-1, q.next-1
	q.stop = q.next
	q.late = nil
	q.ring.empty()
}
