package sim_test

import (
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/session"
	"github.com/ignex/nova/session/sim"
	"github.com/ignex/nova/wire"
	"github.com/ignex/nova/wire/control"
)

// tapped judges what the server wrote to a socket, before the network loses any
// of it.
func (c *conn) tapped(m *sim.Message) {
	w, s := c.client.w, c.sess
	if m.Op != 2 {
		return
	}
	switch {
	case m.Head.ID == control.SessionID:
		var v control.Session
		if v.UnmarshalNova(m.Body) != nil {
			w.fail(12, "nova.session does not decode")
		}
		c.tapNext = uint64(v.NextSeq)
	case m.Head.ID == control.ResumedID:
		var v control.Resumed
		if v.UnmarshalNova(m.Body) != nil {
			w.fail(12, "resumed does not decode")
		}
		c.tapNext, c.tapWhole = 0, 0
		if v.Ok && v.From > 0 {
			c.tapNext, c.tapWhole = uint64(v.From), s.tapped
		}
	case m.Head.ID == control.GapID:
		var v control.Gap
		if v.UnmarshalNova(m.Body) != nil {
			w.fail(12, "nova.gap does not decode")
		}
		if c.client.base {
			w.fail(3, "nova.gap to a base client")
		}
		if uint64(v.From) != c.tapNext || v.To < v.From {
			w.fail(3, "socket %d: gap %d..%d, next is %d", c.id, v.From, v.To, c.tapNext)
		}
		c.tapNext = uint64(v.To) + 1
		s.tapped = max(s.tapped, uint64(v.To))
	case m.Head.Seq > 0:
		c.tappedNumber(m)
	}
}

func (c *conn) tappedNumber(m *sim.Message) {
	w, s, n := c.client.w, c.sess, m.Head.Seq
	if !c.asked || !s.q.Admitted() {
		w.fail(9, "socket %d: number %d before admission", c.id, n)
	}
	switch {
	case !c.client.base && c.tapNext == 0:
		w.fail(9, "socket %d: number %d before nova.session", c.id, n)
	case !c.client.base && n != c.tapNext, c.client.base && n <= c.tapWhole && (n < c.tapNext || n > s.notWithdrawn(c.tapNext)):
		w.fail(3, "socket %d: number %d, next is %d", c.id, n, c.tapNext)
	}
	c.tapNext = n + 1
	if step, ok := s.withdrawn[n]; ok && m.Begun > step {
		w.fail(10, "socket %d: number %d written in step %d, withdrawn in step %d", c.id, n, m.Begun, step)
	}
	s.tapped = max(s.tapped, n)
	if id := emitID(m.Body); s.log[n] != id {
		w.fail(1, "socket %d: number %d carries emit %d, numbered for %d", c.id, n, id, s.log[n])
	}
}

// notWithdrawn returns the first number from n on that was not taken away.
func (s *sess) notWithdrawn(n uint64) uint64 {
	for {
		if _, ok := s.withdrawn[n]; !ok {
			return n
		}
		n++
	}
}

// client is one of ours, or one of the base protocol, with its own ledger.
type client struct {
	w    *world
	id   int
	base bool
	dead bool // told not to come back
	conn *conn

	name    string // session string
	gate    session.SessionGate
	old     session.BaseGate
	attachN uint64
	life    *sess          // the session whose numbers follow
	next    uint64         // ledger: all below were delivered or declared
	gaps    map[uint64]int // number → reason
	emits   map[int]bool   // delivered ever
	pubSeq  map[int]int    // publisher → next seq at least
}

func (cl *client) twin(id int) *client {
	t := *cl
	t.id, t.conn = id, nil
	t.emits, t.pubSeq, t.gaps = clone(cl.emits), clone(cl.pubSeq), clone(cl.gaps)
	return &t
}

func clone[K comparable, V any](m map[K]V) map[K]V {
	c := map[K]V{}
	for k, v := range m {
		c[k] = v
	}
	return c
}

func (cl *client) open(c *conn) {
	if cl.conn != nil {
		cl.conn.clientGone = true
	}
	cl.conn = c
	if cl.base {
		cl.old.Close()
		cl.old.MaxFrames, cl.old.MaxBytes = 4, 500
		cl.old.Open()
		c.up = append(c.up, upMsg{kind: upHello, n: cl.old.Last()})
		return
	}
	cl.gate.Open()
	cl.attachN = cl.gate.Last()
	c.up = append(c.up, upMsg{kind: upAttach, n: cl.attachN, name: cl.name})
}

// read takes n bytes off the wire.
func (c *conn) readSome(n int) {
	if c.clientGone || c.holeDown {
		return
	}
	n = min(n, len(c.down))
	list, err := c.read.Feed(c.down[:n], 0)
	c.down = c.down[n:]
	if err != nil {
		c.client.w.fail(12, "socket %d: the client reads %v", c.id, err)
	}
	for i := range list {
		if c.clientGone {
			return
		}
		c.client.take(c, &list[i])
	}
}

func (cl *client) take(c *conn, m *sim.Message) {
	if m.Op == byte(ws.Close) {
		code, _, _ := ws.ParseClose(m.Payload)
		c.clientGone = true
		cl.conn = nil
		cl.dead = cl.dead || code == 1000
		return
	}
	if m.Op != byte(ws.Binary) {
		return
	}
	switch {
	case m.Head.Seq > 0 && cl.base:
		cl.takeBase(c, m.Head.Seq, m.Payload)
	case m.Head.Seq > 0:
		switch v := cl.gate.Push(m.Head.Seq); v {
		case session.Deliver:
			cl.deliver(c, m.Head.Seq, m.Body)
		default:
			cl.w.fail(3, "client %d: number %d after %d: %v", cl.id, m.Head.Seq, cl.gate.Last(), v)
		}
	default:
		cl.control(c, m)
	}
}

func (cl *client) control(c *conn, m *sim.Message) {
	switch m.Head.ID {
	case control.SessionID:
		var v control.Session
		v.UnmarshalNova(m.Body)
		if !cl.gate.Attach(v.Recovered, uint64(v.NextSeq)) {
			cl.w.fail(5, "client %d: recovered %v next %d, has %d", cl.id, v.Recovered, v.NextSeq, cl.gate.Last())
		}
		if v.Recovered != (v.Session == cl.name && cl.name != "") {
			cl.w.fail(5, "client %d: recovered %v, session %q was %q", cl.id, v.Recovered, v.Session, cl.name)
		}
		cl.name = v.Session
		if !v.Recovered {
			cl.life, cl.next, cl.gaps = c.sess, uint64(v.NextSeq), map[uint64]int{}
		}
	case control.GapID:
		var v control.Gap
		v.UnmarshalNova(m.Body)
		first, verdict := cl.gate.Gap(uint64(v.From), uint64(v.To))
		if verdict != session.Deliver {
			cl.w.fail(3, "client %d: gap %d..%d after %d: %v", cl.id, v.From, v.To, cl.gate.Last(), verdict)
			return
		}
		cl.missing(first, uint64(v.To), session.Reason(v.Reason))
	case control.ResumedID:
		var v control.Resumed
		v.UnmarshalNova(m.Body)
		if cl.old.Resumed(v.Ok, uint64(v.From)) {
			cl.letGo(c)
		}
	}
}

// missing notes what a gap declares, and whether it may say so.
func (cl *client) missing(from, to uint64, reason session.Reason) {
	w, s := cl.w, cl.life
	if from != cl.next {
		w.fail(3, "client %d: %d..%d missing, the ledger is at %d", cl.id, from, to, cl.next)
	}
	for n := from; n <= to; n++ {
		id, ok := s.log[n]
		if !ok {
			w.fail(3, "client %d: number %d declared missing, never given", cl.id, n)
			return
		}
		e := w.emits[id]
		_, withdrawn := s.withdrawn[n]
		must := e.own || e.class == wire.DeliverMust || e.class == wire.DeliverDefault && w.limits.Policy == session.Disconnect
		switch {
		case reason < session.Superseded || reason > session.Withdrawn:
			w.fail(3, "client %d: gap with reason %d", cl.id, reason)
		case reason == session.Superseded && !s.newer(n, s.q.Last(), nil):
			w.fail(7, "client %d: number %d superseded by nothing", cl.id, n)
		case must && !withdrawn && !s.q.Broken() && !s.ended:
			w.fail(8, "client %d: number %d must arrive, declared missing for reason %d", cl.id, n, reason)
		}
		cl.gaps[n] = int(reason)
	}
	cl.next = to + 1
}

// newer reports whether a later number up to last, not superseded itself, has the
// same target, event and key.
func (s *sess) newer(n, last uint64, gaps map[uint64]int) bool {
	e := s.w.emits[s.log[n]]
	if e.class != wire.DeliverLatest || e.key == 0 || e.own {
		return false
	}
	for m := n + 1; m <= last; m++ {
		id, ok := s.log[m]
		if !ok || gaps[m] == int(session.Superseded) {
			continue
		}
		if o := s.w.emits[id]; o.target == e.target && o.class == e.class && o.key == e.key && !o.own {
			return true
		}
	}
	return false
}

func (cl *client) takeBase(c *conn, seq uint64, payload []byte) {
	for range 10 {
		switch cl.old.Push(seq, payload) {
		case session.Deliver:
			cl.deliverBase(c, seq, payload)
			cl.drainHeld(c)
			return
		case session.Hold:
			if cl.old.Ask() {
				c.up = append(c.up, upMsg{kind: upResume, n: cl.old.Last()})
			}
			return
		case session.Overflow:
			cl.letGo(c)
		default:
			return
		}
	}
	cl.w.fail(20, "client %d: number %d overflows for ever", cl.id, seq)
}

// letGo gives up what is missing.
func (cl *client) letGo(c *conn) {
	if _, _, ok := cl.old.Skip(); ok {
		cl.drainHeld(c)
	}
}

func (cl *client) drainHeld(c *conn) {
	for {
		payload, ok := cl.old.Next()
		if !ok {
			return
		}
		head, _, _ := wire.ParseFrame(payload)
		cl.deliverBase(c, head.Seq, payload)
	}
}

func (cl *client) deliverBase(c *conn, seq uint64, payload []byte) {
	_, body, err := wire.ParseFrame(payload)
	if err != nil {
		cl.w.fail(12, "client %d: %v", cl.id, err)
		return
	}
	cl.handler(c.sess, seq, body)
}

// deliver is the handler of a client of ours.
func (cl *client) deliver(c *conn, n uint64, body []byte) {
	if n != cl.next {
		cl.w.fail(3, "client %d: number %d delivered, the ledger is at %d", cl.id, n, cl.next)
	}
	cl.next = n + 1
	if cl.life != c.sess {
		cl.w.fail(5, "client %d: follows %s on a socket of %s", cl.id, cl.life.name, c.sess.name)
	}
	cl.handler(cl.life, n, body)
}

func (cl *client) handler(s *sess, n uint64, body []byte) {
	w := cl.w
	id := emitID(body)
	if want, ok := s.log[n]; !ok || want != id {
		w.fail(1, "client %d: number %d carries emit %d, want %d", cl.id, n, id, want)
		return
	}
	e := w.emits[id]
	if len(body) != wire.PrefixLen+8+e.size {
		w.fail(13, "client %d: emit %d has %d bytes", cl.id, id, len(body))
	}
	if cl.emits[id] {
		w.fail(2, "client %d: emit %d a second time, as number %d of %s", cl.id, id, n, s.name)
	}
	cl.emits[id] = true
	if e.own {
		return
	}
	if e.seq < cl.pubSeq[e.pub] {
		w.fail(1, "client %d: publisher %d: emit %d behind %d", cl.id, e.pub, e.seq, cl.pubSeq[e.pub]-1)
	}
	cl.pubSeq[e.pub] = e.seq + 1
}

func (cl *client) ack() {
	if cl.conn != nil && !cl.base && cl.gate.Attached() {
		cl.conn.up = append(cl.conn.up, upMsg{kind: upAck, n: cl.gate.Last()})
	}
}
