package hub

import (
	"crypto/sha256"

	"github.com/ignex/nova"
	"github.com/ignex/nova/session"
	"github.com/ignex/nova/wire/control"
)

// inFlight is more than any client can have sent and not yet told of: numbers of
// client frames go on so far behind when the user changes, and what still arrives
// of the time before is known by its number and dropped.
const inFlight = 1 << 32

// SetUser implements nova.Session. From nobody to somebody the session goes on.
// Any other change ends it, with EndUser, and gives its socket to a new one of the
// same id: no topics, no groups, no data, nothing queued. Once SetUser has
// returned, no frame for the old user enters or leaves a queue.
func (s *Session) SetUser(user string) (*nova.Client, error) {
	if user != "" {
		if err := s.hub.options.checkName("user", user); err != nil {
			return nil, err
		}
	}
	s.state.Lock()
	switch {
	case s.ended || !s.listed:
		s.state.Unlock()
		return nil, nova.Errorf(nova.NotFound, "client %q is not connected", s.id)
	case s.user == user:
		s.state.Unlock()
		return s.client, nil
	case s.user == "":
		s.user = user
		for _, a := range s.asked {
			a.void = true
		}
		s.state.Unlock()
		s.rename()
		return s.client, s.join(nova.ToUser, user, joinRequest{})
	}
	s.ended = true
	fresh := s.succeed(user)
	s.state.Unlock()
	s.tearDown(true, EndUser)
	if fresh == nil {
		return nil, nova.Errorf(nova.NotFound, "client %q had no socket: its session ended", s.id)
	}
	defer fresh.release() // when open came to nothing
	if err := fresh.open(fresh.first, nil); err != nil {
		fresh.closePeer(1000, reasonReplaced)
		return nil, err
	}
	fresh.flush()
	return fresh.client, nil
}

// rename gives the session another string, as its identity changed, and tells the
// client. Without a socket it keeps the one it has.
func (s *Session) rename() {
	h := s.hub
	h.clientsMu.Lock()
	defer h.clientsMu.Unlock()
	s.state.Lock()
	s.mu.Lock()
	c, terms := s.owner.Load(), s.terms
	told := c != nil && s.peer != nil && terms != nil && !s.ended
	s.mu.Unlock()
	if told && h.strings[s.hash] == s {
		delete(h.strings, s.hash)
	}
	s.state.Unlock()
	if !told {
		return
	}
	text, received := s.newString(), s.received()
	h.strings[sha256.Sum256([]byte(text))] = s
	s.mu.Lock()
	defer s.mu.Unlock()
	c.Ahead(session.Plain, s.sessionMessage(&control.Session{
		Session: text, Recovered: true, NextSeq: int64(s.queue.Last()) + 1, Received: int64(received),
	}, *terms))
	s.shard.put(item{kind: itemFlush, member: &s.everyone})
}

// succeed makes the session that gets the socket of s, for another user; nil when
// there is no socket. The caller holds state, and has set ended.
func (s *Session) succeed(user string) *Session {
	received := s.received()
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.owner.Load()
	if c == nil || s.peer == nil {
		return nil
	}
	fresh := &Session{
		hub: s.hub, shard: s.shard, id: s.id, user: user, pinned: s.pinned,
		serial: s.serial, doomed: s.doomed, budget: s.budget, terms: s.terms, first: s.queue.Last() + 1,
		since: s.since,
	}
	fresh.client = nova.NewClient(fresh)
	fresh.queue.Init(&s.hub.limits)
	fresh.queue.Stagger(uint8(s.serial))
	fresh.everyone = membership{session: fresh, room: s.hub.everyone, index: -1}
	fresh.undecodable.Store(s.undecodable.Load())
	fresh.announce() // its client may speak as soon as moved is set, before open
	fresh.mu.Lock()
	defer fresh.mu.Unlock()
	s.queue.Detach(c)
	c.Forget()
	fresh.queue.Attach(c)
	fresh.peer, s.peer = s.peer, nil
	s.owner.Store(nil)
	fresh.owner.Store(c)
	if s.terms != nil {
		received += inFlight
		fresh.box().received = received
		fresh.handled.Store(received)
		fresh.ackSent.Store(received)
		c.Ahead(session.Plain, fresh.sessionMessage(&control.Session{
			Session: fresh.newString(), NextSeq: int64(fresh.first), Missed: -1, Received: int64(received),
		}, *s.terms))
	}
	s.moved.Store(fresh)
	return fresh
}
