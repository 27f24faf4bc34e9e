package session

// run is a piece of the ring: count frames of a batch from first on, or a hole.
// 24 bytes: histories of many sessions consist of them.
type run struct {
	batch *Batch // nil = hole
	num   uint64 // number of its first frame
	count uint32
	first uint32
}

func (r *run) end() uint64 { return r.num + uint64(r.count) }

// bytes returns the bytes of n frames from the at-th of the run on.
func (r *run) bytes(at, n int) int {
	if r.batch == nil {
		return 0
	}
	return r.batch.bytes(int(r.first)+at, n)
}

// ring is a queue of runs with gapless numbers, in a circular buffer whose
// length is a power of two. The zero value is empty and holds no memory.
type ring struct {
	buf  []run
	head int
	n    int
}

func (q *ring) at(i int) *run { return &q.buf[(q.head+i)&(len(q.buf)-1)] }

func (q *ring) push(r run) {
	if q.n == len(q.buf) {
		q.resize(max(4, 2*q.n))
	}
	q.n++
	*q.at(q.n - 1) = r
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
	*q.at(q.n - 1) = run{}
	q.n--
}

// popFront takes the oldest run out and gives memory back when little is used.
func (q *ring) popFront() {
	*q.at(0) = run{}
	q.head = (q.head + 1) & (len(q.buf) - 1)
	q.n--
	switch {
	case q.n == 0:
		*q = ring{}
	case len(q.buf) > 16 && q.n <= len(q.buf)/4:
		q.resize(len(q.buf) / 2)
	}
}

func (q *ring) resize(size int) {
	buf := make([]run, size)
	for i := range q.n {
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
// the holes beside it. The frames' memory is no longer held by this ring.
func (q *ring) hole(i int, num uint64, count uint32) {
	r := *q.at(i)
	left := uint32(num - r.num)
	right := r.count - left - count
	h := run{num: num, count: count}
	if left == 0 && i > 0 && q.at(i-1).batch == nil {
		h.num, h.count = q.at(i-1).num, q.at(i-1).count+count
		q.remove(i - 1)
		i--
	}
	if right == 0 && i+1 < q.n && q.at(i+1).batch == nil {
		h.count += q.at(i + 1).count
		q.remove(i + 1)
	}
	*q.at(i) = h
	if right > 0 {
		q.insert(i+1, run{batch: r.batch, num: num + uint64(count), count: right, first: r.first + left + count})
	}
	if left > 0 {
		q.insert(i, run{batch: r.batch, num: r.num, count: left, first: r.first})
	}
}
