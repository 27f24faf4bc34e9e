package hub

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ignex/nova"
	"github.com/ignex/nova/session"
)

// Identity is who a connection is. Its zero value is anonymous: a random id, no
// user.
type Identity struct {
	ClientID string // pinned: a newer connection with it replaces the older one
	UserID   string
	Groups   []string // joined from the start, as far as AuthorizeGroup allows
	Topics   []string
}

// maxNumber bounds the delivery number a client may go on from: all numbers of
// the session stay exact in a browser.
const maxNumber = 1<<53 - 1<<32

// Session is the state of one client. It implements nova.Session for handlers
// and carries the queue that package server writes from.
//
// Lock order: a room's mu, then state, then mu.
type Session struct {
	hub    *Hub
	shard  *shard
	client *nova.Client
	id     string
	user   string

	mu        sync.Mutex // guards queue, its cursor, and what follows
	queue     session.Queue
	peer      Peer
	snapshots map[string]uint64 // topic → last number of a snapshot under way

	dirty    bool // in a list of the shard, whose loop alone touches it
	everyone membership

	state    sync.Mutex // guards what follows
	admitted bool
	seeds    *Identity // groups and topics to join at admission
	listed   bool      // in the directory of clients and in everyone
	ended    bool
	rooms    []*membership // topics, groups and the user

	inbox       atomic.Pointer[inbox] // made with the first inbound event
	undecodable atomic.Int32
	budget      int32
}

// Open makes the session of a new connection, not yet admitted: nothing is
// numbered or delivered before Admit. budget is the number of undecodable frames
// after which the connection is closed, 0 = no limit. AuthorizeGroup runs here.
// Errors carry a Code: Invalid (a name in identity), FailedPrecondition (closed).
func (h *Hub) Open(ctx context.Context, identity Identity, budget int) (*Session, error) {
	for _, n := range []struct{ what, name string }{{"client", identity.ClientID}, {"user", identity.UserID}} {
		if n.name == "" {
			continue
		}
		if err := h.options.checkName(n.what, n.name); err != nil {
			return nil, err
		}
	}
	h.lifeMu.RLock()
	closed := h.closed
	h.lifeMu.RUnlock()
	if closed {
		return nil, errClosed
	}
	s := &Session{
		hub:    h,
		shard:  h.shards[h.turn.Add(1)%uint64(len(h.shards))],
		id:     identity.ClientID,
		user:   identity.UserID,
		budget: int32(budget),
	}
	if s.id == "" {
		s.id = randomID()
	}
	s.client = nova.NewClient(s)
	s.queue.Init(&h.limits)
	s.everyone = membership{session: s, room: h.everyone, index: -1}
	if len(identity.Groups) > 0 || len(identity.Topics) > 0 {
		seeds := &Identity{Topics: identity.Topics}
		for _, group := range identity.Groups {
			if s.authorize(ctx, nova.ToGroup, group) == nil && !slices.Contains(seeds.Groups, group) {
				seeds.Groups = append(seeds.Groups, group)
			}
		}
		s.seeds = seeds
	}
	return s, nil
}

// randomID returns a random UUID (RFC 9562, version 4).
func randomID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// Attach gives the session its socket: a peer, and the cursor that all further
// calls of the write side name.
func (s *Session) Attach(peer Peer, c *session.Cursor) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.peer = peer
	s.queue.Attach(c)
}

// Admit opens the session for data: numbers start behind lastSeq (0 = at 1), the
// client becomes a target, and identity's groups and topics are joined. An older
// session with the same pinned id is closed. lastSeq above 0 is answered with
// resumed{false, 0}: a session does not outlive its socket.
func (s *Session) Admit(c *session.Cursor, lastSeq int64) error {
	h := s.hub
	next := uint64(1)
	if lastSeq > 0 && lastSeq <= maxNumber {
		next = uint64(lastSeq) + 1
	}
	s.state.Lock()
	if s.admitted || s.ended {
		s.state.Unlock()
		return nil
	}
	s.admitted = true
	s.state.Unlock()

	s.mu.Lock()
	if lastSeq != 0 && h.limits.Numbered {
		c.Ahead(session.Plain, resumedMessage(false, 0))
	}
	s.queue.Admit(next, s.peer.Caps()&CapTopics != 0)
	s.mu.Unlock()
	if err := s.register(); err != nil {
		return err
	}
	if s.user != "" {
		s.join(nova.ToUser, s.user, joinRequest{})
	}
	s.joinSeeds()
	if hook := h.options.OnConnect; hook != nil {
		s.enqueue(task{hook: true, run: func(ctx context.Context) { hook(ctx, s.client) }})
	}
	return nil
}

// register makes the session findable and a member of everyone, unless it ended
// meanwhile, and ends an older one of the same id.
func (s *Session) register() error {
	h := s.hub
	h.lifeMu.RLock()
	if h.closed {
		h.lifeMu.RUnlock()
		return errClosed
	}
	h.everyone.mu.Lock()
	h.clientsMu.Lock()
	s.state.Lock()
	var old *Session
	if !s.ended {
		s.listed = true
		old = h.clients[s.id]
		h.clients[s.id] = s
		s.enter(&s.everyone)
		h.setKeep(h.metrics.sessions.Add(1))
	}
	s.state.Unlock()
	h.clientsMu.Unlock()
	h.everyone.mu.Unlock()
	h.lifeMu.RUnlock()
	if old != nil {
		old.Disconnect(1000, "replaced by newer session")
		old.End()
	}
	return nil
}

// enter counts m in and hands it to its shard. The caller holds the room's lock.
func (s *Session) enter(m *membership, batches ...*session.Batch) {
	r := m.room
	r.members++
	r.shards[s.shard.index].count++
	s.shard.put(item{kind: itemJoin, room: r, member: m, batches: batches})
}

// exit is the opposite of enter.
func (s *Session) exit(m *membership) {
	r := m.room
	r.members--
	r.shards[s.shard.index].count--
	s.shard.put(item{kind: itemLeave, room: r, member: m})
	if r.members > 0 {
		return
	}
	switch {
	case r.kind == nova.ToTopic && r.topic.head == 0:
		s.hub.dropTopic(r) // nothing was ever published
	case r.kind == nova.ToTopic:
		r.topic.used = s.hub.options.Clock()
	case r.kind == nova.ToGroup:
		s.hub.groups.drop(r)
	case r.kind == nova.ToUser:
		s.hub.users.drop(r)
	}
}

func (s *Session) joinSeeds() {
	s.state.Lock()
	seeds := s.seeds
	s.seeds = nil
	s.state.Unlock()
	if seeds == nil {
		return
	}
	for _, group := range seeds.Groups {
		s.join(nova.ToGroup, group, joinRequest{})
	}
	for _, topic := range seeds.Topics {
		s.Subscribe(SubscribeRequest{Topic: topic, Seed: true})
	}
}

// End ends the session: memberships, queue, hooks. A newer session with the same
// id is not touched. Calling it again is harmless.
func (s *Session) End() { s.end(true) }

// end ends the session; discard gives up what no socket has taken.
func (s *Session) end(discard bool) {
	s.state.Lock()
	ended, listed := s.ended, s.listed
	rooms := s.rooms
	s.ended, s.rooms = true, nil
	s.state.Unlock()
	if ended {
		return
	}
	s.mu.Lock()
	if discard {
		s.queue.Break()
	}
	s.snapshots = nil
	s.mu.Unlock()
	h := s.hub
	if listed {
		s.leaveAll(rooms)
		h.clientsMu.Lock()
		if h.clients[s.id] == s {
			delete(h.clients, s.id)
		}
		h.clientsMu.Unlock()
		h.setKeep(h.metrics.sessions.Add(-1))
	}
	if hook := h.options.OnDisconnect; hook != nil && listed {
		s.enqueue(task{hook: true, last: true, run: func(ctx context.Context) { hook(ctx, s.client) }})
	} else if box := s.inbox.Load(); box != nil {
		box.close()
	}
}

func (s *Session) leaveAll(rooms []*membership) {
	for _, m := range append(rooms, &s.everyone) {
		m.room.mu.Lock()
		s.exit(m)
		m.room.mu.Unlock()
	}
}

// in reports whether the session is a member of r. The caller holds r.mu.
func (s *Session) in(r *room) bool {
	s.state.Lock()
	defer s.state.Unlock()
	if r.kind == nova.ToBroadcast {
		return s.listed && !s.ended
	}
	return s.find(r) >= 0
}

// find returns the index of r in rooms, −1 for none. The caller holds state.
func (s *Session) find(r *room) int {
	return slices.IndexFunc(s.rooms, func(m *membership) bool { return m.room == r })
}

// ID implements nova.Session.
func (s *Session) ID() string { return s.id }

// User implements nova.Session.
func (s *Session) User() string { return s.user }

// Client returns the session as handlers see it.
func (s *Session) Client() *nova.Client { return s.client }

// Topics implements nova.Session.
func (s *Session) Topics() []string { return s.names(nova.ToTopic) }

// Groups implements nova.Session. Before admission it returns the groups the
// session will be in.
func (s *Session) Groups() []string {
	s.state.Lock()
	seeds, admitted := s.seeds, s.admitted
	s.state.Unlock()
	if !admitted {
		if seeds == nil {
			return nil
		}
		return slices.Clone(seeds.Groups)
	}
	return s.names(nova.ToGroup)
}

func (s *Session) names(kind nova.TargetKind) []string {
	s.state.Lock()
	defer s.state.Unlock()
	names := []string{}
	for _, m := range s.rooms {
		if m.room.kind == kind {
			names = append(names, m.room.name)
		}
	}
	slices.Sort(names)
	return names
}

// Disconnect implements nova.Session.
func (s *Session) Disconnect(code int, reason string) {
	s.mu.Lock()
	peer := s.peer
	s.mu.Unlock()
	if peer != nil {
		peer.Close(code, reason)
	}
}
