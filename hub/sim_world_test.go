package hub_test

import (
	"context"
	"fmt"
	"hash"
	"hash/fnv"
	"maps"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/session"
	"github.com/ignex/nova/session/sim"
	"github.com/ignex/nova/wire"
)

// simWorld is a real hub and a real server in a bubble of fake time, with sockets
// that do what the program says.
type simWorld struct {
	peeker   sim.Peeker
	hub      *hub.Hub // of the life that goes on
	server   *server.Server
	limits   hub.Options
	room     int
	calm     bool // no faults in this program
	step     atomic.Int64
	skew     atomic.Int64 // of the hub's clock
	emits    []simEmit
	offsets  map[[2]uint64]int // ref, offset → emit
	names    map[uint64]string // ref → topic
	users    map[string]map[string]bool
	topicLog *simTopicLog // nil: no topic has a log
	began    int          // the first emit of this life
	clients  []*simClient
	socks    []*simSock
	rounds   int // of the drain
	holds    []func()
	calls    sync.WaitGroup // of the application and of hubs that close
	logs     map[*hub.Session]*simLog
	broken   *simViolation
	trace    hash.Hash64 // of everything written, to compare runs

	mu      sync.Mutex // guards what follows, and broken
	handled map[*nova.Client][]int64
	lives   map[*nova.Client]*simLife
	denied  map[string]bool
	mood    [simMoods]int
	sighs   int
}

type simViolation struct {
	rule int
	text string
}

func (v *simViolation) Error() string { return v.text }

func (w *simWorld) fail(rule int, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken == nil {
		w.broken = &simViolation{rule, fmt.Sprintf("step %d, invariant %d: %s", w.now(), rule, fmt.Sprintf(format, args...))}
	}
}

func (w *simWorld) failed() *simViolation {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.broken
}

func (w *simWorld) now() int { return int(w.step.Load()) }

// simLog is what the simulator knows of one session of the server.
type simLog struct {
	addressed []simAddress // in order
	perhaps   []simPlace   // to a topic that it joined meanwhile
	numbers   map[uint64]simQueued
	passed    map[uint64]uint64 // number → the last one queued when the writer passed it
	peeked    uint64
	written   uint64

	cuts    map[simRight]simCut // under the world's mu
	leaving int                 // leaves of the application that have not returned, likewise
	unsub   map[string]bool     // topics and groups its client left
}

// simQueued is a numbered frame: emit −1 is of the protocol.
type simQueued struct {
	emit   int
	target uint64
}

// simRight is a topic or a group.
type simRight struct {
	kind nova.TargetKind
	name string
}

// simCut says that nothing up to a number may be written after a step, or to a
// socket any more.
type simCut struct {
	sock *simSock
	step int
	upTo uint64
}

// simSchema has an event of each class, two that are not retained in full, and
// one for the way up; all carry a quote.
func simSchema() *nova.Schema {
	l := market.Schema.Layout()
	layout := &wire.Layout{Package: "sim", Fingerprint: l.Fingerprint, Enums: l.Enums, Tables: l.Tables}
	for _, e := range []wire.Event{
		{Name: "must", Delivery: wire.DeliverMust},
		{Name: "drop", Delivery: wire.DeliverDrop},
		{Name: "latest", Delivery: wire.DeliverLatest, Key: "symbol"},
		{Name: "plain"},
		{Name: "fleeting", Retain: wire.RetainNone},
		{Name: "state", Delivery: wire.DeliverLatest, Key: "symbol", Retain: wire.RetainLatest},
		{Name: "up", Inbound: true},
	} {
		e.ID = wire.EventID(e.Name)
		layout.Events = append(layout.Events, e)
	}
	return nova.NewSchema(layout)
}

func newSimWorld(p sim.Program, schema *nova.Schema) *simWorld {
	r := p.Rand()
	w := &simWorld{peeker: sim.NewPeeker(), trace: fnv.New64(), offsets: map[[2]uint64]int{}, names: map[uint64]string{},
		users: map[string]map[string]bool{}, logs: map[*hub.Session]*simLog{}, handled: map[*nova.Client][]int64{},
		lives: map[*nova.Client]*simLife{}, denied: map[string]bool{}, room: 400 + r.IntN(3000), calm: p.Seed%8 == 0}
	w.limits = hub.Options{
		Schema: schema, Shards: 1 + r.IntN(2),
		Backpressure: hub.Backpressure{MaxFrames: 3 + r.IntN(12), MaxBytes: 1500 + r.IntN(2000), Policy: session.Policy(r.IntN(3))},
		Session:      hub.SessionOptions{MaxFrames: 2 + r.IntN(20), MaxBytes: 500 + r.IntN(3000), TTL: 30 * time.Second},
		History:      hub.History{Size: 2 + r.IntN(8), Idle: 40 * time.Second},
		Clock:        func() time.Time { return time.Now().Add(time.Duration(w.skew.Load())) },
	}
	w.limits.AuthorizeGroup = w.authorize
	if r.IntN(2) == 0 {
		w.limits.AuthorizeTopic = w.authorize
	}
	if r.IntN(2) == 0 {
		w.limits.OnConnect, w.limits.OnLost, w.limits.OnRestored, w.limits.OnDisconnect = w.onConnect, w.onLost, w.onRestored, w.onDisconnect
	}
	if !w.calm && r.IntN(3) == 0 { // budgets that are reached
		w.limits.MaxTopicsPerClient = 1 + r.IntN(3)
		w.limits.Session.TotalBytes, w.limits.Session.MaxSessions = 2000+r.IntN(16_000), 1+r.IntN(4)
		w.limits.History.TotalBytes, w.limits.History.MaxTopics = 2000+r.IntN(8000), 1+r.IntN(3)
	}
	if r.IntN(2) == 0 {
		w.topicLog = newSimTopicLog(w)
		w.limits.Log, w.limits.LogWait = w.topicLog, time.Second
		w.limits.Topics = []hub.TopicRule{{Pattern: simLogged, Log: true, LogPolicy: hub.Hold}}
	}
	w.start()
	for i := range 1 + r.IntN(3) {
		cl := &simClient{w: w, id: i, base: r.IntN(4) == 0, query: url.Values{"nova": {"2"}, "user": {fmt.Sprint("u", i)}}}
		if cl.base || r.IntN(3) == 0 {
			cl.query.Set("client", fmt.Sprint("c", i))
		}
		if r.IntN(3) == 0 {
			cl.query.Set("topics", "t0")
			cl.query.Set("groups", "g0")
		}
		w.clients = append(w.clients, cl)
	}
	return w
}

// start begins a life of the server.
func (w *simWorld) start() {
	h, err := hub.New(w.limits)
	if err != nil {
		panic(err)
	}
	s, err := server.New(h, server.Options{AcceptRate: -1, Authenticate: authenticateSim})
	if err != nil {
		panic(err)
	}
	if _, err := h.HandleFrame(w.event("up"), w.handle); err != nil {
		panic(err)
	}
	w.hub, w.server, w.began = h, s, len(w.emits)
}

// restart shuts the server down while everything goes on, with another in its
// place.
func (w *simWorld) restart() {
	for len(w.holds) > 0 {
		w.turn()
	}
	h, s := w.hub, w.server
	w.calls.Go(func() { w.stop(h, s) })
	w.start()
	for _, group := range slices.Sorted(maps.Keys(w.users)) {
		for _, user := range slices.Sorted(maps.Keys(w.users[group])) {
			w.setUser(group, user)
		}
	}
}

// stop closes a server and its hub, which have to let go of everything.
func (w *simWorld) stop(h *hub.Hub, s *server.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	s.Close()
	if err := h.Close(ctx); err != nil {
		w.fail(20, "closing: %v", err)
	}
	m := h.Metrics()
	if m.SessionBytes != 0 || m.Detached != 0 || m.Groups != 0 || m.Sessions != 0 {
		w.fail(17, "closed: %d sessions, %d bytes in sessions, %d detached, %d groups", m.Sessions, m.SessionBytes, m.Detached, m.Groups)
	}
	if x := m.Frames; x.Numbered != x.Written+x.Superseded+x.Dropped+x.Withdrawn+x.Discarded+x.HandedOver+x.Unsent {
		w.fail(16, "closed: %+v", x)
	}
}

// log returns the record of a session.
func (w *simWorld) log(s *hub.Session) *simLog {
	l := w.logs[s]
	if l == nil {
		l = &simLog{numbers: map[uint64]simQueued{}, passed: map[uint64]uint64{}, cuts: map[simRight]simCut{}, unsub: map[string]bool{}}
		w.logs[s] = l
	}
	return l
}

// settle waits until nothing moves by itself, then looks at what was written and
// at every queue.
func (w *simWorld) settle() {
	synctest.Wait()
	for _, s := range w.hub.SimSessions() {
		s.SimLook(func(q *session.Queue) { w.checkQueue(s, q) })
	}
	for _, k := range w.socks {
		for _, chunk := range k.link.tap() {
			list, err := k.tap.feed(chunk.data, chunk.step)
			if err != nil {
				w.fail(12, "socket %d: %v", k.id, err)
			}
			for i := range list {
				fmt.Fprintln(w.trace, w.now(), k.id, list[i].Op, list[i].Head.ID, list[i].Head.Seq, len(list[i].Payload))
				k.tapped(&list[i])
			}
		}
	}
}

// close ends everything and checks that nothing is left.
func (w *simWorld) close() {
	for _, k := range w.socks {
		k.change(func() { k.broken = true })
	}
	w.quiet()
	w.skew.Add(int64(time.Hour))
	synctest.Wait()
	time.Sleep(10 * w.limits.Session.TTL)
	synctest.Wait()
	w.calls.Wait()
	if w.failed() == nil {
		if err := w.hub.SimIndexes(); err != nil {
			w.fail(17, "at the end: %v", err)
		}
		m := w.hub.Metrics()
		if m.Sessions != 0 || m.Topics != 0 || m.HistoryBytes != 0 || m.Frames.Unsent != 0 {
			w.fail(17, "at the end: %d sessions, %d topics, %d bytes of history, %d frames unsent",
				m.Sessions, m.Topics, m.HistoryBytes, m.Frames.Unsent)
		}
	}
	w.stop(w.hub, w.server)
	w.checkLives()
}
