package session

import (
	"sync/atomic"
	"unsafe"
)

// Reason says why a number has no frame any more; the values travel in nova.gap.
type Reason uint32

// The reasons. Of holes that were joined, the highest counts.
const (
	Superseded Reason = 1 + iota // a newer frame of the same key came after it
	ByPolicy                     // the queue was full
	Withdrawn                    // the client may not have it any more
)

// run is a piece of the ring: count frames of a batch from first on, or a hole.
// 24 bytes: histories of many sessions consist of them.
type run struct {
	batch *Batch // nil = hole
	num   uint64 // number of its first frame
	count uint32
	first uint32 // of a hole: its Reason
}

func (r *run) end() uint64 { return r.num + uint64(r.count) }

// bytes returns the bytes of n frames from the at-th of the run on.
func (r *run) bytes(at, n int) int {
	if r.batch == nil {
		return 0
	}
	return r.batch.bytes(int(r.first)+at, n)
}

// ring is a queue of runs with gapless numbers. The newest run, which publishing
// and writing look at, is in the ring itself; the others are in a circular buffer
// whose length is a power of two. The zero value is empty and holds no memory.
type ring struct {
	tail run // run n−1
	n    int
	head int
	buf  []run
	held *atomic.Int64 // weight of the batches in use, and bytes of buf; nil = not counted
	// phase tells when buf grows, in 256ths of the last quarter before it is full: rings
	// that always get the same frames must not all grow at once.
	phase uint8
}

// staggered is the length from which on buf grows before it is full.
const staggered = 64

func (q *ring) at(i int) *run {
	if i == q.n-1 {
		return &q.tail
	}
	return &q.buf[(q.head+i)&(len(q.buf)-1)]
}

func (q *ring) push(r run) {
	if q.n > 0 {
		if size := len(q.buf); q.n > size || size >= staggered && q.n > size-size/4*int(q.phase)/256 {
			q.resize(max(4, 2*size))
		}
		q.buf[(q.head+q.n-1)&(len(q.buf)-1)] = q.tail
	}
	q.n++
	q.tail = r
}

// slot returns where push moves the newest run.
func (q *ring) slot() *run {
	if q.n == 0 || q.n > len(q.buf) {
		return &q.tail
	}
	return &q.buf[(q.head+q.n-1)&(len(q.buf)-1)]
}

// pop takes the newest run out.
func (q *ring) pop() {
	q.n--
	if q.n == 0 {
		q.tail = run{}
		return
	}
	last := &q.buf[(q.head+q.n-1)&(len(q.buf)-1)]
	q.tail, *last = *last, run{}
}

// add puts a run of frames at the end and holds its batch.
func (q *ring) add(r run) {
	r.batch.hold(q.held, 1)
	q.push(r)
}

// empty lets go of everything.
func (q *ring) empty() {
	for i := range q.n {
		if b := q.at(i).batch; b != nil {
			b.hold(q.held, -1)
		}
	}
	q.reset()
}

// reset forgets an empty ring's buffer.
func (q *ring) reset() {
	q.grown(-len(q.buf))
	*q = ring{held: q.held, phase: q.phase}
}

// grown counts slots of buf.
func (q *ring) grown(slots int) {
	if q.held != nil && slots != 0 {
		q.held.Add(int64(slots) * int64(unsafe.Sizeof(run{})))
	}
}

// insert puts r before run i.
func (q *ring) insert(i int, r run) {
	q.push(r)
	for k := q.n - 1; k > i; k-- {
		*q.at(k), *q.at(k - 1) = *q.at(k - 1), *q.at(k)
	}
}

// remove takes run i out.
func (q *ring) remove(i int) {
	for k := i; k < q.n-1; k++ {
		*q.at(k) = *q.at(k + 1)
	}
	q.pop()
}

// popFront takes the oldest run out and gives memory back when little is used.
func (q *ring) popFront() {
	if b := q.at(0).batch; b != nil {
		b.hold(q.held, -1)
	}
	if q.n == 1 {
		q.reset()
		return
	}
	*q.at(0) = run{}
	q.head = (q.head + 1) & (len(q.buf) - 1)
	q.n--
	if len(q.buf) > 16 && q.n <= len(q.buf)/4 {
		q.resize(len(q.buf) / 2)
	}
}

// cutFront takes n numbers off the front of the oldest run.
func (q *ring) cutFront(n uint32) {
	r := q.at(0)
	r.num += uint64(n)
	if r.batch != nil {
		r.first += n
	}
	if r.count -= n; r.count == 0 {
		q.popFront()
	}
}

func (q *ring) resize(size int) {
	q.grown(size - len(q.buf))
	buf := make([]run, size)
	for i := range q.n - 1 {
		buf[i] = *q.at(i)
	}
	q.buf, q.head = buf, 0
}

// find returns the index of the run that holds number num, which must lie in
// the ring.
func (q *ring) find(num uint64) int {
	if last := q.n - 1; q.at(last).num <= num {
		return last // writers are mostly at the end
	}
	lo, hi := 0, q.n-1
	for lo < hi {
		mid := int(uint(lo+hi+1) >> 1)
		if q.at(mid).num <= num {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	return lo
}

// hole turns count numbers from num on, all in run i, into a hole, joined with
// the holes beside it; with the one before only if left allows it. The frames'
// memory is no longer held by this ring.
func (q *ring) hole(i int, num uint64, count uint32, reason Reason, left bool) {
	r := *q.at(i)
	before := uint32(num - r.num)
	after := r.count - before - count
	h := run{num: num, count: count, first: uint32(reason)}
	if left && before == 0 && i > 0 && q.at(i-1).batch == nil {
		other := q.at(i - 1)
		h.num, h.count, h.first = other.num, other.count+count, max(h.first, other.first)
		q.remove(i - 1)
		i--
	}
	if after == 0 && i+1 < q.n && q.at(i+1).batch == nil {
		h.count += q.at(i + 1).count
		h.first = max(h.first, q.at(i+1).first)
		q.remove(i + 1)
	}
	*q.at(i) = h
	users := int32(-1)
	if after > 0 {
		users++
		q.insert(i+1, run{batch: r.batch, num: num + uint64(count), count: after, first: r.first + before + count})
	}
	if before > 0 {
		users++
		q.insert(i, run{batch: r.batch, num: r.num, count: before, first: r.first})
	}
	r.batch.hold(q.held, users)
}

// join makes one of two holes that meet in front of number num.
func (q *ring) join(num uint64) {
	if q.n < 2 || num <= q.at(0).num || num >= q.at(q.n-1).end() {
		return
	}
	i := q.find(num)
	r := q.at(i)
	if i == 0 || r.num != num || r.batch != nil || q.at(i-1).batch != nil {
		return
	}
	left := q.at(i - 1)
	left.count += r.count
	left.first = max(left.first, r.first)
	q.remove(i)
}

// replace puts list in the place of run i and all behind it, which have been let go
// of. Both are not empty.
func (q *ring) replace(i int, list []run) {
	for q.n > i {
		q.pop()
	}
	for _, r := range list {
		q.push(r)
	}
	size := len(q.buf)
	for size > 16 && q.n <= size/4 {
		size /= 2
	}
	if size < len(q.buf) {
		q.resize(size)
	}
}
