package session

// Fill copies what the socket of c has to write next into dst, from dst's length
// to its capacity: whole messages as long as they fit, and part of one only when
// it is longer than dst. It returns nil when there is nothing. What it returns
// is under way until Wrote says what became of it; until then Fill returns nil.
func (q *Queue) Fill(c *Cursor, dst []byte) []byte {
	if c.flying || c.closed {
		return nil
	}
	start := len(dst)
	for {
		p := c.at
		for more := true; more && len(dst) < cap(dst); {
			kind, ok := q.choose(c, &p, len(c.ahead), len(c.order))
			if !ok || p.off == 0 && c.rewind > 0 {
				break
			}
			if kind == pieceRing {
				dst, more = q.fillRing(c, &p, dst, start)
			} else {
				dst, more = fillControl(c, &p, kind, dst, start)
			}
		}
		if len(dst) > start {
			c.to, c.flying = p, true
			return dst
		}
		holes := p.next != c.at.next
		q.commit(c, p)
		if !holes {
			return nil
		}
	}
}

// Wrote says that the socket took n bytes of what Fill returned.
func (q *Queue) Wrote(c *Cursor, n, of int) {
	c.flying = false
	if n >= of {
		q.commit(c, c.to)
		return
	}
	q.commit(c, q.walk(c, n))
}

// Flying reports whether something is between Fill and Wrote.
func (c *Cursor) Flying() bool { return c.flying }

// choose says what comes next at p: what is under way, the lane ahead of data,
// control frames in order, the ring. ahead and order bound the two lists.
func (q *Queue) choose(c *Cursor, p *place, ahead, order int) (piece, bool) {
	switch {
	case p.off > 0:
		return p.piece, true
	case p.ahead < ahead:
		return pieceAhead, true
	case c.closing == closeNow:
		return 0, false
	case p.order < order && (!q.admitted || c.order[p.order].at <= p.next):
		return pieceOrder, true
	case c.closing == closeAfter && p.order == len(c.order):
		return 0, false
	}
	return pieceRing, q.admitted && q.cursor == c && p.next < q.next
}

// fillControl copies the next control frame of one list. more is false when dst
// is full.
func fillControl(c *Cursor, p *place, kind piece, dst []byte, start int) (_ []byte, more bool) {
	list, i := c.ahead, &p.ahead
	if kind == pieceOrder {
		list, i = c.order, &p.order
	}
	data := list[*i].data[p.off:]
	room := cap(dst) - len(dst)
	if len(data) > room {
		if p.off == 0 && len(dst) > start {
			return dst, false
		}
		p.off, p.piece = p.off+room, kind
		return append(dst, data[:room]...), false
	}
	p.off = 0
	*i++
	return append(dst, data...), true
}

// fillRing copies frames of the ring up to the next control frame in order.
func (q *Queue) fillRing(c *Cursor, p *place, dst []byte, start int) (_ []byte, more bool) {
	stop := q.next
	if p.order < len(c.order) {
		stop = min(stop, c.order[p.order].at)
	}
	if p.off > 0 {
		stop = p.next + 1
	}
	for i := q.ring.find(p.next); p.next < stop; i++ {
		r := q.ring.at(i)
		if r.batch == nil {
			p.next = r.end()
			continue
		}
		frames := r.batch.frames[r.first : r.first+r.count]
		for k := int(p.next - r.num); k < len(frames) && p.next < stop; k++ {
			f := &frames[k]
			number := p.next
			if !q.limits.Numbered {
				number = 0
			}
			size, room := f.writtenSize(q.trailers), cap(dst)-len(dst)
			switch {
			case p.off == 0 && size <= room:
				dst = f.appendTo(dst, number, q.trailers)
			case p.off == 0 && len(dst) > start:
				return dst, false
			default:
				n := min(room, size-p.off)
				dst = f.appendPart(dst, number, q.trailers, p.off, n)
				if p.off += n; p.off < size {
					p.piece = pieceRing
					return dst, false
				}
				p.off = 0
			}
			q.pass(p, f)
		}
	}
	return dst, true
}

// pass moves p behind frame f.
func (q *Queue) pass(p *place, f *Frame) {
	if p.next > q.written {
		p.frames++
		p.bytes += f.Size()
	}
	p.next++
}

// walk returns the place n bytes after the cursor, on the way Fill went.
func (q *Queue) walk(c *Cursor, n int) place {
	p := c.at
	ahead, order := c.to.ahead, c.to.order
	if c.to.off > 0 && c.to.piece == pieceAhead {
		ahead++
	}
	if c.to.off > 0 && c.to.piece == pieceOrder {
		order++
	}
	for n > 0 {
		kind, ok := q.choose(c, &p, ahead, order)
		if !ok {
			return c.to // the cursor was replaced meanwhile
		}
		var f *Frame
		var size int
		switch kind {
		case pieceAhead:
			size = len(c.ahead[p.ahead].data)
		case pieceOrder:
			size = len(c.order[p.order].data)
		default:
			r := q.ring.at(q.ring.find(p.next))
			if r.batch == nil {
				p.next = r.end()
				continue
			}
			f = r.batch.Frame(int(r.first) + int(p.next-r.num))
			size = f.writtenSize(q.trailers)
		}
		if n < size-p.off {
			p.off, p.piece = p.off+n, kind
			return p
		}
		n -= size - p.off
		p.off = 0
		switch kind {
		case pieceAhead:
			p.ahead++
		case pieceOrder:
			p.order++
		default:
			q.pass(&p, f)
		}
	}
	return p
}

// commit moves the cursor to p.
func (q *Queue) commit(c *Cursor, p place) {
	for i := range p.order {
		c.bytes -= len(c.order[i].data)
	}
	c.ahead, c.order = shift(c.ahead, p.ahead), shift(c.order, p.order)
	frames, bytes := p.frames, p.bytes
	p.ahead, p.order, p.frames, p.bytes = 0, 0, 0, 0
	c.at, c.to = p, p
	c.closed = c.closing == closeNow && len(c.ahead) == 0 || c.closing == closeAfter && len(c.order) == 0
	if q.cursor != c || !q.admitted {
		return
	}
	if p.next-1 > q.written {
		q.written = p.next - 1
		q.unsentFrames -= frames
		q.unsentBytes -= bytes
		q.keptBytes += bytes
	}
	if c.rewind > 0 && (c.at.off == 0 || c.at.piece != pieceRing) {
		c.at.next, c.to.next = c.rewind, c.rewind
		c.rewind = 0
	}
	q.answerWaiting(c)
	q.trim()
}

// shift takes n frames off the front and holds no memory for an empty list.
func shift(list []control, n int) []control {
	if n == 0 {
		return list
	}
	if n == len(list) {
		return nil
	}
	copy(list, list[n:])
	clear(list[len(list)-n:])
	return list[:len(list)-n]
}
