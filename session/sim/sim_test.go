package sim_test

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/session"
	"github.com/ignex/nova/session/sim"
	"github.com/ignex/nova/wire"
)

// op is a kind of step of the queue simulator.
type op struct {
	sim.Kind
	run func(w *world, a, b, c int)
}

func (w *world) conn(a int) *conn {
	live := w.conns[max(0, len(w.conns)-8):]
	if len(live) == 0 {
		return nil
	}
	return live[a%len(live)]
}

func (w *world) sess(a int) *sess {
	last := w.sessions[max(0, len(w.sessions)-6):]
	if len(last) == 0 {
		return nil
	}
	return last[a%len(last)]
}

// onConn and onSess skip a step that has nothing to act on.
func onConn(fn func(w *world, c *conn, b, x int)) func(w *world, a, b, c int) {
	return func(w *world, a, b, x int) {
		if c := w.conn(a); c != nil {
			fn(w, c, b, x)
		}
	}
}

func onSess(fn func(w *world, s *sess, b, x int)) func(w *world, a, b, c int) {
	return func(w *world, a, b, x int) {
		if s := w.sess(a); s != nil && !s.ended {
			fn(w, s, b, x)
		}
	}
}

func ops() []op {
	return []op{
		{sim.Kind{Name: "pub", Weight: 30}, func(w *world, a, b, c int) {
			count := 1
			if c%5 == 0 {
				count = 1 + c%4
			}
			size := b % 60
			if b%17 == 0 {
				size = b % 400
			}
			w.publish(a%len(w.pubs), a/10%rooms, wire.Delivery(b/100%4), byte(c/10%3), size, count)
		}},
		{sim.Kind{Name: "own", Weight: 3}, onSess(func(w *world, s *sess, b, _ int) {
			first := len(w.emits)
			s.push(session.NewBatch([]session.Frame{w.frame(emit{own: true, size: b % 40})}), first)
		})},
		{sim.Kind{Name: "fill", Weight: 16}, onConn(func(_ *world, c *conn, b, _ int) { c.fill(1 + b%300) })},
		{sim.Kind{Name: "wrote", Weight: 20}, onConn(func(_ *world, c *conn, b, x int) {
			n := 1 << 20
			if x%3 == 0 {
				n = b % (len(c.out) + 1)
			}
			c.wrote(n)
		})},
		{sim.Kind{Name: "flush", Weight: 12}, onConn(func(_ *world, c *conn, _, _ int) { c.flush() })},
		{sim.Kind{Name: "down", Weight: 22}, onConn(func(_ *world, c *conn, b, x int) {
			n := 1 << 20
			if x%2 == 0 {
				n = b % 200
			}
			c.readSome(n)
		})},
		{sim.Kind{Name: "up", Weight: 20}, onConn(func(_ *world, c *conn, b, _ int) {
			for range 1 + b%3 {
				if len(c.up) == 0 || c.serverGone || c.holeUp {
					return
				}
				m := c.up[0]
				c.up = c.up[1:]
				c.only(func() { c.handle(m) })
			}
		})},
		{sim.Kind{Name: "dial", Weight: 8}, func(w *world, a, b, _ int) {
			if cl := w.clients[a%len(w.clients)]; !cl.dead || b%4 == 0 {
				cl.dead = false
				w.dial(cl)
			}
		}},
		{sim.Kind{Name: "losts", Weight: 5}, onConn(func(_ *world, c *conn, _, _ int) { c.lose() })},
		{sim.Kind{Name: "lostc", Weight: 5}, onConn(func(_ *world, c *conn, b, _ int) {
			c.readSome(b % (len(c.down) + 1))
			c.clientGone = true
			if c.client.conn == c {
				c.client.conn = nil
			}
		})},
		{sim.Kind{Name: "hole", Weight: 2}, onConn(func(_ *world, c *conn, b, _ int) {
			c.holeDown = c.holeDown || b%2 == 0
			c.holeUp = c.holeUp || b%2 == 1
		})},
		{sim.Kind{Name: "ack", Weight: 6}, func(w *world, a, _, _ int) { w.clients[a%len(w.clients)].ack() }},
		{sim.Kind{Name: "ctl", Weight: 5}, onConn(func(_ *world, c *conn, b, x int) {
			m := ws.AppendFrame(nil, ws.Ping, make([]byte, x%30))
			if c.serverGone {
				return
			}
			if b%2 == 0 {
				c.cursor.Ahead(session.Kind(b/2%5), m)
			} else {
				c.sess.q.InOrder(&c.cursor, session.Kind(b/2%5), m)
			}
		})},
		{sim.Kind{Name: "join", Weight: 6}, onSess(func(_ *world, s *sess, b, _ int) {
			s.in[b%rooms] = true
		})},
		{sim.Kind{Name: "leave", Weight: 1}, onSess(func(_ *world, s *sess, b, _ int) { s.in[1+b%(rooms-1)] = false })},
		{sim.Kind{Name: "revoke", Weight: 3}, onSess(func(w *world, s *sess, b, _ int) { s.revoke(b % rooms) })},
		{sim.Kind{Name: "keep", Weight: 3}, onSess(func(_ *world, s *sess, b, _ int) { s.q.SetKeep(b % 20) })},
		{sim.Kind{Name: "conflate", Weight: 2}, onSess(func(_ *world, s *sess, _, _ int) { s.q.Conflate() })},
		{sim.Kind{Name: "expire", Weight: 1}, onSess(func(_ *world, s *sess, _, _ int) {
			if s.conn == nil {
				s.end()
			}
		})},
		{sim.Kind{Name: "kick", Weight: 1}, onSess(func(_ *world, s *sess, b, _ int) {
			if c := s.conn; c != nil && b%2 == 0 {
				s.q.CloseAfter(&c.cursor, ws.AppendClose(nil, 1012, "restart"))
			} else if c != nil {
				c.cursor.CloseNow(ws.AppendClose(nil, 1013, "later"))
			}
		})},
		{sim.Kind{Name: "twin", Weight: 1}, func(w *world, a, _, _ int) {
			if cl := w.clients[a%len(w.clients)]; !cl.base && cl.name != "" && len(w.clients) < 4 {
				w.clients = append(w.clients, cl.twin(len(w.clients)))
			}
		}},
		{sim.Kind{Name: "resume", Weight: 3}, func(w *world, a, _, _ int) {
			cl := w.clients[a%len(w.clients)]
			if cl.base && cl.conn != nil {
				cl.conn.up = append(cl.conn.up, upMsg{kind: upResume, n: cl.old.Last()})
			}
		}},
		{sim.Kind{Name: "hot", Weight: 3}, onConn(func(w *world, c *conn, b, x int) {
			for i := range 2 + x%3 {
				w.publish(0, 0, wire.DeliverLatest, 1, b%9, 1+(x+i)%3)
				c.fill(50 + b%100)
				c.wrote(1 << 20)
			}
		})},
		{sim.Kind{Name: "tear", Weight: 2}, onConn(func(_ *world, c *conn, b, x int) { c.tear(b, x) })},
		{sim.Kind{Name: "letgo", Weight: 2}, func(w *world, a, _, _ int) {
			if cl := w.clients[a%len(w.clients)]; cl.base && cl.conn != nil {
				cl.letGo(cl.conn)
			}
		}},
		{sim.Kind{Name: "kill", Weight: 1}, func(w *world, _, b, _ int) {
			if b%4 > 0 {
				return
			}
			for _, c := range w.conns {
				c.lose()
			}
			for _, s := range w.sessions {
				s.end()
			}
		}},
	}
}

// revoke takes a room's frames away from a session for good.
func (s *sess) revoke(room int) {
	if !s.q.Admitted() {
		return
	}
	if room > 0 {
		s.in[room] = false
	}
	st := s.w.peeker.At(&s.q).State()
	s.q.Withdraw(uint64(room) + 1)
	for n := st.Lost + 1; n < st.Next; n++ {
		if e := s.w.emits[s.log[n]]; !e.own && e.target == uint64(room)+1 {
			if _, before := s.withdrawn[n]; !before {
				s.withdrawn[n] = s.w.step
			}
		}
	}
}

// tear lets a resume come while a frame is partly written, and memory get short
// before it is written whole.
func (c *conn) tear(b, x int) {
	if s := c.sess; c.client.base && s.q.Owns(&c.cursor) {
		c.fill(40 + b%100)
		c.wrote(1 + x%60)
		s.q.Resume(&c.cursor, max(c.client.old.Last(), s.q.Written()-min(s.q.Written(), uint64(b%4))))
		s.q.SetKeep(x % 3)
		c.fill(1 + b%20)
		c.wrote(1 + x%10)
	}
}

func kinds(list []op) []sim.Kind {
	k := make([]sim.Kind, len(list))
	for i := range list {
		k[i] = list[i].Kind
	}
	return k
}

// run runs a program and returns the first violation.
func run(list []op, p sim.Program) (err error) {
	w := newWorld(p)
	defer func() {
		if x := recover(); x != nil {
			err = &violation{0, fmt.Sprintf("step %d: panic: %v\n%s", w.step, x, debug.Stack())}
		}
	}()
	for _, cl := range w.clients {
		w.dial(cl)
	}
	for _, s := range p.Steps {
		w.step++
		list[s.Op].run(w, s.Args[0], s.Args[1], s.Args[2])
		w.check()
		if w.broken != nil {
			return w.broken
		}
	}
	w.drain()
	if w.broken != nil {
		return w.broken
	}
	return nil
}

// rule returns the number of the invariant that was violated, −1 for none.
func rule(err error) int {
	var v *violation
	if errors.As(err, &v) {
		return v.rule
	}
	return -1
}

// env reads a number from the environment.
func env(t *testing.T, name string, def uint64) uint64 {
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

const programSteps = 150

// TestSimQueue runs NOVA_SIM_SEEDS programs (seeds) from seed NOVA_SIM_SEED on
// (a new one each time), or the one in NOVA_SIM_PROGRAM.
func TestSimQueue(t *testing.T) {
	list := ops()
	if text := os.Getenv("NOVA_SIM_PROGRAM"); text != "" {
		p, err := sim.Parse(kinds(list), text)
		if err != nil {
			t.Fatal(err)
		}
		if err := run(list, p); err != nil {
			t.Fatal(err)
		}
		return
	}
	count := env(t, "NOVA_SIM_SEEDS", seeds)
	first := env(t, "NOVA_SIM_SEED", 0)
	if os.Getenv("NOVA_SIM_SEED") == "" {
		first = uint64(time.Now().UnixNano() / 1000)
	} else if os.Getenv("NOVA_SIM_SEEDS") == "" {
		count = 1
	}
	t.Logf("%d seeds from %d on", count, first)
	var next atomic.Uint64
	var failed atomic.Bool
	var wg sync.WaitGroup
	for range env(t, "NOVA_SIM_WORKERS", uint64(runtime.GOMAXPROCS(0))) {
		wg.Go(func() {
			for n := next.Add(1) - 1; n < count && !failed.Load(); n = next.Add(1) - 1 {
				p := sim.Generate(kinds(list), first+n, programSteps)
				err := run(list, p)
				if err == nil || failed.Swap(true) {
					continue
				}
				tries := int(env(t, "NOVA_SIM_SHRINK", 4000))
				small := sim.Shrink(p, tries, func(p sim.Program) bool { return rule(run(list, p)) == rule(err) })
				t.Errorf("seed %d: %v\nshrunk to %d steps: %v\nreplay: NOVA_SIM_PROGRAM='%s' go test ./session/sim -run TestSimQueue",
					first+n, err, len(small.Steps), run(list, small), sim.Format(kinds(list), small))
			}
		})
	}
	wg.Wait()
}
