package session

// Policy says what happens when more is unsent than the bounds allow.
type Policy uint8

// The policies. Events may have a class of their own.
const (
	DropOldest Policy = iota
	DropNewest
	Disconnect
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
	// Resumed encodes the answer to a resume as one WebSocket message.
	Resumed func(ok bool, from uint64) []byte
}

// Queue is the delivery state of one session. One lock of the caller guards a
// queue and its cursor.
//
// Invariants: lost ≤ written < next; the ring holds exactly lost+1 … next−1;
// unsent counts and kept bytes count frames, never holes; nothing at or after
// the cursor is trimmed.
type Queue struct {
	limits *Limits
	ring   ring
	next   uint64 // number of the next frame
	lost   uint64 // highest number that can no longer be given
	// written is the highest number that went to a socket whole, or a hole the
	// writer has passed.
	written  uint64
	lastHole uint64 // highest number that was dropped

	unsentFrames int
	unsentBytes  int
	keptBytes    int
	keepFrames   int // at most limits.KeepFrames, less when memory is short

	cursor   *Cursor // the one socket that may move the state
	admitted bool
	broken   bool
	trailers bool
}

// Init prepares a queue whose first frame gets number 1.
func (q *Queue) Init(limits *Limits) {
	*q = Queue{limits: limits, next: 1, keepFrames: limits.KeepFrames}
}

// Admit opens the queue: nothing is numbered before. next is the number of the
// first frame; trailers says whether the client wants topic positions.
func (q *Queue) Admit(next uint64, trailers bool) {
	q.admitted, q.trailers = true, trailers
	q.next, q.written, q.lost = next, next-1, next-1
	if q.cursor != nil {
		q.cursor.at.next, q.cursor.to.next = next, next
	}
}

// Admitted reports whether the queue takes frames.
func (q *Queue) Admitted() bool { return q.admitted }

// Attach makes c the only cursor that moves the queue.
func (q *Queue) Attach(c *Cursor) {
	q.cursor = c
	c.at.next, c.to.next = q.written+1, q.written+1
}

// Detach takes the cursor away; what it does from now on changes nothing.
func (q *Queue) Detach(c *Cursor) {
	if q.cursor == c {
		q.cursor = nil
	}
}

// Broken reports whether a frame that may not be lost silently was refused. The
// connection has to be closed as a slow consumer.
func (q *Queue) Broken() bool { return q.broken }

// Unsent returns the frames and bytes no socket has taken yet.
func (q *Queue) Unsent() (frames, bytes int) { return q.unsentFrames, q.unsentBytes }

// Written returns the highest number a socket took whole.
func (q *Queue) Written() uint64 { return q.written }

// Last returns the number given last.
func (q *Queue) Last() uint64 { return q.next - 1 }

// SetKeep lowers the number of written frames kept, when many sessions share
// the memory. It takes effect with the next write.
func (q *Queue) SetKeep(frames int) { q.keepFrames = min(frames, q.limits.KeepFrames) }

// Append numbers and queues count frames of a batch from first on, then applies
// the policy. It returns how many frames were dropped, of this or older batches.
// It is the only place that gives numbers.
func (q *Queue) Append(b *Batch, first, count int) (dropped int) {
	if !q.admitted || q.broken || count == 0 {
		return 0
	}
	last := q.ring.n - 1
	if last >= 0 && q.ring.at(last).batch == b && int(q.ring.at(last).first+q.ring.at(last).count) == first {
		q.ring.at(last).count += uint32(count)
	} else {
		q.ring.push(run{batch: b, num: q.next, count: uint32(count), first: uint32(first)})
	}
	q.next += uint64(count)
	q.unsentFrames += count
	q.unsentBytes += b.bytes(first, count)
	if !q.over() {
		return 0
	}
	switch q.limits.Policy {
	case DropNewest:
		return q.dropNewest(count)
	case Disconnect:
		return q.Break()
	default:
		return q.dropOldest(q.limits.UnsentFrames, q.limits.UnsentBytes)
	}
}

// Break drops everything that no write has begun on, and refuses everything from
// now on. It returns the number of frames dropped.
func (q *Queue) Break() (dropped int) {
	q.broken = true
	return q.dropOldest(0, 0)
}

func (q *Queue) over() bool {
	return q.unsentFrames > q.limits.UnsentFrames || q.unsentBytes > q.limits.UnsentBytes
}

// free returns the first number that is in nobody's hands: unsent, and not in a
// write that is under way.
func (q *Queue) free() uint64 {
	n := q.written + 1
	if c := q.cursor; c != nil {
		after := c.to.next
		if c.to.off > 0 && c.to.piece == pieceRing {
			after++
		}
		n = max(n, after)
	}
	return n
}

// dropOldest drops from the oldest free frame on until the bounds hold.
func (q *Queue) dropOldest(frames, bytes int) (dropped int) {
	over := func(n, b int) bool { return q.unsentFrames-n > frames || q.unsentBytes-b > bytes }
	for num := q.free(); num < q.next && over(0, 0); {
		i := q.ring.find(num)
		r := q.ring.at(i)
		if r.batch == nil {
			num = r.end()
			continue
		}
		at, n := int(num-r.num), 1
		for at+n < int(r.count) && over(n, r.bytes(at, n)) {
			n++
		}
		q.drop(i, num, n)
		num += uint64(n)
		dropped += n
	}
	return dropped
}

// dropNewest drops from the end, of the count frames appended last.
func (q *Queue) dropNewest(count int) (dropped int) {
	for num := q.next - 1; q.over() && dropped < count; num-- {
		q.drop(q.ring.find(num), num, 1)
		dropped++
	}
	return dropped
}

func (q *Queue) drop(i int, num uint64, n int) {
	r := q.ring.at(i)
	q.unsentFrames -= n
	q.unsentBytes -= r.bytes(int(num-r.num), n)
	q.lastHole = max(q.lastHole, num+uint64(n)-1)
	q.ring.hole(i, num, uint32(n))
}

// trim gives up the oldest written frames beyond the bounds, never what the
// cursor has yet to write.
func (q *Queue) trim() {
	limit := q.written
	if c := q.cursor; c != nil {
		limit = min(limit, c.at.next-1)
		if c.rewind > 0 {
			limit = min(limit, c.rewind-1)
		}
	}
	for q.lost < limit {
		over := int(q.written-q.lost) - q.keepFrames
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
		r.num += uint64(n)
		r.first += uint32(n)
		if r.count -= uint32(n); r.count == 0 {
			q.ring.popFront()
		}
	}
}
