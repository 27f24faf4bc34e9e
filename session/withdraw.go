package session

// withdrawal is what Withdraw found in a write under way: numbers from..to−1.
type withdrawal struct{ target, from, to uint64 }

// Withdraw makes holes of all frames of a target, written or not, and returns how
// many. Those in a write that is under way follow when that write has ended, as
// far as it did not begin them.
func (q *Queue) Withdraw(target uint64) (n int) {
	return q.withdraw(withdrawal{target, q.lost + 1, q.next})
}

// withdrawLate does what Withdraw left for the end of the write.
func (q *Queue) withdrawLate() {
	list := q.late
	q.late = nil
	for _, w := range list {
		w.from, w.to = max(w.from, q.lost+1), min(w.to, q.next)
		q.withdraw(w)
	}
}

// has reports whether number num of r is a frame that w is about.
func (w *withdrawal) has(r *run, num uint64) bool {
	return num >= w.from && num < w.to && r.batch != nil && !r.batch.own &&
		r.batch.frames[int(r.first)+int(num-r.num)].Target == w.target
}

// first returns the number of the first frame that w is about, w.to = there is none.
func (q *Queue) first(w withdrawal) uint64 {
	if w.from >= w.to {
		return w.to
	}
	for i := q.ring.find(w.from); i < q.ring.n; i++ {
		r := q.ring.at(i)
		for num := max(r.num, w.from); num < min(r.end(), w.to); num++ {
			if w.has(r, num) {
				return num
			}
		}
	}
	return w.to
}

// withdraw leaves a write under way alone. What is before it, and what is behind,
// is one pass each: a hole made alone moves half of the ring.
func (q *Queue) withdraw(w withdrawal) (n int) {
	if sealed := q.sealed(); sealed > 0 {
		before, busy, behind := w, w, w
		before.to = min(w.to, q.cursor.at.next)
		busy.from, busy.to = max(w.from, q.cursor.at.next), min(w.to, sealed)
		behind.from = max(w.from, sealed)
		if busy.from = q.first(busy); busy.from < busy.to {
			q.late = append(q.late, busy)
		}
		return q.sweep(before) + q.sweep(behind)
	}
	return q.sweep(w)
}

// sweep makes holes of all that w is about: the ring is written anew from the run
// before the first of them on.
func (q *Queue) sweep(w withdrawal) (n int) {
	if w.from = q.first(w); w.from >= w.to {
		return 0
	}
	start := max(q.ring.find(w.from)-1, 0)
	left := make([]run, 0, q.ring.n-start)
	for i := start; i < q.ring.n; i++ {
		r := q.ring.at(i)
		pieces := int32(-1)
		for num := r.num; num < r.end(); {
			piece, end := *r, num+1
			gone := w.has(r, num)
			for r.batch != nil && end < r.end() && w.has(r, end) == gone {
				end++
			}
			switch {
			case r.batch == nil:
				end = r.end()
			case gone:
				n += int(end - num)
				q.giveUp(r, num, int(end-num))
				piece = run{first: uint32(Withdrawn)}
			default:
				pieces++
				piece.first += uint32(num - r.num)
			}
			piece.num, piece.count = num, uint32(end-num)
			left = q.appendRun(left, piece)
			num = end
		}
		if r.batch != nil {
			r.batch.hold(q.ring.held, pieces)
		}
	}
	q.ring.replace(start, left)
	return n
}

// giveUp takes n frames of r from num on out of the counts.
func (q *Queue) giveUp(r *run, num uint64, n int) {
	q.lastHole = max(q.lastHole, num+uint64(n)-1)
	at := int(num - r.num)
	written := 0
	if num <= q.written {
		written = int(min(uint64(n), q.written-num+1))
	}
	q.keptBytes -= r.bytes(at, written)
	q.count(r.batch, written-n, -r.bytes(at+written, n-written))
	q.stats.Withdrawn += uint64(n - written)
}

// appendRun adds a run, a hole to the hole before it where they may be joined.
func (q *Queue) appendRun(list []run, r run) []run {
	if len(list) > 0 && r.batch == nil && list[len(list)-1].batch == nil && q.joins(r.num) {
		last := &list[len(list)-1]
		last.count += r.count
		last.first = max(last.first, r.first)
		return list
	}
	return append(list, r)
}
