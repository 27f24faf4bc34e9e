package hub_test

import (
	"context"
	"maps"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/session/sim"
	"github.com/ignex/nova/wire/control"
)

// simOp is a kind of step of the hub simulator.
type simOp struct {
	sim.Kind
	fault bool
	run   func(w *simWorld, a, b, c int)
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
	does := func(name string, weight int, run func(w *simWorld, a, b, c int)) simOp {
		return simOp{sim.Kind{Name: name, Weight: weight}, false, run}
	}
	fault := func(name string, weight int, run func(w *simWorld, a, b, c int)) simOp {
		return simOp{sim.Kind{Name: name, Weight: weight}, true, run}
	}
	return []simOp{
		does("pub", 34, func(w *simWorld, a, b, c int) {
			w.publish(simEvents[a%len(simEvents)], w.target(b, b/9), "k"+itoa(c%3), false)
		}),
		does("race", 4, onSock(func(w *simWorld, k *simSock, b, c int) {
			if !k.hole[1] {
				w.expect(k)
				k.arrive(1 << 20) // nobody has looked at it when the publish begins
			}
			w.publish(simEvents[b%len(simEvents)], w.target(1+c%2, b/7), "k0", true)
		})),
		does("users", 3, func(w *simWorld, a, b, c int) {
			group, user := "us"+itoa(a%3), "u"+itoa(b%3)
			if w.users[group] == nil {
				w.users[group] = map[string]bool{}
			}
			w.users[group][user] = c%3 > 0
			w.setUser(group, user)
		}),
		fault("dial", 7, onClient(func(_ *simWorld, cl *simClient, b, _ int) {
			if !cl.dead || b%3 == 0 {
				cl.dead = false
				cl.dial()
			}
		})),
		does("up", 26, onSock(func(w *simWorld, k *simSock, b, c int) {
			n := 1 << 20
			if c%2 == 0 {
				n = b % 200
			}
			if !k.hole[1] {
				w.expect(k)
				k.arrive(n)
			}
		})),
		does("down", 26, onSock(func(_ *simWorld, k *simSock, b, c int) {
			n := 1 << 20
			if c%2 == 0 {
				n = b % 400
			}
			k.readSome(n)
		})),
		fault("losts", 4, onSock(func(_ *simWorld, k *simSock, _, _ int) { k.change(func() { k.broken = true }) })),
		fault("lostc", 4, onSock(func(_ *simWorld, k *simSock, b, _ int) {
			k.readSome(b % 500)
			k.hangUp()
		})),
		fault("hole", 1, onSock(func(_ *simWorld, k *simSock, b, _ int) { k.hole[b%2] = true })),
		does("short", 6, onSock(func(_ *simWorld, k *simSock, b, c int) { k.short(b, c) })),
		does("again", 6, onSock(func(_ *simWorld, k *simSock, b, c int) {
			if c%3 == 0 {
				k.resume()
			} else {
				k.short(b, c)
			}
		})),
		does("hold", 6, func(w *simWorld, a, _, _ int) { w.holds = append(w.holds, w.hub.SimHold(a%w.limits.Shards)) }),
		does("turn", 12, func(w *simWorld, _, _, _ int) { w.turn() }),
		does("tick", 5, func(w *simWorld, a, _, _ int) {
			w.tick([]time.Duration{time.Millisecond, time.Second, 3 * time.Second, 20 * time.Second, 45 * time.Second}[min(4, a%7)])
		}),
		fault("clock", 2, func(w *simWorld, a, _, _ int) {
			w.skew.Add(int64([]time.Duration{-time.Minute, -time.Second, time.Second, 31 * time.Second, time.Minute}[a%5]))
		}),
		fault("late", 3, onSock(func(w *simWorld, k *simSock, b, _ int) {
			// Its frames arrive when its session is about to expire, or just did.
			w.skew.Add(int64(w.limits.Session.TTL))
			if b%2 == 0 {
				time.Sleep(time.Second - 137*time.Microsecond)
			}
			if !k.hole[1] {
				k.arrive(1 << 20)
			}
			time.Sleep(time.Second)
		})),
		fault("mood", 3, func(w *simWorld, a, b, c int) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.mood[a%simMoods] = b % 4 * (c % 2)
		}),
		fault("restart", 1, func(w *simWorld, a, _, _ int) {
			if a%3 == 0 {
				w.restart()
			}
		}),
		fault("api", 5, func(w *simWorld, a, b, c int) { w.api(a, simRooms[b%len(simRooms)], c) }),
		fault("deny", 2, func(w *simWorld, a, b, _ int) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.denied[simRooms[b%len(simRooms)]] = a%2 == 0
		}),
		fault("identity", 2, onClient(func(_ *simWorld, cl *simClient, b, c int) {
			cl.query.Set("topics", []string{"", "t0", "t1,t2,t3"}[b%3])
			cl.query.Set("groups", []string{"", "g0", "g1,g2"}[c%3])
		})),
		fault("thief", 1, onClient(func(w *simWorld, cl *simClient, _, c int) { w.thief(cl, c) })),
		fault("twin", 1, onClient(func(w *simWorld, cl *simClient, _, _ int) {
			if !cl.base && cl.name != "" && len(w.clients) < 5 {
				w.clients = append(w.clients, cl.twin(len(w.clients)))
			}
		})),
		fault("bye", 1, onClient(func(_ *simWorld, cl *simClient, b, _ int) { cl.bye([]int{1000, 1001, 4000}[b%3]) })),
		does("sub", 8, onClient(func(_ *simWorld, cl *simClient, b, c int) {
			topic := simTopics[b%len(simTopics)]
			switch {
			case cl.base:
				cl.send(&control.Subscribe{Topic: topic})
			case cl.gate.Attached():
				cl.send(&control.TopicSubscribe{ID: int64(c), Topic: topic, Offset: int64(c%2) - 1})
			}
		})),
		does("unsub", 2, onClient(func(_ *simWorld, cl *simClient, b, _ int) {
			if cl.base || cl.gate.Attached() {
				cl.send(&control.Unsubscribe{Topic: simTopics[b%len(simTopics)]})
				if cl.leaves(simTopics[b%len(simTopics)]); !cl.base {
					cl.leave(simTopics[b%len(simTopics)])
				}
			}
		})),
		does("group", 3, onClient(func(_ *simWorld, cl *simClient, b, c int) {
			switch {
			case !cl.base && !cl.gate.Attached():
			case c%3 == 0:
				cl.leaves("g" + itoa(b%3))
				cl.send(&control.LeaveGroup{Group: "g" + itoa(b%3)})
			default:
				cl.send(&control.JoinGroup{Group: "g" + itoa(b%3)})
			}
		})),
		does("send", 8, onClient(func(_ *simWorld, cl *simClient, _, _ int) { cl.up() })),
		does("ack", 5, onClient(func(_ *simWorld, cl *simClient, _, _ int) {
			if !cl.base && cl.gate.Attached() {
				cl.send(&control.Ack{Seq: int64(cl.gate.Last())})
			}
		})),
		does("resume", 2, onClient(func(_ *simWorld, cl *simClient, _, _ int) {
			if cl.base {
				cl.asked++
				cl.send(&control.Resume{LastSeq: int64(cl.old.Last())})
			}
		})),
		does("letgo", 1, onClient(func(_ *simWorld, cl *simClient, _, _ int) {
			if cl.base {
				cl.letGo()
			}
		})),
	}
}

// turn lets the shard that was stopped first go on.
func (w *simWorld) turn() {
	if len(w.holds) > 0 {
		w.holds[0]()
		w.holds = w.holds[1:]
	}
}

// setUser makes the hub's group of users what the simulator says.
func (w *simWorld) setUser(group, user string) {
	g := w.hub.UserGroup(group)
	if !w.users[group][user] {
		g.Remove(user)
	} else if err := g.Add(user); err != nil {
		w.fail(20, "%v", err)
	}
}

// api joins, leaves or kicks as the application does.
func (w *simWorld) api(a int, name string, c int) {
	list := w.hub.SimSessions()
	if len(list) == 0 {
		return
	}
	s := list[a%len(list)]
	l, right := w.log(s), simRightNamed(name)
	switch {
	case c%8 == 0:
		w.calls.Go(func() { s.Disconnect(1008, "kicked") })
	case c%8 > 3 && right.kind == nova.ToTopic:
		w.calls.Go(func() { s.Join(context.Background(), name) })
	case c%8 > 3:
		w.calls.Go(func() { s.JoinGroup(context.Background(), name) })
	default:
		w.mu.Lock()
		l.leaving++
		w.mu.Unlock()
		w.calls.Go(func() { // it waits for its shard
			if right.kind == nova.ToTopic {
				s.Leave(name)
			} else {
				s.LeaveGroup(name)
			}
			w.mu.Lock()
			l.leaving--
			w.mu.Unlock()
			(*simSock)(nil).revoked(w, l, s, right)
		})
	}
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

// bye closes the socket from the client's end.
func (cl *simClient) bye(code int) {
	k := cl.sock
	if k == nil {
		return
	}
	k.change(func() { k.up = ws.AppendMasked(k.up, ws.Close, ws.AppendClosePayload(nil, code, ""), [4]byte{}) })
	k.hangUp()
	if code != 4000 {
		cl.forget()
	}
}

// expect notes whether the session that k asks for can go on, when the answer is
// due in this step.
func (w *simWorld) expect(k *simSock) {
	cl := k.client
	if cl.base || cl.sock != k || k.want != 0 || !cl.hello || cl.name == "" || k.next != 0 {
		return
	}
	if s := k.hub.SimFind(cl.name); s != nil && !s.SimKept(cl.gate.Last()) {
		k.want = 2
	}
}
