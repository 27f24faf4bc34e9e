package hub

import (
	"github.com/ignex/nova/session"
	"github.com/ignex/nova/wire/control"
)

// Owned reports whether the socket of c is the one that may act for the session.
func (s *Session) Owned(c *session.Cursor) bool {
	if s.owner.Load() == c {
		return true
	}
	s = s.lock()
	defer s.mu.Unlock()
	return s.owner.Load() == c
}

// InboundNumbered is Inbound for a client with session/1, whose frames have
// numbers. Each is taken once and in order; one that came before is dropped.
// false: numbers are missing in front of one, or it has none; it and what follows
// in the burst are dropped.
func (s *Session) InboundNumbered(c *session.Cursor, b *Burst) (due *Due, ok bool) {
	b.numbered = true
	list, done, ok := s.takeNumbered(c, b)
	due = s.begin(c, list)
	if done {
		b.release()
	}
	return due, ok
}

// takeNumbered takes what follows, and returns the calls among it. done: nothing else is
// to be done about b.
func (s *Session) takeNumbered(c *session.Cursor, b *Burst) (list []gathered, done, ok bool) {
	box, e := s.box(), entry{burst: b, from: c}
	box.mu.Lock()
	defer box.mu.Unlock()
	if !s.wait(box, &e) {
		return nil, true, true
	}
	before := box.received
	ok = s.accept(box, c, b)
	b.count()
	s.hub.trace.received(s.id, b)
	list = b.takenCalls()
	switch {
	case box.received == before:
		done = true
	case !b.work && !box.running && box.tasks == 0:
		s.handledUpTo(box.received)
		done = true
	default:
		b.calls = nil // whoever handles the rest releases it
		box.add(e)
		s.run(box)
	}
	return list, done, ok
}

// takenCalls returns the calls of a burst that came for the first time.
func (b *Burst) takenCalls() []gathered {
	list := b.calls[:0]
	for _, g := range b.calls {
		if b.tasks[g.task].fate == forCalls {
			list = append(list, g)
		}
	}
	return list
}

// accept decides about the frames of a burst under the inbox's lock: it marks
// those not to be taken. false: a number does not follow.
func (s *Session) accept(box *inbox, c *session.Cursor, b *Burst) bool {
	owner := s.owner.Load() == c
	for i := 0; i < len(b.tasks); i++ {
		t := &b.tasks[i]
		switch {
		case !owner:
			t.fate = dropped // of a socket that was replaced
		case t.seq == 0 || t.seq > box.received+1:
			for ; i < len(b.tasks); i++ {
				b.tasks[i].fate = dropped
			}
			return false
		case t.seq <= box.received:
			t.fate = dropped
		default:
			box.received = t.seq
		}
	}
	return true
}

// received returns the number of the last client frame taken.
func (s *Session) received() uint64 {
	box := s.inbox.Load()
	if box == nil {
		return 0
	}
	box.mu.Lock()
	defer box.mu.Unlock()
	return box.received
}

// ackEvery is the number of client frames after which they are acknowledged; a
// server does it by time too.
const ackEvery = 64

// ackHandled acknowledges what was handled, and reports whether there was
// something.
func (s *Session) ackHandled() bool {
	n := s.handled.Load()
	if n == s.ackSent.Load() {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.owner.Load()
	if c == nil || s.caps&CapSession == 0 {
		return false
	}
	s.ackSent.Store(n)
	s.queue.InOrder(c, session.Acked, message(nil, &control.Ack{Seq: int64(n)}))
	return true
}

// AckDue queues an acknowledgement for client frames handled since the last one;
// false: there were none.
func (s *Session) AckDue() bool { return s.ackHandled() }

// Acked takes the client's acknowledgement of everything up to n. false: n was
// never sent.
func (s *Session) Acked(c *session.Cursor, n int64) bool {
	s = s.lock()
	defer s.mu.Unlock()
	if !s.queue.Owns(c) {
		return true
	}
	return n >= 0 && s.queue.Ack(uint64(n))
}
