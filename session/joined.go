package session

import (
	"math"

	"github.com/ignex/nova/internal/ws"
)

// A joined message carries several frames of the ring, back to back
// (docs/protocol.md, "Several frames in a message"). It begins and ends with a
// frame; holes between them are declared in it. Which frames it carries follows
// from the ring and from where the write under way ends, so that after a short
// write the rest of it can be made again instead of being kept.

// joinHead is the longest header of a joined message.
const joinHead = 4

// fillJoined copies what stands before number stop: two frames and more as joined
// messages, the others as they are.
func (q *Queue) fillJoined(c *Cursor, p *place, dst []byte, start int, stop uint64) (_ []byte, more bool) {
	switch { // what a short write left, and then the lane ahead
	case p.joined:
		return q.fillRest(c, p, dst)
	case p.off > 0:
		return q.fillFrames(c, p, dst, start, stop)
	}
	for more = true; more && p.next < stop; {
		room := min(q.limits.JoinSize, cap(dst)-len(dst)-joinHead)
		if last, size := q.measure(c, p.next, stop, room); last > 0 {
			p.upTo = last
			dst = q.appendJoined(dst, c, p, size)
			q.passJoined(p)
			continue
		}
		dst, more = q.fillFrames(c, p, dst, start, min(stop, p.next+1))
	}
	return dst, more
}

// fillRest copies what is left of a joined message after a short write. It comes
// first in its write.
func (q *Queue) fillRest(c *Cursor, p *place, dst []byte) (_ []byte, more bool) {
	at := len(dst)
	_, size := q.measure(c, p.next, p.upTo+1, math.MaxInt)
	total := ws.HeaderSize(size) + size
	message := dst[at:]
	if cap(message) < total {
		message = make([]byte, 0, total)
	}
	rest := q.appendJoined(message, c, p, size)[p.off:]
	rest = rest[:min(len(rest), cap(dst)-at)]
	dst = dst[:at+copy(dst[at:cap(dst)], rest)]
	if p.off += len(rest); p.off < total {
		p.piece = pieceRing
		return dst, false
	}
	q.passJoined(p)
	return dst, true
}

// measure returns the last number and the bytes, without a header, of the joined
// message of at most room bytes that begins with number from and ends before stop.
// 0: it would not have two frames.
func (q *Queue) measure(c *Cursor, from, stop uint64, room int) (last uint64, size int) {
	form, first, total := q.form(c), from, 0
	for i := q.ring.find(from); from < stop; i++ {
		r := q.ring.at(i)
		if r.batch == nil {
			if from == first {
				return 0, 0
			}
			if q.gaps {
				total += q.limits.GapSize - q.gapHead()
			}
			from = r.end()
			continue
		}
		frames := r.batch.frames[r.first : r.first+r.count]
		for k := int(from - r.num); k < len(frames) && from < stop; k++ {
			f := &frames[k]
			total += f.bareSize(form)
			if total > room || c.Share && len(f.data) >= q.limits.ShareSize || f.compressed(form) != nil {
				return last, size
			}
			if from > first {
				last, size = from, total
			}
			from++
		}
	}
	return last, size
}

// gapHead returns the size of the header of a declared hole.
func (q *Queue) gapHead() int { return ws.HeaderSize(q.limits.GapSize - ws.HeaderSize(0)) }

// joinedSize returns the bytes of the joined message that p stands in, and notes
// its end; 0 = the next message is none.
func (q *Queue) joinedSize(c *Cursor, p *place) int {
	stop, room := p.upTo+1, math.MaxInt
	if !p.joined {
		if p.off > 0 {
			return 0
		}
		stop, room = c.to.next, q.limits.JoinSize
		if int(p.order) < len(c.order) {
			stop = min(stop, c.order[p.order].at)
		}
	}
	last, size := q.measure(c, p.next, stop, room)
	if last == 0 {
		return 0
	}
	p.upTo, p.joined = last, true
	return ws.HeaderSize(size) + size
}

// appendJoined appends the whole message of the frames up to p.upTo, size bytes
// without its header.
func (q *Queue) appendJoined(dst []byte, c *Cursor, p *place, size int) []byte {
	dst = ws.AppendHeader(dst, ws.Binary, size)
	form, num := q.form(c), p.next
	for i := q.ring.find(num); num <= p.upTo; i++ {
		r := q.ring.at(i)
		if r.batch == nil {
			if q.gaps {
				at := len(dst)
				dst = q.limits.Gap(dst, r.num, r.end()-1, Reason(r.first))
				dst = append(dst[:at], dst[at+q.gapHead():]...)
			}
			num = r.end()
			continue
		}
		frames := r.batch.frames[r.first : r.first+r.count]
		for k := int(num - r.num); k < len(frames) && num <= p.upTo; k++ {
			number := num
			if !q.limits.Numbered {
				number = 0
			}
			dst = frames[k].appendBare(dst, number, form)
			num++
		}
	}
	return dst
}

// passJoined moves p behind the joined message.
func (q *Queue) passJoined(p *place) {
	for i := q.ring.find(p.next); p.next <= p.upTo; i++ {
		r := q.ring.at(i)
		if r.batch == nil {
			p.next = r.end()
			continue
		}
		frames := r.batch.frames[r.first : r.first+r.count]
		for k := int(p.next - r.num); k < len(frames) && p.next <= p.upTo; k++ {
			q.pass(p, r.batch, &frames[k])
		}
	}
	p.off, p.upTo, p.joined = 0, 0, false
}
