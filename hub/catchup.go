package hub

import (
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/session"
	"github.com/ignex/nova/wire/control"
)

// catchUp is a subscription that is not live yet: what it missed comes page by
// page, and the last step, the rest in the topic's memory, makes the session a
// member. It is guarded by the room's lock.
type catchUp struct {
	m    *membership
	req  joinRequest
	ids  []int64 // of further subscribes while none could be answered
	over bool    // live, left, or ended

	told   bool   // nova.subscribed is on its way, with
	epoch  string // this epoch
	source string // and this one of the log
	next   uint64 // everything up to here was sent or declared
	seen   uint64 // what the topic had given up when that was looked at last
	rest   []kept // read and not sent yet, see keep
	each   int    // bytes of a frame of the log, by the page read last; 0 = none was
	fails  int    // reads of the log that failed, one after the other
}

// maxIDs bounds the subscribes that one answer waits for.
const maxIDs = 16

// startCatchUp makes the session one that catches up. The caller holds the room's
// lock and has noted m.
func (s *Session) startCatchUp(c *catchUp) {
	c.m.catch = c
	c.m.room.topic.joining++
	s.hub.catching.add(c)
}

// endCatchUp takes it out of the way: it became live, or is not wanted any more.
// The caller holds the room's lock.
func (s *Session) endCatchUp(c *catchUp) {
	c.over, c.rest = true, nil
	c.m.catch = nil
	c.m.room.topic.joining--
	if l := c.m.room.topic.log; l != nil {
		delete(l.waiting, s)
	}
	s.hub.catching.remove(c)
}

// catchUp brings the session one page further. It reports whether it wants
// another turn at once; else it gets one when something changed.
func (h *Hub) catchUp(c *catchUp) (again bool) {
	s, r := c.m.session, c.m.room
	frames, bytes := s.appetite()
	if frames <= 0 || bytes <= 0 {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.over {
		return false
	}
	t := r.topic
	h.metrics.historyBytes.Add(int64(t.expire(h.options.Clock())))
	if c.told && c.epoch != t.epoch {
		c.newEpoch()
	}
	if !c.told {
		if t.log != nil && !t.log.answering() {
			h.wantLog(r, s)
			return false // whoever makes it so wakes the session
		}
		if !c.introduce() && !h.explore(c) {
			return false
		}
		if c.over || !c.told {
			return !c.over
		}
	}
	switch {
	case len(c.rest) > 0:
	case t.log != nil && c.next < t.evicted:
		if !h.readPage(c) {
			return false
		}
		if c.over || len(c.rest) == 0 {
			return !c.over
		}
	default:
		c.declare()
		if c.last(frames, bytes) {
			return false
		}
		c.rest = t.page(c.next, pageFrames)
	}
	return c.send(frames, bytes)
}

// last makes the session live if all that is left fits into its queue.
func (c *catchUp) last(frames, bytes int) bool {
	s, t := c.m.session, c.m.room.topic
	left := t.page(c.next, frames+1)
	fit, _ := fitting(left, frames, bytes)
	if fit < len(left) {
		return false
	}
	s.endCatchUp(c)
	s.enter(c.m, batches(without(left, s.id))...)
	return true
}

// send hands on what was read and fits.
func (c *catchUp) send(frames, bytes int) (again bool) {
	s := c.m.session
	if len(c.rest) == 0 {
		return true // all that was read is for others; look again
	}
	n, _ := fitting(c.rest, frames, bytes)
	if n == 0 {
		if s.waitEmptier(c.rest[0].Size()) {
			c.keep(c.rest)
			return false
		}
		n = 1
	}
	c.next = c.rest[n-1].Offset
	list := batches(without(c.rest[:n], s.id))
	c.keep(c.rest[n:])
	if len(list) > 0 {
		s.expect(list, 1)
		s.shard.put(item{kind: itemDirect, member: &s.everyone, batches: list,
			done: func(uint64) { s.expect(list, -1) }})
	}
	return true
}

// keep holds on to the first of what was read and not sent, within the bound of the
// queue for all of a session; the others are read again. No memory of the page is held.
func (c *catchUp) keep(rest []kept) {
	n, _ := fitting(rest, len(rest), c.m.session.hub.options.Backpressure.MaxBytes/catchUpsPerSession)
	c.rest = append([]kept(nil), rest[:n]...)
}

// fitting returns how many of the frames, from the first on, fit, and their bytes.
func fitting(list []kept, frames, bytes int) (n, total int) {
	for n < len(list) && n < frames && total+list[n].Size() <= bytes {
		total += list[n].Size()
		n++
	}
	return n, total
}

// without returns the frames that are for client.
func without(list []kept, client string) []session.Frame {
	frames := make([]session.Frame, 0, len(list))
	for i := range list {
		if f := &list[i]; f.except == "" || f.except != client {
			frames = append(frames, f.Frame)
		}
	}
	return frames
}

// tell answers the subscribe: frames after position follow.
func (c *catchUp) tell(position uint64, recovered bool, replayed int) {
	s, t := c.m.session, c.m.room.topic
	if t.log != nil {
		c.source = t.log.epoch
	}
	c.told, c.epoch, c.next, c.seen = true, t.epoch, position, max(position, t.evicted)
	if !s.positions() {
		return
	}
	for _, id := range append([]int64{c.req.id}, c.ids...) {
		f := subscribedFrame(t, c.m.room.name, id, position, recovered, replayed)
		s.shard.put(item{kind: itemDirect, member: &s.everyone, frame: f})
	}
	c.ids = nil
}

// introduce answers the subscribe when the topic's memory has all that was asked
// for.
func (c *catchUp) introduce() bool {
	s, t := c.m.session, c.m.room.topic
	req := s.wish(c.req, t)
	if t.needsLog(req) {
		return false
	}
	frames, recovered := t.from(req, s.id)
	c.tell(t.position(req, frames, recovered), recovered, len(frames))
	return true
}

// newEpoch goes on in the epoch the topic has now. Nothing of it was sent, unless it
// is another generation of the same log.
func (c *catchUp) newEpoch() {
	c.rest = nil
	c.req.id = 0
	var position uint64
	if t := c.m.room.topic; t.log != nil && c.source != "" && c.source == t.log.epoch {
		position = min(c.next, t.head)
	}
	c.tell(position, false, 0)
}

// declare tells the client of frames that the memory of the topic gave up before
// they were sent. Nothing that was read is left.
func (c *catchUp) declare() {
	t := c.m.room.topic
	if t.evicted <= max(c.next, c.seen) {
		return
	}
	c.seen = t.evicted
	to := t.evicted
	if first := t.page(c.next, 1); len(first) > 0 {
		to = min(to, first[0].Offset-1)
	}
	c.gap(to, session.ByPolicy)
}

// reasonLog says that the topic's log has lost the frames.
const reasonLog session.Reason = 5

// gap declares the offsets up to and including to.
func (c *catchUp) gap(to uint64, reason session.Reason) {
	if to <= c.next {
		return
	}
	s, r := c.m.session, c.m.room
	from := c.next + 1
	c.next = to
	s.mu.Lock()
	caps := s.caps
	s.mu.Unlock()
	switch {
	case caps&CapTopics == 0:
	case caps&CapSession != 0:
		s.sendNumbered((&control.Gap{Topic: r.name, From: int64(from), To: int64(to), Reason: int64(reason)}).AppendFrame(nil))
	default: // it knows no gaps: a place further on says the same
		f := subscribedFrame(r.topic, r.name, 0, to, false, 0)
		s.shard.put(item{kind: itemDirect, member: &s.everyone, frame: f})
	}
}

// later has the session get a turn after a while.
func (h *Hub) later(s *Session, after time.Duration) {
	time.AfterFunc(after, func() { h.catching.wake(s) })
}

// full reports whether the topic has as many members as its rule allows.
func (t *topic) full(r *room) error {
	if most := t.rule.MaxMembers; most > 0 && r.members+t.joining >= most {
		return nova.Errorf(nova.Exhausted, "topic %q has %d members, the limit", r.name, most)
	}
	return nil
}
