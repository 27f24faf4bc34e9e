package hub_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/session"
	"github.com/ignex/nova/session/sim"
	"github.com/ignex/nova/wire/control"
)

var simTopics = []string{"t0", "t1", "t2"}

// simOp is a kind of step of the hub simulator.
type simOp struct {
	sim.Kind
	run func(w *simWorld, a, b, c int)
}

func onSock(fn func(w *simWorld, k *simSock, b, c int)) func(w *simWorld, a, b, c int) {
	return func(w *simWorld, a, b, c int) {
		if list := w.socks[max(0, len(w.socks)-6):]; len(list) > 0 {
			fn(w, list[a%len(list)], b, c)
		}
	}
}

func onClient(fn func(w *simWorld, cl *simClient, b, c int)) func(w *simWorld, a, b, c int) {
	return func(w *simWorld, a, b, c int) { fn(w, w.clients[a%len(w.clients)], b, c) }
}

func simOps() []simOp {
	return []simOp{
		{sim.Kind{Name: "pub", Weight: 30}, func(w *simWorld, a, b, c int) {
			n := itoa(b / 10 % 3)
			target := []nova.Target{nova.Broadcast(), nova.Topic("t" + n), nova.Topic("t" + n), nova.Group("g" + n), nova.User("u" + n), nova.ClientID("c" + n)}[b%6]
			w.publish(simEvents[a%len(simEvents)], target, "k"+itoa(c%3))
		}},
		{sim.Kind{Name: "dial", Weight: 7}, onClient(func(_ *simWorld, cl *simClient, b, _ int) {
			if !cl.dead || b%3 == 0 {
				cl.dead = false
				cl.dial()
			}
		})},
		{sim.Kind{Name: "up", Weight: 26}, onSock(func(w *simWorld, k *simSock, b, c int) {
			n := 1 << 20
			if c%2 == 0 {
				n = b % 200
			}
			if !k.hole[1] {
				w.expect(k)
				k.arrive(n)
			}
		})},
		{sim.Kind{Name: "down", Weight: 26}, onSock(func(_ *simWorld, k *simSock, b, c int) {
			n := 1 << 20
			if c%2 == 0 {
				n = b % 400
			}
			k.readSome(n)
		})},
		{sim.Kind{Name: "losts", Weight: 4}, onSock(func(_ *simWorld, k *simSock, b, _ int) {
			k.change(func() { k.broken = true })
		})},
		{sim.Kind{Name: "lostc", Weight: 4}, onSock(func(_ *simWorld, k *simSock, b, _ int) {
			k.readSome(b % 500)
			k.hangUp()
		})},
		{sim.Kind{Name: "hole", Weight: 1}, onSock(func(_ *simWorld, k *simSock, b, _ int) { k.hole[b%2] = true })},
		{sim.Kind{Name: "sub", Weight: 8}, onClient(func(_ *simWorld, cl *simClient, b, c int) {
			topic := simTopics[b%3]
			switch {
			case cl.base:
				cl.send(&control.Subscribe{Topic: topic})
			case cl.gate.Attached():
				cl.send(&control.TopicSubscribe{ID: int64(c), Topic: topic, Offset: int64(c%2) - 1})
			}
		})},
		{sim.Kind{Name: "unsub", Weight: 2}, onClient(func(_ *simWorld, cl *simClient, b, _ int) {
			if cl.base || cl.gate.Attached() {
				cl.send(&control.Unsubscribe{Topic: simTopics[b%3]})
				if !cl.base {
					cl.leave(simTopics[b%3])
					cl.unsure[simTopics[b%3]] = true
				}
			}
		})},
		{sim.Kind{Name: "group", Weight: 3}, onClient(func(_ *simWorld, cl *simClient, b, c int) {
			switch {
			case !cl.base && !cl.gate.Attached():
			case c%3 == 0:
				cl.send(&control.LeaveGroup{Group: "g" + itoa(b%3)})
			default:
				cl.send(&control.JoinGroup{Group: "g" + itoa(b%3)})
			}
		})},
		{sim.Kind{Name: "send", Weight: 8}, onClient(func(_ *simWorld, cl *simClient, _, _ int) { cl.up() })},
		{sim.Kind{Name: "ack", Weight: 5}, onClient(func(_ *simWorld, cl *simClient, _, _ int) {
			if !cl.base && cl.gate.Attached() {
				cl.send(&control.Ack{Seq: int64(cl.gate.Last())})
			}
		})},
		{sim.Kind{Name: "hold", Weight: 6}, func(w *simWorld, a, _, _ int) {
			w.holds = append(w.holds, w.hub.SimHold(a%w.limits.Shards))
		}},
		{sim.Kind{Name: "turn", Weight: 12}, func(w *simWorld, _, _, _ int) { w.turn() }},
		{sim.Kind{Name: "tick", Weight: 5}, func(_ *simWorld, a, b, _ int) {
			time.Sleep([]time.Duration{time.Millisecond, time.Second, 3 * time.Second, 20 * time.Second, 45 * time.Second}[min(4, a%7)])
		}},
		{sim.Kind{Name: "api", Weight: 4}, func(w *simWorld, a, b, c int) { w.api(a, simTopics[b%3], c) }},
		{sim.Kind{Name: "deny", Weight: 2}, func(w *simWorld, a, b, _ int) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.denied[[]string{"t0", "t1", "t2", "g0", "g1", "g2"}[b%6]] = a%2 == 0
		}},
		{sim.Kind{Name: "identity", Weight: 2}, onClient(func(_ *simWorld, cl *simClient, b, c int) {
			cl.query.Set("topics", []string{"", "t0", "t1,t2"}[b%3])
			cl.query.Set("groups", []string{"", "g0", "g1,g2"}[c%3])
		})},
		{sim.Kind{Name: "thief", Weight: 1}, onClient(func(w *simWorld, cl *simClient, _, c int) { w.thief(cl, c) })},
		{sim.Kind{Name: "bye", Weight: 1}, onClient(func(_ *simWorld, cl *simClient, b, _ int) {
			if k := cl.sock; k != nil {
				code := []int{1000, 1001, 4000}[b%3]
				k.change(func() { k.up = ws.AppendMasked(k.up, ws.Close, ws.AppendClosePayload(nil, code, ""), [4]byte{}) })
				k.hangUp()
				if code != 4000 {
					cl.forget()
				}
			}
		})},
		{sim.Kind{Name: "resume", Weight: 2}, onClient(func(_ *simWorld, cl *simClient, _, _ int) {
			if cl.base {
				cl.send(&control.Resume{LastSeq: int64(cl.old.Last())})
			}
		})},
		{sim.Kind{Name: "letgo", Weight: 1}, onClient(func(_ *simWorld, cl *simClient, _, _ int) {
			if cl.base {
				cl.letGo(nil)
			}
		})},
	}
}

// turn lets the shard that was stopped first go on.
func (w *simWorld) turn() {
	if len(w.holds) > 0 {
		w.holds[0]()
		w.holds = w.holds[1:]
	}
}

// api joins, leaves or kicks as the application does.
func (w *simWorld) api(a int, topic string, c int) {
	list := w.hub.SimSessions()
	if len(list) == 0 {
		return
	}
	s := list[a%len(list)]
	w.calls.Go(func() { // a leave waits for its shard
		switch c % 8 {
		case 0:
			s.Disconnect(1008, "kicked")
		case 1, 2, 3:
			s.Leave(topic)
		default:
			s.Join(context.Background(), topic)
		}
	})
}

// thief lets a second party attach with the session string of another client.
func (w *simWorld) thief(cl *simClient, c int) {
	if cl.base || cl.thief || cl.name == "" || len(w.clients) >= 5 {
		return
	}
	query := maps.Clone(cl.query)
	if c%2 == 0 {
		query.Set("user", "thief")
	} else {
		query.Set("client", "thief")
	}
	t := &simClient{w: w, id: len(w.clients), query: query, thief: true, name: cl.name, gate: cl.gate}
	w.clients = append(w.clients, t)
	t.dial()
	t.sock.want = 2
}

// expect notes whether the session that k asks for can go on, when the answer is
// due in this step.
func (w *simWorld) expect(k *simSock) {
	cl := k.client
	if cl.base || cl.sock != k || k.want != 0 || !cl.hello || cl.name == "" || k.next != 0 {
		return
	}
	if s := w.hub.SimFind(cl.name); s != nil && !s.SimKept(cl.gate.Last()) {
		k.want = 2
	}
}

// drain takes all faults away and runs until nothing moves.
func (w *simWorld) drain() {
	for len(w.holds) > 0 {
		w.turn()
	}
	for _, k := range w.socks {
		if k.lost || k.hole[0] || k.hole[1] {
			k.hangUp()
			k.change(func() { k.broken = true })
		}
	}
	quiet := 0
	for range 400 {
		w.step++
		for _, cl := range w.clients {
			if k := cl.sock; k != nil && k.gone() {
				k.readSome(1 << 20)
				k.hangUp()
			}
			if cl.sock == nil && !cl.dead {
				cl.dial()
			}
		}
		w.settle()
		moved := false
		for _, k := range w.socks {
			if k.lost {
				k.change(func() { k.broken = true })
				continue
			}
			moved = moved || len(k.link.up) > 0 || len(k.link.down) > 0
			k.arrive(1 << 20)
			k.readSome(1 << 20)
		}
		w.settle()
		if w.broken != nil {
			return
		}
		if moved {
			quiet = 0
		} else if quiet++; quiet > 3 {
			w.drained()
			return
		}
		if quiet > 0 {
			time.Sleep(10 * time.Millisecond)
		}
	}
	w.fail(20, "does not drain")
}

// drained checks what holds when nothing moves any more.
func (w *simWorld) drained() {
	if err := w.hub.SimIndexes(); err != nil {
		w.fail(17, "%v", err)
	}
	for _, cl := range w.clients {
		if cl.base || cl.dead || cl.sock == nil {
			continue
		}
		s := w.hub.SimFind(cl.name)
		if s == nil {
			w.fail(4, "client %d: its session is not there", cl.id)
			continue
		}
		var last uint64
		if s.SimLook(func(q *session.Queue) { last = q.Last() }); cl.next != last+1 {
			w.fail(4, "client %d: the session ends at %d, the ledger at %d", cl.id, last, cl.next)
		}
		w.reached(cl, s)
		// A client's own leave has no answer: what crossed it may be told behind it.
		unsure := func(topic string) bool { return cl.unsure[topic] }
		got := slices.DeleteFunc(slices.Sorted(maps.Keys(cl.subs)), unsure)
		if want := slices.DeleteFunc(s.Topics(), unsure); !slices.Equal(got, want) {
			w.fail(5, "client %d: told to be in %v, is in %v", cl.id, got, want)
		}
		w.mu.Lock()
		handled := w.handled[s.Client()]
		w.mu.Unlock()
		if !slices.Equal(handled, cl.sent) {
			w.fail(18, "client %d: sent %v, handled %v", cl.id, cl.sent, handled)
		}
	}
}

// reached compares what was addressed to a session with what its client got.
func (w *simWorld) reached(cl *simClient, s *hub.Session) {
	l := w.log(s)
	got := map[int]bool{}
	for _, id := range cl.got {
		got[id] = true
	}
	missing := 0
	for _, id := range l.addressed {
		if !got[id] && !cl.seen[id] {
			missing++
		}
	}
	if missing > cl.gaps+cl.skipped {
		w.fail(4, "client %d: %d of %d emits did not arrive, %d declared missing, %d of no subscription", cl.id, missing, len(l.addressed), cl.gaps, cl.skipped)
	}
	last := -1
	for _, id := range cl.got {
		if !slices.Contains(l.addressed, id) || cl.left[w.emits[id].target.Name] {
			continue // of a history
		}
		if id < last {
			w.fail(1, "client %d: emit %d behind %d", cl.id, id, last)
		}
		last = id
	}
}

// runSim runs a program in a bubble and returns the first violation.
func runSim(t *testing.T, list []simOp, schema *nova.Schema, p sim.Program) error {
	_, err := traceSim(t, list, schema, p)
	return err
}

// traceSim also returns a hash of everything that was written.
func traceSim(t *testing.T, list []simOp, schema *nova.Schema, p sim.Program) (trace uint64, err error) {
	synctest.Test(t, func(*testing.T) {
		w := newSimWorld(p, schema)
		for _, cl := range w.clients {
			cl.dial()
		}
		for _, s := range p.Steps {
			w.step++
			list[s.Op].run(w, s.Args[0], s.Args[1], s.Args[2])
			w.settle()
			if w.broken != nil {
				break
			}
		}
		if w.broken == nil {
			w.drain()
		}
		for len(w.holds) > 0 {
			w.turn()
		}
		w.calls.Wait()
		w.close()
		if w.broken != nil {
			err = w.broken
		}
		trace = w.trace.Sum64()
	})
	return trace, err
}

func simKinds(list []simOp) []sim.Kind {
	kinds := make([]sim.Kind, len(list))
	for i := range list {
		kinds[i] = list[i].Kind
	}
	return kinds
}

func simRule(err error) int {
	var v *simViolation
	if errors.As(err, &v) {
		return v.rule
	}
	return -1
}

func simNumber(t *testing.T, name string, def uint64) uint64 {
	text := os.Getenv(name)
	if text == "" {
		return def
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

const simSteps = 120

// TestSimHub runs NOVA_SIM_SEEDS programs (simSeeds) from seed NOVA_SIM_SEED on (a
// new one each time), or the one in NOVA_SIM_PROGRAM.
func TestSimHub(t *testing.T) {
	list, schema := simOps(), simSchema()
	kinds := simKinds(list)
	if text := os.Getenv("NOVA_SIM_PROGRAM"); text != "" {
		onePlace(t)
		p, err := sim.Parse(kinds, text)
		if err == nil {
			err = runSim(t, list, schema, p)
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	seeds := simNumber(t, "NOVA_SIM_SEEDS", simSeeds)
	first := simNumber(t, "NOVA_SIM_SEED", uint64(time.Now().UnixNano()/1000))
	if os.Getenv("NOVA_SIM_SEED") != "" && os.Getenv("NOVA_SIM_SEEDS") == "" {
		seeds = 1
	}
	t.Logf("%d seeds from %d on", seeds, first)
	onePlace(t)
	for n := range seeds {
		p := sim.Generate(kinds, first+n, simSteps)
		err := runSim(t, list, schema, p)
		if err == nil {
			continue
		}
		small := sim.Shrink(p, int(simNumber(t, "NOVA_SIM_SHRINK", 1000)), func(p sim.Program) bool {
			return simRule(runSim(t, list, schema, p)) == simRule(err)
		})
		t.Fatalf("seed %d: %v\nshrunk to %d steps: %v\nreplay: NOVA_SIM_PROGRAM='%s' go test ./hub -run 'TestSimHub$'",
			first+n, err, len(small.Steps), runSim(t, list, schema, small), sim.Format(kinds, small))
	}
}

// onePlace runs goroutines one at a time, or what is ready at the same moment
// would run in an order of its own.
func onePlace(t *testing.T) {
	before := runtime.GOMAXPROCS(1)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
}
