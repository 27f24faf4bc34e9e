package hub

import (
	"cmp"
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/internal/sparse"
	"github.com/ignex/nova/session"
	"github.com/ignex/nova/wire"
)

// Hub holds topics, groups, users, sessions, history and handlers of one node.
// It implements nova.Hub; all its methods may be called from any goroutine.
type Hub struct {
	options    Options
	layout     *wire.Layout
	limits     session.Limits
	inboxBytes int
	events     map[uint32]*eventState // fixed after New
	shards     []*shard
	everyone   *room
	topics     directory
	groups     directory
	users      directory
	userGroups userGroups
	cluster    atomic.Pointer[Cluster]
	packing    atomic.Pointer[packing]
	metrics    counters
	trace      *Trace
	most       atomic.Int64 // sessions
	keepFrames atomic.Int64 // written frames each session may keep
	held       atomic.Int64 // memory of what sessions hold
	tight      atomic.Int32 // how little sessions may keep for that, 0 = all, see setKeep
	savedAt    int64        // when all sessions were made to hold less, by now(); the janitor's
	refused    atomic.Int64 // when a connection was refused last, by now(); 0 = never
	roomIDs    atomic.Uint64
	node       string // first part of session strings
	rules      []rule
	anyTopic   rule // of topics that no rule is for
	catching   catching
	spacing    spacing
	logging    logging
	answers    answers
	workers    workers

	unsafeCalls sync.Map   // names of calls whose integers were logged
	sparse      sparse.Log // of what clients cause

	clientsMu sync.RWMutex
	clients   map[string]*Session
	strings   map[stringHash]*Session // by the hash of their session string
	mostSet   bool                    // most is what a server said
	turn      atomic.Uint64           // numbers connections, spreads them over shards
	lost      lostList                // sessions without a socket
	marks     marks                   // who was disconnected
	ended     endedStats

	ctx    context.Context // of handlers; carries the hub
	cancel context.CancelFunc
	full   chan struct{} // tells the janitor that a total is exceeded

	lifeMu sync.RWMutex // held while publishing or starting what goes with a log
	closed bool
	wg     sync.WaitGroup // shards and janitor

	quietMu sync.RWMutex   // held while starting a handler or hook; nothing is locked under it
	quiet   bool           // none is started any more
	tasks   sync.WaitGroup // handlers and hooks

	began time.Time // what now counts from
}

// New starts a hub. The error says which option is wrong.
func New(options Options) (*Hub, error) {
	if err := options.setDefaults(); err != nil {
		return nil, err
	}
	rules, err := options.compileRules()
	if err != nil {
		return nil, err
	}
	h := &Hub{
		options:    options,
		layout:     options.Schema.Layout(),
		inboxBytes: inboxBytes,
		events:     map[uint32]*eventState{},
		clients:    map[string]*Session{},
		strings:    map[stringHash]*Session{},
		node:       strings.ToLower(rand.Text()[:6]),
		rules:      rules,
		anyTopic:   rule{TopicRule: TopicRule{Size: options.History.Size}},
		full:       make(chan struct{}, 1),
		began:      options.Clock().Add(-time.Second),
	}
	h.everyone = newRoom(nova.ToBroadcast, "", h.roomIDs.Add(1), options.Shards)
	h.limits = h.queueLimits()
	for i := range h.layout.Events {
		e := &eventState{event: &h.layout.Events[i], index: i}
		e.allowed.Store(e.event.Inbound)
		h.events[e.event.ID] = e
	}
	for _, name := range options.Inbound {
		h.events[wire.EventID(name)].allowed.Store(true)
	}
	for _, d := range []struct {
		dir  *directory
		kind nova.TargetKind
	}{{&h.topics, nova.ToTopic}, {&h.groups, nova.ToGroup}, {&h.users, nova.ToUser}} {
		d.dir.rooms, d.dir.kind, d.dir.shards, d.dir.ids = map[string]*room{}, d.kind, options.Shards, &h.roomIDs
	}
	h.most.Store(int64(cmp.Or(options.Session.MaxSessions, defaultMaxSessions)))
	h.setKeep(0)
	ctx, cancel := context.WithCancel(context.Background())
	h.ctx, h.cancel = nova.WithHub(ctx, h), cancel
	h.spacing.turn = make(chan struct{}, 1)
	h.catching.ring, h.logging.base = make(chan struct{}, 1), rand.Text()[:10]
	h.workers.next = make(chan *Due)
	h.logging.closing, h.logging.heads = make(chan struct{}), make(chan struct{}, headsAtOnce)
	h.trace = newTrace(h, options.Trace, options.Shards)
	h.startLoops()
	return h, nil
}

// queueLimits returns what the queues of all sessions share.
func (h *Hub) queueLimits() session.Limits {
	o := &h.options
	l := session.Limits{
		Policy:       o.Backpressure.Policy,
		UnsentFrames: o.Backpressure.MaxFrames,
		UnsentBytes:  o.Backpressure.MaxBytes,
		KeepFrames:   o.Session.MaxFrames,
		KeepBytes:    o.Session.MaxBytes,
		Numbered:     !o.Session.Off,
		ShareSize:    shareSize,
		JoinSize:     joinSize,
		Resumed:      resumedMessage,
		Gap:          appendGap,
		GapSize:      len(appendGap(nil, 0, 0, 0)),
		Key:          h.frameKey,
		Held:         &h.held,
	}
	if o.Session.Off {
		l.KeepFrames, l.KeepBytes = 0, 0
	}
	return l
}

// startLoops starts the goroutines that last as long as the hub.
func (h *Hub) startLoops() {
	for i := range h.options.Shards {
		h.shards = append(h.shards, newShard(h, i))
	}
	h.wg.Add(len(h.shards) + 2)
	for _, sh := range h.shards {
		go sh.run()
	}
	go h.janitor()
	go h.dispatchCatchUps()
}

// defaultMaxSessions holds unless an option or a server says otherwise.
const defaultMaxSessions = 200_000

// DefaultMaxSessions sets the bound of sessions unless Options.Session.MaxSessions
// did. A server calls it with what follows from its own limits; of several the
// largest holds.
func (h *Hub) DefaultMaxSessions(n int) {
	if h.options.Session.MaxSessions > 0 || n <= 0 {
		return
	}
	h.clientsMu.Lock()
	defer h.clientsMu.Unlock()
	if !h.mostSet || int64(n) > h.most.Load() {
		h.most.Store(int64(n))
	}
	h.mostSet = true
}

// Schema returns the schema the hub carries.
func (h *Hub) Schema() *nova.Schema { return h.options.Schema }

// SetCluster connects the hub to other nodes: what is published here goes there
// too. nil makes it a single node again.
func (h *Hub) SetCluster(c Cluster) {
	if c == nil {
		h.cluster.Store(nil)
		return
	}
	h.cluster.Store(&c)
}

// Close refuses new publishes, ends all sessions, hands on what was accepted and
// waits for handlers and loops, within ctx. When ctx ends first its error is
// returned, handlers' contexts are cancelled, and the loops end all the same.
// Further calls wait likewise.
func (h *Hub) Close(ctx context.Context) error {
	h.lifeMu.Lock()
	again := h.closed
	h.closed = true
	h.lifeMu.Unlock()
	if !again {
		close(h.logging.closing)
	}
	wait(ctx, &h.logging.running) // its error shows below: ctx has ended
	for _, sh := range h.shards {
		if !again {
			sh.barrier(ctx)
		}
	}
	for _, s := range h.sessions() {
		live := s.closePeer(1012, "service restart")
		s.end(!live, EndShutdown) // what is queued goes out before the close frame
	}
	h.quietMu.Lock()
	h.quiet = true
	h.quietMu.Unlock()
	err := wait(ctx, &h.tasks)
	h.cancel()
	for _, sh := range h.shards {
		sh.stop()
	}
	if err == nil {
		err = wait(ctx, &h.wg)
	}
	return err
}

// Settle returns when all that was published before is in the queues of its
// receivers, or ctx or the hub ends. What waits for a log does not count.
func (h *Hub) Settle(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(h.ctx, cancel)()
	for _, sh := range h.shards {
		sh.barrier(ctx)
	}
}

// SessionTTL returns how long a session lives without a socket, 0 = not at all.
func (h *Hub) SessionTTL() time.Duration { return max(h.options.Session.TTL, 0) }

// Closed reports whether Close has begun.
func (h *Hub) Closed() bool {
	h.lifeMu.RLock()
	defer h.lifeMu.RUnlock()
	return h.closed
}

func wait(ctx context.Context, wg *sync.WaitGroup) error {
	done := make(chan struct{})
	go func() {
		wg.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return nova.Errorf(nova.CodeOf(ctx.Err()), "closing the hub: %w", ctx.Err())
	}
}

// start runs fn in a goroutine that Close waits for; false when all sessions have
// been ended. It comes under an inbox's lock, which publishes wait for: lifeMu must
// not be taken here.
func (h *Hub) start(fn func()) bool {
	if !h.enter() {
		return false
	}
	go func() {
		defer h.tasks.Done()
		fn()
	}()
	return true
}

// enter counts a handler in that Close waits for; false when none is started any
// more.
func (h *Hub) enter() bool {
	h.quietMu.RLock()
	defer h.quietMu.RUnlock()
	if !h.quiet {
		h.tasks.Add(1)
	}
	return !h.quiet
}

var errClosed = nova.Errorf(nova.FailedPrecondition, "the hub is closed")

// now returns the nanoseconds since the hub began, more than 0. A clock that is set
// changes nothing about them, as long as Options.Clock has a monotonic reading.
func (h *Hub) now() int64 { return max(int64(h.options.Clock().Sub(h.began)), 1) }

// sessions returns the admitted sessions of this moment.
func (h *Hub) sessions() []*Session {
	h.clientsMu.RLock()
	defer h.clientsMu.RUnlock()
	list := make([]*Session, 0, len(h.clients))
	for _, s := range h.clients {
		list = append(list, s)
	}
	return list
}

// Len returns the number of admitted clients, with and without a socket.
func (h *Hub) Len() int { return int(h.metrics.sessions.Load()) }

// Client returns an admitted client by its id, or nil.
func (h *Hub) Client(id string) *nova.Client {
	if s := h.session(id); s != nil {
		return s.client
	}
	return nil
}

// Clients returns the admitted clients, with and without a socket, in the order of
// their ids.
func (h *Hub) Clients() []*nova.Client { return clientsOf(h.sessions()) }

// ClientsOf returns the admitted clients of one user, in the order of their ids.
func (h *Hub) ClientsOf(user string) []*nova.Client {
	if user == "" {
		return nil
	}
	return clientsOf(slices.DeleteFunc(h.sessions(), func(s *Session) bool { return s.User() != user }))
}

func clientsOf(list []*Session) []*nova.Client {
	slices.SortFunc(list, func(a, b *Session) int { return cmp.Compare(a.id, b.id) })
	clients := make([]*nova.Client, len(list))
	for i, s := range list {
		clients[i] = s.client
	}
	return clients
}

// Topics returns the names of the topics there are, with members or history, sorted.
func (h *Hub) Topics() []string { return h.topics.names() }

// Groups returns the names of the groups that have members, sorted.
func (h *Hub) Groups() []string { return h.groups.names() }

func (h *Hub) session(id string) *Session {
	h.clientsMu.RLock()
	defer h.clientsMu.RUnlock()
	return h.clients[id]
}

// shareSize is the size from which on a frame is not copied for each socket: two
// pieces of memory in one write then cost less than the copy.
const shareSize = 4 << 10

// joinSize is the most bytes of a message of several frames (batch/1).
const joinSize = 16 << 10

// runBytes is the memory of one run of frames in a session's ring.
const runBytes = 24

// leastKept is how many frames each session may keep for resume before they are too
// many all the same; then it is half of that, and so on down to none.
const (
	leastKept = 16
	tightest  = 6
)

// setKeep shares half of the memory for sessions among n of them: the rings'
// own slots must not outgrow it, however short the runs are.
func (h *Hub) setKeep(n int64) {
	most := max(int64(h.options.Session.TotalBytes)/2/runBytes/max(n, 1), leastKept)
	if level := h.tight.Load(); level > 0 {
		most = leastKept >> (level - 1)
	}
	h.keepFrames.Store(min(int64(h.options.Session.MaxFrames), most))
}
