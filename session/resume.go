package session

// maxWaiting is the number of resumes that may wait behind a replay.
const maxWaiting = 128

// Kept reports whether everything after number n can be given again, with holes
// declared.
func (q *Queue) Kept(n uint64) bool {
	return q.limits.Numbered && q.admitted && !q.broken && q.lost <= n && n <= q.written
}

// Gone reports whether nothing up to number n can be given again.
func (q *Queue) Gone(n uint64) bool { return n <= q.lost }

// Whole reports whether everything after number n can be given again, without a
// hole.
func (q *Queue) Whole(n uint64) bool { return q.Kept(n) && q.lastHole <= n }

// Resume answers a client that has everything up to number n, and sends the
// frames after n again if all of them are still there. During a replay, or while
// a write is under way, it waits its turn. It returns false when too many wait:
// the connection has to be closed for it.
func (q *Queue) Resume(c *Cursor, n uint64) bool {
	if q.cursor != c || c.closing != open {
		return true
	}
	if c.flying || q.replaying(c) {
		if len(c.waiting) >= maxWaiting {
			return false
		}
		c.waiting = append(c.waiting, n)
		return true
	}
	q.answer(c, n)
	return true
}

func (q *Queue) replaying(c *Cursor) bool { return c.rewind > 0 || c.at.next <= q.written }

// answer queues the outcome ahead of data and moves the cursor back. A frame
// that is partly written is finished first.
func (q *Queue) answer(c *Cursor, n uint64) {
	ok := q.Whole(n)
	var from uint64
	if ok && n < q.written {
		from = n + 1
		if c.at.off > 0 && c.at.piece == pieceRing {
			c.rewind = from
		} else {
			c.at.next, c.to.next = from, from
		}
	}
	c.Ahead(Plain, q.limits.Resumed(ok, from))
}

func (q *Queue) answerWaiting(c *Cursor) {
	for len(c.waiting) > 0 && c.closing == open && !q.replaying(c) {
		n := c.waiting[0]
		if c.waiting = c.waiting[1:]; len(c.waiting) == 0 {
			c.waiting = nil
		}
		q.answer(c, n)
	}
}
