package session

// Fill copies what the socket of c has to write next into dst, from dst's length
// to its capacity: whole messages as long as they fit, and part of one only when
// it is longer than dst. It returns nil when there is nothing. What it returns
// is under way until Wrote says what became of it; until then Fill returns nil.
// With c.Share set, c.Shared belongs to it.
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
		if n := len(dst) - start + len(c.shared); n > 0 {
			c.to, c.flying, c.flown = p, true, n
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
	seams := q.seams(c)
	c.flying, c.shared = false, nil
	if n >= of {
		q.commit(c, c.to)
	} else {
		q.firm = 0 // what was not taken may be dropped again
		q.commit(c, q.walk(c, n))
	}
	q.join(seams)
}

// seams returns the numbers in front of which holes were kept apart for writes of
// c, 0 = nowhere.
func (q *Queue) seams(c *Cursor) [2]uint64 {
	if q.cursor != c || q.lastHole <= q.lost {
		return [2]uint64{} // no holes
	}
	return [2]uint64{c.at.upTo + 1, q.sealed()}
}

func (q *Queue) join(seams [2]uint64) {
	for _, num := range seams {
		if num > 0 {
			q.ring.join(num)
		}
	}
}

// Flying reports whether something is between Fill and Wrote.
func (c *Cursor) Flying() bool { return c.flying }

// choose says what comes next at p: what is under way, the lane ahead of data,
// control frames in order, the ring. ahead and order bound the two lists.
func (q *Queue) choose(c *Cursor, p *place, ahead, order int) (piece, bool) {
	switch {
	case p.off > 0:
		return p.piece, true
	case int(p.ahead) < ahead:
		return pieceAhead, true
	case c.closing == closeNow && ahead == len(c.ahead): // not when it came after the write began
		return 0, false
	case int(p.order) < order && (!q.admitted || q.cursor != c || p.next >= min(c.order[p.order].at, q.end())):
		return pieceOrder, true
	case c.closing == closeAfter && int(p.order) == len(c.order):
		return 0, false
	}
	return pieceRing, q.admitted && q.cursor == c && p.next < q.end()
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
	stop := q.end()
	if int(p.order) < len(c.order) {
		stop = min(stop, c.order[p.order].at)
	}
	if c.Batch {
		return q.fillJoined(c, p, dst, start, stop)
	}
	return q.fillFrames(c, p, dst, start, stop)
}

// fillFrames copies what stands before number stop, each frame as a message.
func (q *Queue) fillFrames(c *Cursor, p *place, dst []byte, start int, stop uint64) (_ []byte, more bool) {
	if p.off > 0 {
		stop = p.next + 1
	}
	form := q.form(c)
	for i := q.ring.find(p.next); p.next < stop; i++ {
		r := q.ring.at(i)
		if r.batch == nil {
			if !q.gaps {
				p.next = r.end()
				continue
			}
			if dst, more = q.fillGap(p, r, dst, start); !more {
				return dst, false
			}
			continue
		}
		if dst = q.fillLaid(c, p, r, dst, stop, form); p.next >= r.end() {
			continue
		}
		frames := r.batch.frames[r.first : r.first+r.count]
		for k := int(p.next - r.num); k < len(frames) && p.next < stop; k++ {
			f := &frames[k]
			number := p.next
			if !q.limits.Numbered {
				number = 0
			}
			size, room := f.writtenSize(form), cap(dst)-len(dst)
			switch {
			case c.Share && len(f.data) >= q.limits.ShareSize && room >= maxHead && f.shares(form, q.limits.ShareSize, size-p.off):
				dst = q.share(c, p, f, dst, number)
				if p.off == size {
					p.off = 0
					q.pass(p, r.batch, f)
				}
				p.piece = pieceRing
				return dst, false
			case p.off == 0 && size <= room:
				dst = f.appendTo(dst, number, form)
			case p.off == 0 && len(dst) > start:
				return dst, false
			default:
				n := min(room, size-p.off)
				dst = f.appendPart(dst, number, form, p.off, n)
				if p.off += n; p.off < size {
					p.piece = pieceRing
					return dst, false
				}
				p.off = 0
			}
			q.pass(p, r.batch, f)
		}
	}
	return dst, true
}

// fillLaid copies what stands before number stop of a run at once, if its frames lie
// side by side, are written as they lie, and fit.
func (q *Queue) fillLaid(c *Cursor, p *place, r *run, dst []byte, stop uint64, form form) []byte {
	b := r.batch
	if b.laid == nil || form != 0 || p.off > 0 || p.next <= q.written || c.Share && b.longest >= q.limits.ShareSize {
		return dst
	}
	first, n := int(r.first)+int(p.next-r.num), int(min(stop, r.end())-p.next)
	from, to := b.before(first), b.before(first+n)
	if to-from > cap(dst)-len(dst) {
		return dst
	}
	written := append(dst, b.laid[from:to]...)
	if q.limits.Numbered {
		for i, mark := range b.marks[first : first+n] {
			stamp(written[len(dst)+int(mark)-from:], p.next+uint64(i))
		}
	}
	dst = written
	q.passAll(p, b, n, to-from)
	return dst
}

// share copies what is left before the payload of a frame and leaves the payload
// where it is, as the end of this write.
func (q *Queue) share(c *Cursor, p *place, f *Frame, dst []byte, number uint64) []byte {
	form := q.form(c)
	payload := f.body(form)
	head := f.writtenSize(form) - len(payload) - f.trailing(form)
	if p.off < head {
		dst = f.appendPart(dst, number, form, p.off, head-p.off)
		p.off = head
	}
	c.shared = payload[p.off-head:]
	p.off = head + len(payload)
	return dst
}

// MaxGap is the most bytes that one declaration of a hole takes.
const MaxGap = 256

// gap appends the declaration of the hole that p stands in, and notes what it
// says: the hole may grow while a part of it is written.
func (q *Queue) gap(p *place, r *run, dst []byte) []byte {
	if p.off == 0 {
		p.upTo, p.reason = min(r.end(), q.end())-1, Reason(r.first)
	}
	return q.limits.Gap(dst, p.next, p.upTo, p.reason)
}

// fillGap copies the declaration of a hole in place of its numbers.
func (q *Queue) fillGap(p *place, r *run, dst []byte, start int) (_ []byte, more bool) {
	var tmp [MaxGap]byte
	message := q.gap(p, r, tmp[:0])
	rest, room := message[p.off:], cap(dst)-len(dst)
	if len(rest) > room {
		if p.off == 0 && len(dst) > start {
			p.upTo = 0
			return dst, false
		}
		p.off, p.piece = p.off+room, pieceRing
		return append(dst, rest[:room]...), false
	}
	p.next = p.upTo + 1
	p.off, p.upTo = 0, 0
	return append(dst, rest...), true
}

// pass moves p behind frame f of batch b.
func (q *Queue) pass(p *place, b *Batch, f *Frame) {
	if p.next <= q.written {
		p.next++
		return
	}
	q.passAll(p, b, 1, f.Size())
}

// passAll moves p behind n frames of batch b, none of which was written before.
func (q *Queue) passAll(p *place, b *Batch, n, bytes int) {
	if b.own {
		p.ownFrames += int32(n)
		p.ownBytes += int32(bytes)
	} else {
		p.frames += int32(n)
		p.bytes += int32(bytes)
	}
	p.next += uint64(n)
}

// commit moves the cursor to p.
func (q *Queue) commit(c *Cursor, p place) {
	for i := range p.order {
		c.bytes -= c.order[i].cost()
	}
	c.ahead, c.order = shift(c.ahead, int(p.ahead)), shift(c.order, int(p.order))
	went := p
	p.ahead, p.order, p.frames, p.bytes, p.ownFrames, p.ownBytes = 0, 0, 0, 0, 0, 0
	c.at, c.to = p, p
	if len(c.ahead) > 0 {
		c.dropStale() // what another session's write was not to begin any more
	}
	c.closed = c.closing == closeNow && len(c.ahead) == 0 || c.closing == closeAfter && len(c.order) == 0
	if q.cursor != c || !q.admitted {
		return
	}
	q.advance(&went)
	if c.rewind > 0 && (c.at.off == 0 || c.at.piece != pieceRing) {
		c.at.next, c.to.next = c.rewind, c.rewind
		c.rewind = 0
	}
	if q.late != nil {
		q.withdrawLate() // before a replay is promised
	}
	q.trim() // first: a client that asks again and again must not keep everything
	q.answerWaiting(c)
}

// advance notes what was first written on the way to p.
func (q *Queue) advance(p *place) {
	if p.next-1 > q.written {
		q.written = p.next - 1
		q.unsentFrames -= int(p.frames)
		q.unsentBytes -= int(p.bytes)
		q.ownFrames -= int(p.ownFrames)
		q.ownBytes -= int(p.ownBytes)
		q.keptBytes += int(p.bytes + p.ownBytes)
		q.stats.Written += uint64(p.frames + p.ownFrames)
	}
	if p.next >= q.mark {
		q.mark = q.next
	}
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
