package hub

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/session"
	"github.com/ignex/nova/wire/control"
)

const reasonReplaced = "replaced by newer session"

// ErrReplaced says that a newer connection has the session.
var ErrReplaced = nova.Errorf(nova.FailedPrecondition, reasonReplaced)

// stringHash is what the hub keeps of a session string: whoever reads its memory
// cannot take sessions over.
type stringHash [sha256.Size]byte

// Terms are what a server tells clients about itself in nova.session.
type Terms struct {
	Heartbeat  time.Duration
	MaxMessage int
	Rate       int64 // messages a second, 0 = no limit
	Burst      int64
}

// Sessions reports whether sessions can outlive sockets here.
func (h *Hub) Sessions() bool { return h.options.Session.TTL > 0 }

// newString gives the session a string of its own.
func (s *Session) newString() string {
	var random [16]byte
	rand.Read(random[:])
	text := s.hub.node + "." + base64.RawURLEncoding.EncodeToString(random[:])
	s.state.Lock()
	s.hash = sha256.Sum256([]byte(text))
	s.state.Unlock()
	return text
}

// Admit opens the session of a client without session/1. lastSeq 0: a new one,
// with numbers from 1. Above 0, when a session from before this connection is
// held for its pinned id and has all after lastSeq, that one goes on and is
// returned; else numbers go on behind lastSeq. resumed answers either way.
func (s *Session) Admit(c *session.Cursor, lastSeq int64) (*Session, error) {
	if lastSeq > 0 && s.pinned {
		if old := s.hub.session(s.id); old != nil && old.User() == s.User() {
			switch err := s.takeOver(c, old, uint64(lastSeq), "", nil); err {
			case nil:
				return old, nil
			case errNotKept:
			default:
				return s, err
			}
		}
	}
	next := uint64(1)
	if lastSeq > 0 && lastSeq <= maxNumber {
		next = uint64(lastSeq) + 1
	}
	if lastSeq != 0 && s.hub.limits.Numbered {
		s.hub.metrics.resumesFailed.Add(1)
		s.Ahead(c, session.Plain, resumedMessage(false, 0))
	}
	return s, s.open(next, nil)
}

// AttachClient opens the session of a client with session/1, or gives it the one
// of its session string back, which is returned then. nova.session answers.
func (s *Session) AttachClient(c *session.Cursor, m *control.Attach, terms Terms) (*Session, error) {
	h := s.hub
	missed := int64(-1)
	if old := h.sessionOf(m.Session); s.succeeds(old) {
		last := uint64(max(m.LastSeq, 0))
		var err error = errNotKept
		if m.LastSeq >= 0 {
			err = s.takeOver(c, old, last, m.Session, &terms)
		}
		if err != errNotKept {
			return old, err
		}
		if n := old.lastNumber(); m.LastSeq >= 0 && n >= last {
			missed = int64(n - last)
		}
		old.replace(s.serial)
	}
	if m.Session != "" {
		h.metrics.resumesFailed.Add(1)
	} else {
		missed = 0
	}
	text := s.newString()
	s.mu.Lock()
	s.terms = &terms
	s.mu.Unlock()
	s.Ahead(c, session.Plain, s.sessionMessage(&control.Session{Session: text, NextSeq: 1, Missed: missed}, terms))
	return s, s.open(1, m.Topics)
}

// succeeds reports whether the connection of s may go on with old: it is of the same
// user, and of the same id where authentication gave one. nil is nobody's.
func (s *Session) succeeds(old *Session) bool {
	return old != nil && old != s && old.User() == s.User() && old.pinned == s.pinned && (!s.pinned || old.id == s.id)
}

func (s *Session) sessionMessage(m *control.Session, t Terms) []byte {
	m.ClientID = s.id
	m.TTLMs = s.hub.options.Session.TTL.Milliseconds()
	m.HeartbeatMs = max(t.Heartbeat, 0).Milliseconds()
	m.MaxMessage, m.Rate, m.Burst = int64(t.MaxMessage), t.Rate, t.Burst
	return message(nil, m)
}

// sessionOf returns the session of a string, or nil.
func (h *Hub) sessionOf(text string) *Session {
	if !strings.Contains(text, ".") {
		return nil
	}
	hash := stringHash(sha256.Sum256([]byte(text)))
	h.clientsMu.RLock()
	defer h.clientsMu.RUnlock()
	return h.strings[hash]
}

// errNotKept: the session cannot go on from that number.
var errNotKept = nova.Errorf(nova.NotFound, "the session does not have all after that number")

// takeOver gives the socket of s to old, from number n on. text and terms are
// those of a client with session/1, nil for others. Before anything is written
// the new identity's groups and topics replace those of the one before, and
// everything else is authorised again. The older socket is out from the start.
func (s *Session) takeOver(c *session.Cursor, old *Session, n uint64, text string, terms *Terms) error {
	s.mu.Lock()
	caps := Caps(0)
	if s.peer != nil {
		caps = s.peer.Caps()
	}
	s.mu.Unlock()
	if err := old.claim(s, caps, n, terms != nil); err != nil {
		return err
	}
	old.refresh(s)
	if err := s.handOver(c, old, n, text, terms, old.received()); err != nil {
		return err
	}
	s.hub.metrics.resumes.Add(1)
	if hook := s.hub.options.OnRestored; hook != nil {
		old.enqueue(entry{hook: true, run: func(ctx context.Context) { hook(ctx, old.client) }})
	}
	return nil
}

// handOver is the last step of takeOver: the socket changes sessions. received
// cannot change before.
func (s *Session) handOver(c *session.Cursor, old *Session, n uint64, text string, terms *Terms, received uint64) error {
	old.state.Lock()
	defer old.state.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	old.mu.Lock()
	defer old.mu.Unlock()
	caps := old.caps
	switch {
	case old.serial != s.serial:
		return ErrReplaced
	case old.ended || old.doomed != 0 || !old.queue.Kept(n) || terms == nil && !old.queue.Whole(n):
		return errNotKept
	}
	s.queue.Leave(c)
	s.hub.metrics.replayed.Add(old.queue.Written() - n)
	c.Batch = caps&CapBatch != 0
	old.queue.Recover(c, n, caps&CapTopics != 0, caps&CapSession != 0)
	old.peer, s.peer = s.peer, nil
	old.terms, old.version = terms, s.version
	s.moved.Store(old)
	old.owner.Store(c)
	old.undecodable.Store(0)
	s.owner.Store(nil)
	if terms != nil {
		c.Ahead(session.Plain, old.sessionMessage(&control.Session{
			Session: text, Recovered: true, NextSeq: int64(n) + 1, Received: int64(received),
		}, *terms))
		old.queue.InOrder(c, session.Groups, message(nil, &control.Groups{Groups: old.namesLocked(nova.ToGroup)}))
	} else {
		from := uint64(0)
		if n < old.queue.Written() {
			from = n + 1
		}
		c.Ahead(session.Plain, resumedMessage(true, from))
	}
	return nil
}

// claim makes the connection of s the one that gets the session, and takes the
// older socket away. A session that ends with that socket goes to nobody.
func (old *Session) claim(s *Session, caps Caps, n uint64, holes bool) error {
	h := old.hub
	h.clientsMu.RLock() // none of the same id takes its place meanwhile
	current := h.clients[old.id] == old
	old.state.Lock()
	h.clientsMu.RUnlock()
	switch {
	case old.serial > s.serial:
		old.state.Unlock()
		return ErrReplaced
	case old.ended || !current || old.doomed != 0:
		old.state.Unlock()
		return errNotKept
	}
	old.mu.Lock()
	old.serial, old.caps = s.serial, caps
	peer := old.peer
	out := old.owner.Load()
	if out != nil {
		old.queue.Detach(out)
	}
	old.peer = nil
	old.owner.Store(nil)
	h.lost.remove(old)
	kept := old.queue.Kept(n) && (holes || old.queue.Whole(n))
	old.mu.Unlock()
	old.state.Unlock()
	old.undecodable.Store(0) // the budget is that of a connection
	old.lookAgain()
	if out != nil {
		old.cutCalls(out)
	}
	if peer != nil {
		peer.Close(1000, reasonReplaced)
	}
	if !kept {
		return errNotKept
	}
	return nil
}

// refresh makes the memberships those that the identity of a new connection s may
// have, as long as no later connection wants the session: hooks may be slow.
// Nothing of what is refused is written afterwards.
func (old *Session) refresh(s *Session) {
	s.state.Lock()
	seeds := s.seeds
	s.seeds = nil
	s.state.Unlock()
	old.reseed(seeds, s.version, s.serial)
	old.client.SetMeta(s.client.Meta())
}

// reseed is refresh for the groups and topics of an identity of that version, nil =
// none, that the connection of that serial has.
func (old *Session) reseed(seeds *Identity, version string, serial uint64) {
	h := old.hub
	if seeds == nil {
		seeds = &Identity{}
	}
	by := &asked{serial: serial}
	old.state.Lock()
	if old.stands(by) != nil {
		old.state.Unlock()
		return
	}
	live := old.owner.Load() != nil // the identity is renewed; else this is a takeover
	same := version != "" && version == old.version
	old.version = "" // until all of it is done
	for _, a := range old.asked {
		a.again = a.again || !same && live
		a.void = a.void || !same && !live
	}
	rooms := old.reachable()
	old.state.Unlock()
	for _, m := range rooms {
		name, kind, list := m.name, m.kind, seeds.Topics
		if kind == nova.ToGroup {
			list = seeds.Groups
		}
		seeded := slices.Contains(list, name)
		if kind == nova.ToUser || same && (seeded || !m.seed) {
			continue
		}
		err := error(nova.Errorf(nova.Denied, "no longer part of the identity"))
		if seeded || !m.seed {
			err = old.authorize(h.ctx, kind, name)
		}
		if err == nil {
			continue
		}
		if kind == nova.ToGroup {
			old.revoke(by, kind, name, CauseSeed)
			continue
		}
		coded, _ := asCoded(err)
		old.revokeTopic(by, name, CauseSeed, control.TopicUnsubscribed{Topic: name, Code: int64(coded.Code), Message: coded.Message})
	}
	for _, group := range seeds.Groups {
		old.join(nova.ToGroup, group, joinRequest{seed: true, cause: CauseSeed, asked: by})
	}
	for _, topic := range seeds.Topics {
		if !old.inTopic(topic) {
			old.subscribe(h.ctx, nil, SubscribeRequest{Topic: topic, seed: true, serial: serial})
		}
	}
	if old.leaving.Load() > 0 { // also by an older socket's refresh that still waits
		old.settled()
	}
}

func (s *Session) inTopic(name string) bool {
	r := s.hub.topics.get(name)
	if r == nil {
		return false
	}
	s.state.Lock()
	defer s.state.Unlock()
	return s.find(r) >= 0
}
