package session

// After a short write the way that Fill went is walked again, up to where the socket
// stopped.

// begun returns how many control frames of each list the write under way has
// begun.
func (c *Cursor) begun() (ahead, order int) {
	ahead, order = int(c.to.ahead), int(c.to.order)
	if c.to.off > 0 && c.to.piece == pieceAhead {
		ahead++
	}
	if c.to.off > 0 && c.to.piece == pieceOrder {
		order++
	}
	return ahead, order
}

// walk returns the place n bytes after the cursor, on the way Fill went.
func (q *Queue) walk(c *Cursor, n int) place {
	p := c.at
	ahead, order := c.begun()
	for n > 0 {
		kind, ok := q.choose(c, &p, ahead, order)
		if !ok {
			return c.to
		}
		size, ok := q.size(c, &p, kind)
		if !ok {
			continue
		}
		if n < size-p.off {
			p.off, p.piece = p.off+n, kind
			return p
		}
		n -= size - p.off
		q.skip(c, &p, kind)
	}
	if p.off == 0 {
		p.upTo, p.joined = 0, false
	}
	return p
}

// size returns the bytes of the message that p stands in. false: it stood in a
// hole that is not declared, and moved on.
func (q *Queue) size(c *Cursor, p *place, kind piece) (int, bool) {
	switch kind {
	case pieceAhead:
		return len(c.ahead[p.ahead].data), true
	case pieceOrder:
		return len(c.order[p.order].data), true
	}
	if c.Batch {
		if n := q.joinedSize(c, p); n > 0 {
			return n, true
		}
	}
	r := q.ring.at(q.ring.find(p.next))
	switch {
	case r.batch != nil:
		return r.batch.Frame(int(r.first) + int(p.next-r.num)).writtenSize(q.form(c)), true
	case !q.gaps:
		p.next = r.end()
		return 0, false
	}
	var tmp [MaxGap]byte
	return len(q.gap(p, r, tmp[:0])), true
}

// skip moves p behind the message it stands in, which size has looked at.
func (q *Queue) skip(c *Cursor, p *place, kind piece) {
	p.off = 0
	switch kind {
	case pieceAhead:
		p.ahead++
	case pieceOrder:
		p.order++
	default:
		switch {
		case p.joined:
			q.passJoined(p)
			return
		case p.upTo > 0:
			p.next = p.upTo + 1
			p.upTo = 0
			return
		}
		r := q.ring.at(q.ring.find(p.next))
		q.pass(p, r.batch, r.batch.Frame(int(r.first)+int(p.next-r.num)))
	}
}
