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

// InboundNumbered is Inbound for a client with session/1: seq is its number of
// the frame. Each is taken once and in order; one that came before is dropped.
// false: numbers are missing in front of it, or it has none.
func (s *Session) InboundNumbered(c *session.Cursor, seq uint64, id uint32, payload []byte) bool {
	t := task{numbered: true, seq: seq, from: c}
	state := s.hub.events[id]
	switch {
	case state == nil:
		t.unknown = true
	case len(state.list()) > 0:
		t.state, t.payload = state, append([]byte(nil), payload...)
	case state.allowed.Load():
		t.counted = state
	default:
		t.refused = true
	}
	return s.enqueue(t)
}

// accept decides about a numbered task under the inbox's lock: take it, or tell
// that its number does not follow.
func (s *Session) accept(box *inbox, t *task) (take, ok bool) {
	switch {
	case s.owner.Load() != t.from:
		return false, true // of a socket that was replaced
	case t.seq == 0 || t.seq > box.received+1:
		return false, false
	case t.seq <= box.received:
		return false, true
	}
	box.received = t.seq
	m := &s.hub.metrics
	switch {
	case t.unknown:
		m.unknown.Add(1)
	case t.refused:
		m.notAllowed.Add(1)
	case t.counted != nil:
		t.counted.inbound.Add(1)
	default:
		t.state.inbound.Add(1)
	}
	return true, true
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
