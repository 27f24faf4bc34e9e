package hub_test

import (
	"context"
	"fmt"
	"hash"
	"hash/fnv"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/session"
	"github.com/ignex/nova/session/sim"
	"github.com/ignex/nova/wire"
	"github.com/ignex/nova/wire/control"
)

// simWorld is a real hub and a real server in a bubble of fake time, with sockets
// that do what the program says.
type simWorld struct {
	peeker  sim.Peeker
	hub     *hub.Hub
	server  *server.Server
	limits  hub.Options
	room    int
	step    int
	emits   []simEmit
	offsets map[[2]uint64]int // ref, offset → emit
	clients []*simClient
	socks   []*simSock
	holds   []func()
	calls   sync.WaitGroup
	logs    map[*hub.Session]*simLog
	handled map[*nova.Client][]int64 // client frames handled
	mu      sync.Mutex               // guards handled and denied
	denied  map[string]bool
	broken  *simViolation
	trace   hash.Hash64 // of everything written, to compare runs
}

type simViolation struct {
	rule int
	text string
}

func (v *simViolation) Error() string { return v.text }

func (w *simWorld) fail(rule int, format string, args ...any) {
	if w.broken == nil {
		w.broken = &simViolation{rule, fmt.Sprintf("step %d, invariant %d: %s", w.step, rule, fmt.Sprintf(format, args...))}
	}
}

// simEmit is one publish.
type simEmit struct {
	event  string
	target nova.Target
	key    string
	offset uint64
}

// simLog is what the simulator knows of one session of the server.
type simLog struct {
	addressed []int          // emits, in order
	numbers   map[uint64]int // number → emit, −1 = of the protocol
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

func simFrame(event string, id int, key string) []byte {
	frame, err := market.QuoteEvent.AppendFrame(nil, &market.Quote{Symbol: key, Ts: int64(id)})
	if err != nil {
		panic(err)
	}
	n := wire.EventID(event)
	for i := range 4 {
		frame[1+i] = byte(n >> (8 * i))
	}
	return frame
}

var simEvents = []string{"must", "drop", "latest", "plain", "fleeting", "state"}

func newSimWorld(p sim.Program, schema *nova.Schema) *simWorld {
	r := p.Rand()
	w := &simWorld{peeker: sim.NewPeeker(), trace: fnv.New64(), offsets: map[[2]uint64]int{}, logs: map[*hub.Session]*simLog{},
		handled: map[*nova.Client][]int64{}, denied: map[string]bool{}, room: 400 + r.IntN(3000)}
	w.limits = hub.Options{
		Schema: schema, Shards: 1 + r.IntN(2),
		Backpressure: hub.Backpressure{MaxFrames: 3 + r.IntN(12), MaxBytes: 1500 + r.IntN(2000), Policy: session.Policy(r.IntN(3))},
		Session:      hub.SessionOptions{MaxFrames: 2 + r.IntN(20), MaxBytes: 500 + r.IntN(3000), TTL: 30 * time.Second},
		History:      hub.History{Size: 2 + r.IntN(8), Idle: 40 * time.Second},
		AuthorizeGroup: func(_ context.Context, _ *nova.Client, name string) error {
			return w.authorize(name)
		},
	}
	if r.IntN(2) == 0 {
		w.limits.AuthorizeTopic = func(_ context.Context, _ *nova.Client, name string) error { return w.authorize(name) }
	}
	h, err := hub.New(w.limits)
	if err != nil {
		panic(err)
	}
	w.hub = h
	w.server, err = server.New(h, server.Options{AcceptRate: -1, Authenticate: authenticateSim})
	if err != nil {
		panic(err)
	}
	h.HandleFrame(&schema.Layout().Events[6], func(_ context.Context, from *nova.Client, payload []byte) error {
		var q market.Quote
		if err := q.UnmarshalNova(payload); err != nil {
			return err
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.handled[from] = append(w.handled[from], q.Ts)
		return nil
	})
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

func (w *simWorld) authorize(name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.denied[name] {
		return nova.Errorf(nova.Denied, "%s is not allowed", name)
	}
	return nil
}

func authenticateSim(_ context.Context, c server.Credentials) (server.Identity, error) {
	q := c.Request.URL.Query()
	id := server.Identity{ClientID: q.Get("client"), UserID: q.Get("user")}
	if t := q.Get("topics"); t != "" {
		id.Topics = strings.Split(t, ",")
	}
	if g := q.Get("groups"); g != "" {
		id.Groups = strings.Split(g, ",")
	}
	return id, nil
}

// log returns the record of a session.
func (w *simWorld) log(s *hub.Session) *simLog {
	l := w.logs[s]
	if l == nil {
		l = &simLog{numbers: map[uint64]int{}}
		w.logs[s] = l
	}
	return l
}

// publish publishes one event and notes whom it has to reach.
func (w *simWorld) publish(event string, target nova.Target, key string) {
	id := len(w.emits)
	w.emits = append(w.emits, simEmit{event: event, target: target, key: key})
	members := 0
	var reach []*hub.Session
	for _, s := range w.hub.SimSessions() {
		if s.SimMember(target) {
			members++
			reach = append(reach, s)
		}
	}
	result, err := w.hub.TryPublishFrame(context.Background(), nova.Publication{
		Event: w.event(event), Frame: simFrame(event, id, key), Target: target,
	})
	if err != nil {
		w.fail(20, "publish: %v", err)
		return
	}
	if result.Members != members {
		w.fail(17, "publish to %+v reaches %d, the sessions say %d", target, result.Members, members)
	}
	w.emits[id].offset = result.Offset
	for _, s := range reach {
		l := w.log(s)
		l.addressed = append(l.addressed, id)
	}
}

func (w *simWorld) event(name string) *wire.Event {
	events := w.limits.Schema.Layout().Events
	return &events[slices.IndexFunc(events, func(e wire.Event) bool { return e.Name == name })]
}

// simSock is one socket with the simulator's view of both ends.
type simSock struct {
	*link
	id     int
	client *simClient
	tap    simReader
	read   simReader
	next   uint64 // by the tap: the number that follows, 0 = before nova.session
	life   *hub.Session
	want   int // of nova.session: 1 recovered, 2 not, 0 unknown
	lost   bool
	hole   [2]bool
}

// simReader strips the answer to the upgrade and scans the rest.
type simReader struct {
	head []byte
	up   bool
	sim.Scanner
}

func (r *simReader) feed(b []byte) ([]sim.Message, error) {
	if !r.up {
		r.head = append(r.head, b...)
		i := strings.Index(string(r.head), "\r\n\r\n")
		if i < 0 {
			return nil, nil
		}
		r.up, b = true, r.head[i+4:]
	}
	return r.Feed(b, 0)
}

// dial opens a socket for a client.
func (w *simWorld) dial(cl *simClient, query url.Values) *simSock {
	k := &simSock{link: newLink(w.room), id: len(w.socks), client: cl}
	w.socks = append(w.socks, k)
	request := &http.Request{
		Method: http.MethodGet, URL: &url.URL{Path: "/ws", RawQuery: query.Encode()}, ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"},
			"Sec-Websocket-Key": {"AAAAAAAAAAAAAAAAAAAAAA=="}},
	}
	request = request.WithContext(context.Background())
	go w.server.ServeHTTP(hijack{k.link}, request)
	return k
}

// settle waits until nothing moves by itself, then looks at what was written and
// at every queue.
func (w *simWorld) settle() {
	synctest.Wait()
	for _, k := range w.socks {
		list, err := k.tap.feed(k.link.tap())
		if err != nil {
			w.fail(12, "socket %d: %v", k.id, err)
		}
		for i := range list {
			fmt.Fprintln(w.trace, w.step, k.id, list[i].Op, list[i].Head.ID, list[i].Head.Seq, len(list[i].Payload))
			k.tapped(&list[i])
		}
	}
	for _, s := range w.hub.SimSessions() {
		s.SimLook(func(q *session.Queue) { w.checkQueue(s.ID(), q) })
	}
}

func (w *simWorld) checkQueue(id string, q *session.Queue) {
	p := w.peeker.At(q)
	st := p.State()
	num, frames := st.Lost+1, 0
	p.Runs(func(r sim.Run) {
		if r.Num != num || r.Count == 0 {
			w.fail(12, "session %s: a run begins at %d, want %d", id, r.Num, num)
		}
		num += uint64(r.Count)
		if r.Batch != nil {
			frames += int(r.Count)
		}
	})
	if num != st.Next || st.Lost > st.Written || st.Written >= st.Next || st.Runs > 2*frames+3 {
		w.fail(12, "session %s: the ring ends at %d with %d frames: %+v", id, num, frames, st)
	}
	if st.UnsentFrames > w.limits.Backpressure.MaxFrames || st.UnsentBytes > w.limits.Backpressure.MaxBytes {
		w.fail(15, "session %s: %+v", id, st)
	}
	x := q.Stats()
	if x.Numbered != x.Written+x.Superseded+x.Dropped+x.Withdrawn+x.Discarded+x.HandedOver+x.Unsent {
		w.fail(16, "session %s: %+v", id, x)
	}
}

// tapped judges one message that the server wrote.
func (k *simSock) tapped(m *sim.Message) {
	w := k.client.w
	if m.Op != 2 {
		return
	}
	switch {
	case m.Head.ID == control.SessionID:
		var v control.Session
		v.UnmarshalNova(m.Body)
		k.next, k.life = uint64(v.NextSeq), w.hub.SimFind(v.Session)
		if k.want == 1 && !v.Recovered || k.want == 2 && v.Recovered {
			w.fail(6, "socket %d: recovered %v, want %v", k.id, v.Recovered, k.want == 1)
		}
	case m.Head.ID == control.GapID:
		var v control.Gap
		v.UnmarshalNova(m.Body)
		if uint64(v.From) != k.next || v.To < v.From {
			w.fail(3, "socket %d: gap %d..%d, next is %d", k.id, v.From, v.To, k.next)
		}
		k.next = uint64(v.To) + 1
	case m.Head.Seq > 0:
		k.number(m)
	}
	if m.Ref != 0 {
		id, ok := w.offsets[[2]uint64{m.Ref, m.Offset}]
		if got := simEmitID(m); ok && id != got {
			w.fail(13, "offset %d of %x is emit %d and emit %d", m.Offset, m.Ref, id, got)
		}
		w.offsets[[2]uint64{m.Ref, m.Offset}] = simEmitID(m)
	}
}

func (k *simSock) number(m *sim.Message) {
	w, n := k.client.w, m.Head.Seq
	if !k.client.base {
		if k.next == 0 {
			w.fail(9, "socket %d: number %d before nova.session", k.id, n)
		}
		if n != k.next {
			w.fail(3, "socket %d: number %d, next is %d", k.id, n, k.next)
		}
	}
	k.next = n + 1
	if k.life == nil {
		return
	}
	l, id := w.log(k.life), simEmitID(m)
	if was, ok := l.numbers[n]; ok && was != id {
		w.fail(1, "socket %d: number %d is emit %d and emit %d", k.id, n, was, id)
	}
	l.numbers[n] = id
}

// simEmitID returns the emit of an application frame, −1 of others.
func simEmitID(m *sim.Message) int {
	for _, name := range simEvents {
		if m.Head.ID == wire.EventID(name) {
			var q market.Quote
			if q.UnmarshalNova(m.Body) == nil {
				return int(q.Ts)
			}
		}
	}
	return -1
}

// close ends everything and checks that nothing is left.
func (w *simWorld) close() {
	for _, k := range w.socks {
		k.change(func() { k.broken = true })
	}
	synctest.Wait()
	time.Sleep(6 * w.limits.Session.TTL)
	synctest.Wait()
	if w.broken == nil {
		if n := w.hub.Len(); n > 0 {
			w.fail(17, "%d sessions are left", n)
		}
		if err := w.hub.SimIndexes(); err != nil {
			w.fail(17, "at the end: %v", err)
		}
		m := w.hub.Metrics()
		if m.SessionBytes != 0 || m.Detached != 0 || m.Groups != 0 || m.Topics != 0 || m.HistoryBytes != 0 {
			w.fail(17, "at the end: %d bytes in sessions, %d detached, %d groups, %d topics, %d bytes of history",
				m.SessionBytes, m.Detached, m.Groups, m.Topics, m.HistoryBytes)
		}
		if x := m.Frames; x.Numbered != x.Written+x.Superseded+x.Dropped+x.Withdrawn+x.Discarded+x.HandedOver || x.Unsent != 0 {
			w.fail(16, "at the end: %+v", x)
		}
	}
	w.server.Close()
	if err := w.hub.Close(context.Background()); err != nil {
		w.fail(20, "%v", err)
	}
}

func itoa(n int) string { return strconv.Itoa(n) }
