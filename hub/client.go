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
	"github.com/ignex/nova/wire/control"
)

// maxNumber bounds the delivery number a client may go on from: all numbers of
// the session stay exact in a browser.
const maxNumber = 1<<53 - 1<<32

// Session is the state of one client. It implements nova.Session for handlers
// and carries the queue that package server writes from.
//
// A session has at most one socket. Of two that want it the one that connected
// later gets it; the other, whatever it still does, touches the session no more.
//
// Lock order: hub.lifeMu, then a room's mu, then state, then the inbox's mu, then mu;
// hub.quietMu comes last.
type Session struct {
	// What every publish touches comes first, near together.
	mu     sync.Mutex              // guards queue, its cursor, and what follows
	moved  atomic.Pointer[Session] // the connection went over to this one; changes under mu
	peer   Peer
	hub    *Hub
	shard  *shard
	owner  atomic.Pointer[session.Cursor] // of the socket that may act
	queue  session.Queue
	hungry bool // a catch-up or a publish waits for the queue to be below half

	caps      Caps              // of the last socket
	snapshots map[string]uint64 // topic → last number of a snapshot under way
	coming    load              // history on the way to the queue
	pressure  pressure
	left      []leftRoom
	chase     *chase // its catch-ups; nil = none; guarded by hub.catching

	leaving atomic.Int32  // withdrawals that the shard has not come to
	since   uint32        // when it began, in tenths of a second by the hub's now
	handled atomic.Uint64 // number of the last client frame handled
	ackSent atomic.Uint64

	client *nova.Client
	id     string
	user   string // under state, as SetUser changes it
	pinned bool   // the id was given by authentication

	first uint64 // number of its first frame, of a session after SetUser
	terms *Terms // of its server, for clients with session/1; under mu

	dirty    bool // in a list of the shard, whose loop alone touches it
	everyone membership

	state    sync.Mutex // guards what follows
	admitted bool
	seeds    *Identity // groups and topics to join at admission
	listed   bool      // in the directory of clients and in everyone
	ended    bool
	doomed   EndReason     // ends with its socket, for this; 0 = not yet decided
	parting  bool          // ended, with a socket that takes what is queued; under mu
	rooms    []*membership // topics, groups and the user
	asked    []*asked      // joins that wait for their authorisation
	serial   uint64        // of the newest connection that wanted it
	version  string        // of the identity
	hash     stringHash    // of the session string, zero = none
	lostAt   int64         // when its socket was lost, by the hub's now; 0 = not
	prev     *Session      // in the list of those without a socket
	next     *Session

	inbox       atomic.Pointer[inbox] // made with the first inbound event
	undecodable atomic.Int32
	budget      int32
}

// Open makes the session of a new connection, not yet admitted: nothing is
// numbered or delivered before Admit. budget is the number of undecodable frames
// after which the connection is closed, 0 = no limit. AuthorizeGroup runs here.
// Errors carry a Code: Invalid (a name in identity), FailedPrecondition (closed).
func (h *Hub) Open(ctx context.Context, identity Identity, budget int) (*Session, error) {
	if err := h.options.checkIdentity(&identity); err != nil {
		return nil, err
	}
	if h.Closed() {
		return nil, errClosed
	}
	serial := h.turn.Add(1)
	s := &Session{
		hub:     h,
		shard:   h.shards[serial%uint64(len(h.shards))],
		id:      identity.ClientID,
		user:    identity.UserID,
		pinned:  identity.ClientID != "",
		serial:  serial,
		version: identity.Version,
		budget:  int32(budget),
		since:   h.tenths(),
	}
	if s.id == "" {
		s.id = randomID()
	}
	s.client = nova.NewClient(s)
	s.queue.Init(&h.limits)
	s.queue.Stagger(uint8(serial))
	s.everyone = membership{session: s, room: h.everyone, index: -1}
	s.client.SetMeta(identity.Meta)
	s.seeds = s.seedsOf(ctx, &identity)
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
	s.owner.Store(c)
}

// open makes the session a target: numbers start at next, identity's groups and
// topics are joined, those with a cursor from there.
func (s *Session) open(next uint64, cursors []control.Cursor) error {
	s.state.Lock()
	if s.admitted || s.ended {
		s.state.Unlock()
		return nil
	}
	s.admitted = true
	serial := s.serial
	s.state.Unlock()
	s.mu.Lock()
	if s.peer != nil {
		s.caps = s.peer.Caps()
	}
	s.queue.Admit(next, s.caps&CapTopics != 0, s.caps&CapSession != 0)
	if c := s.owner.Load(); c != nil {
		c.Batch = s.caps&CapBatch != 0
	}
	s.mu.Unlock()
	s.announce()
	defer s.release() // OnConnect finds the client in its groups and topics
	if err := s.register(); err != nil {
		return err
	}
	if user := s.User(); user != "" {
		s.join(nova.ToUser, user, joinRequest{})
	}
	s.joinSeeds(serial, cursors)
	return nil
}

// register makes the session findable and a member of everyone, unless it ended
// meanwhile, and ends an older one of the same id. A newer one is left alone:
// then it is this connection that was replaced.
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
	old := h.clients[s.id]
	replaced := old != nil && old.newer(s)
	var gone error
	if s.first == 0 { // else its user was given after the connection was made
		gone = h.marks.on(s.id, s.user, s.serial)
	}
	if !s.ended && !replaced && gone == nil {
		s.listed = true
		h.clients[s.id] = s
		if s.hash != (stringHash{}) {
			h.strings[s.hash] = s
		}
		s.enter(&s.everyone)
		h.setKeep(h.metrics.sessions.Add(1))
	} else {
		old = nil
	}
	s.state.Unlock()
	h.clientsMu.Unlock()
	h.everyone.mu.Unlock()
	h.lifeMu.RUnlock()
	if gone != nil {
		return gone
	}
	if replaced {
		return ErrReplaced
	}
	if old != nil {
		old.replace(s.serial)
	}
	if int64(h.Len()) > h.most.Load() {
		h.wakeJanitor()
	}
	return nil
}

// newer reports whether a connection later than that of s wants o.
func (o *Session) newer(s *Session) bool {
	o.state.Lock()
	defer o.state.Unlock()
	return o.serial > s.serial && !o.ended
}

// enter counts m in and hands it to its shard. The caller holds the room's lock.
func (s *Session) enter(m *membership, batches ...*session.Batch) {
	r := m.room
	r.members++
	r.shards[s.shard.index].count++
	s.expect(batches, 1)
	s.shard.put(item{kind: itemJoin, room: r, member: m, batches: batches})
}

// exit is the opposite of enter.
func (s *Session) exit(m *membership, kind itemKind) {
	r := m.room
	if m.catch != nil {
		s.endCatchUp(m.catch)
	} else {
		r.members--
		r.shards[s.shard.index].count--
	}
	s.shard.put(item{kind: kind, room: r, member: m})
	if r.members > 0 {
		return
	}
	switch {
	case r.kind == nova.ToTopic && r.topic.head == 0 && r.topic.unused():
		s.hub.dropTopic(r) // nothing was ever published
	case r.kind == nova.ToTopic:
		r.topic.used = s.hub.options.Clock()
		r.abandoned()
	case r.kind == nova.ToGroup:
		s.hub.groups.drop(r)
	case r.kind == nova.ToUser:
		s.hub.users.drop(r)
	}
}

// joinSeeds joins what the identity names, then what a client that comes back
// was in; topics from their cursors, whoever named them. It stops once the session
// is no longer that of the connection of that serial.
func (s *Session) joinSeeds(serial uint64, cursors []control.Cursor) {
	by := &asked{serial: serial}
	s.state.Lock()
	seeds := s.seeds
	s.seeds = nil
	s.state.Unlock()
	if seeds == nil {
		seeds = &Identity{}
	}
	for _, group := range seeds.Groups {
		s.join(nova.ToGroup, group, joinRequest{seed: true, cause: CauseSeed, asked: by})
	}
	for _, topic := range seeds.Topics {
		if !s.still(by) {
			return
		}
		r := SubscribeRequest{Topic: topic, seed: true, serial: serial}
		if i := slices.IndexFunc(cursors, func(c control.Cursor) bool { return c.Topic == topic }); i >= 0 {
			r.Positioned, r.Epoch, r.Offset = true, cursors[i].Epoch, cursors[i].Offset
		}
		s.subscribe(s.hub.ctx, nil, r)
	}
	for _, c := range cursors {
		if !s.still(by) {
			return
		}
		if !slices.Contains(seeds.Topics, c.Topic) {
			s.subscribe(s.hub.ctx, nil, SubscribeRequest{Topic: c.Topic, Positioned: true, Epoch: c.Epoch, Offset: c.Offset, serial: serial})
		}
	}
	s.tellGroups()
}

// in reports whether the session is a member of r. The caller holds r.mu.
func (s *Session) in(r *room) bool {
	s.state.Lock()
	defer s.state.Unlock()
	if r.kind == nova.ToBroadcast {
		return s.listed && !s.ended
	}
	i := s.find(r)
	return i >= 0 && s.rooms[i].catch == nil
}

// joined is like in, also while the session catches up.
func (s *Session) joined(r *room) bool {
	s.state.Lock()
	defer s.state.Unlock()
	return s.find(r) >= 0
}

// catchUpIn returns the catch-up under way in r, whose lock the caller holds.
func (s *Session) catchUpIn(r *room) *catchUp {
	s.state.Lock()
	defer s.state.Unlock()
	if i := s.find(r); i >= 0 {
		return s.rooms[i].catch
	}
	return nil
}

// find returns the index of r in rooms, −1 for none. The caller holds state.
func (s *Session) find(r *room) int {
	return slices.IndexFunc(s.rooms, func(m *membership) bool { return m.room == r })
}

// ID implements nova.Session.
func (s *Session) ID() string { return s.id }

// User implements nova.Session.
func (s *Session) User() string {
	s.state.Lock()
	defer s.state.Unlock()
	return s.user
}

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
	return s.namesLocked(kind)
}
