package session

import "math"

// Attach makes c the only cursor that moves the queue, behind what was written.
func (q *Queue) Attach(c *Cursor) {
	q.cursor = c
	c.at.next, c.to.next = q.written+1, q.written+1
}

// Recover makes c, the cursor of a new socket, the only one that moves the queue,
// from number n on, which the client has. trailers and gaps say what that client
// wants. Control frames queued before go first. false: not everything after n is
// kept, and nothing changed.
func (q *Queue) Recover(c *Cursor, n uint64, trailers, gaps bool) bool {
	if !q.Kept(n) {
		return false
	}
	if q.cursor != nil {
		q.detach(q.cursor)
	}
	q.cursor, q.trailers, q.gaps = c, trailers, gaps
	for i := range c.order {
		c.order[i].at = 0
	}
	c.at.next, c.to.next = n+1, n+1
	q.trim() // not before: what was promised stays
	return true
}

// Leave takes the cursor of a queue that was not admitted away, for another queue
// to recover.
func (q *Queue) Leave(c *Cursor) {
	if q.cursor == c && !q.admitted {
		q.cursor = nil
	}
}

// Owns reports whether c moves the queue.
func (q *Queue) Owns(c *Cursor) bool { return c != nil && q.cursor == c }

// Detach takes the cursor away; what it does from now on changes nothing. What a
// write under way carries counts as written: the socket may have it. The cursor
// keeps a message it has begun, and its control frames.
func (q *Queue) Detach(c *Cursor) {
	if q.cursor == c {
		q.detach(c)
		q.trim()
	}
}

// detach is Detach without trimming the history.
func (q *Queue) detach(c *Cursor) {
	seams := q.seams(c)
	list, to := q.underWay(c)
	ahead, order := c.begun()
	if c.flying {
		q.advance(&c.to)
	} else {
		ahead, order = 0, 0
		if c.at.off > 0 && c.at.piece == pieceAhead {
			ahead = 1
		}
		if c.at.off > 0 && c.at.piece == pieceOrder {
			order = 1
		}
	}
	for i := range order {
		c.bytes -= c.order[i].cost()
	}
	c.ahead = append(list, c.ahead[ahead:]...)
	c.order = shift(c.order, order)
	c.at, c.to = place{}, to
	c.rewind, c.waiting = 0, nil
	q.cursor = nil
	q.join(seams)
	if q.late != nil {
		q.withdrawLate()
	}
}

// underWay copies the messages that a write under way, or one that was short, has
// begun, and returns where that write will have come to in them.
func (q *Queue) underWay(c *Cursor) (list []control, to place) {
	p := c.at
	ahead, order := c.begun()
	left := 0
	if c.flying {
		left = c.flown
	}
	for p.off > 0 || left > 0 {
		kind, ok := q.choose(c, &p, ahead, order)
		if !ok {
			break
		}
		size, ok := q.size(c, &p, kind)
		if !ok {
			continue
		}
		m := control{data: q.message(c, &p, kind, size), kind: stale}
		if kind != pieceRing || p.off > 0 {
			m.kind = Plain // to be finished
		}
		switch n := len(m.data); {
		case left >= n:
			left -= n
			to.ahead++
		case left > 0:
			to.off, to.piece, left = left, pieceAhead, 0
		}
		list = append(list, m)
		q.skip(c, &p, kind)
	}
	return list, to
}

// message copies the rest of the message that p stands in.
func (q *Queue) message(c *Cursor, p *place, kind piece, size int) []byte {
	switch kind {
	case pieceAhead:
		return c.ahead[p.ahead].data[p.off:]
	case pieceOrder:
		return c.order[p.order].data[p.off:]
	}
	switch {
	case p.joined:
		_, bare := q.measure(c, p.next, p.upTo+1, math.MaxInt)
		return q.appendJoined(make([]byte, 0, size), c, p, bare)[p.off:]
	case p.upTo > 0:
		return q.limits.Gap(nil, p.next, p.upTo, p.reason)[p.off:]
	}
	number := p.next
	if !q.limits.Numbered {
		number = 0
	}
	r := q.ring.at(q.ring.find(p.next))
	f := r.batch.Frame(int(r.first) + int(p.next-r.num))
	return f.appendPart(make([]byte, 0, size-p.off), number, q.form(c), p.off, size-p.off)
}

// Forget gives up the control frames in order that no write has begun, but the
// close frame: they were for the session that Detach took the cursor from.
func (c *Cursor) Forget() {
	keep := 0
	if c.closing == closeAfter {
		keep = 1
	}
	c.order = shift(c.order, max(len(c.order)-keep, 0))
	c.bytes = 0
	for i := range c.order {
		c.order[i].at = 0
		c.bytes += c.order[i].cost()
	}
}

// dropStale forgets the messages of the session that a replaced socket has not
// begun.
func (c *Cursor) dropStale() {
	n := 0
	if c.at.off > 0 && c.at.piece == pieceAhead {
		n = 1
	}
	keep := c.ahead[:n]
	for _, m := range c.ahead[n:] {
		if m.kind != stale {
			keep = append(keep, m)
		}
	}
	clear(c.ahead[len(keep):])
	c.ahead = keep
}
