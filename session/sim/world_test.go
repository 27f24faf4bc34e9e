package sim_test

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/session"
	"github.com/ignex/nova/session/sim"
	"github.com/ignex/nova/wire"
	"github.com/ignex/nova/wire/control"
)

// world is the server side of the queue simulator: sessions, their queues and
// rooms, in the simplest form that follows the rules; and the sockets.
type world struct {
	peeker   sim.Peeker
	limits   session.Limits
	held     atomic.Int64
	room     int // bytes a socket takes unread
	step     int
	emits    []emit
	pubs     []int // emits of each publisher
	sessions []*sess
	strings  map[string]*sess
	pinned   map[int]*sess // of base clients
	clients  []*client
	conns    []*conn
	events   [4]*wire.Event
	trailers bool
	broken   *violation
}

// emit is one published frame.
type emit struct {
	pub, seq int
	target   uint64
	class    wire.Delivery
	key      byte
	own      bool
	size     int
}

const rooms = 4 // room 0 is everyone

// sess is a session of the server, and what the simulator knows of it.
type sess struct {
	w         *world
	q         session.Queue
	name      string
	owner     *client
	conn      *conn
	ended     bool
	in        [rooms]bool
	log       map[uint64]int // number → emit
	first     uint64
	numbered  uint64
	tapped    uint64            // highest number written whole to any socket
	withdrawn map[uint64]int    // number → step
	passed    map[uint64]uint64 // number → the last one queued when the writer passed it
	passedTo  uint64
}

// conn is one socket, both ends of it.
type conn struct {
	id         int
	client     *client
	sess       *sess
	cursor     session.Cursor
	out        []byte // under way between Fill and Wrote
	outStep    int
	down       []byte // on the wire
	up         []upMsg
	serverGone bool
	clientGone bool
	holeDown   bool
	holeUp     bool
	asked      bool // nova.attach or hello was handled
	tap        sim.Scanner
	tapNext    uint64 // next number to be written, 0 = none before nova.session
	tapWhole   uint64 // base: numbers up to here were promised without a hole
	read       sim.Scanner
}

type upKind int

const (
	upAttach upKind = iota
	upHello
	upAck
	upResume
)

type upMsg struct {
	kind upKind
	n    uint64
	name string
}

func newWorld(p sim.Program) *world {
	r := p.Rand()
	w := &world{peeker: sim.NewPeeker(), strings: map[string]*sess{}, pinned: map[int]*sess{}}
	w.room = 40 + r.IntN(1000)
	w.trailers = r.IntN(2) == 0
	w.pubs = make([]int, 1+r.IntN(3))
	for class := range w.events {
		w.events[class] = &wire.Event{Delivery: wire.Delivery(class), Key: "k", ID: uint32(1000 + class)}
	}
	w.limits = session.Limits{
		Policy: session.Policy(r.IntN(3)), UnsentFrames: 2 + r.IntN(12), UnsentBytes: 250 + r.IntN(1500),
		KeepFrames: 1 + r.IntN(14), KeepBytes: 100 + r.IntN(1500), Numbered: true, ShareSize: r.IntN(200),
		Resumed: func(ok bool, from uint64) []byte {
			return message(&control.Resumed{Ok: ok, From: int64(from)})
		},
		Gap: func(dst []byte, from, to uint64, reason session.Reason) []byte {
			return append(dst, message(&control.Gap{From: int64(from), To: int64(to), Reason: int64(reason)})...)
		},
		Key: func(f *session.Frame) string {
			if e := w.emits[emitID(f.Wire()[wire.HeaderLen:])]; e.key != 0 {
				return strconv.Itoa(int(e.class)) + " " + strconv.Itoa(int(e.key))
			}
			return ""
		},
		Held: &w.held, GapSize: len(message(&control.Gap{})), JoinSize: r.IntN(500),
	}
	for i := range 1 + r.IntN(3) {
		w.clients = append(w.clients, &client{w: w, id: i, base: r.IntN(3) == 0, emits: map[int]bool{}, pubSeq: map[int]int{}})
	}
	return w
}

func message(m interface {
	AppendFrame(dst []byte) ([]byte, error)
}) []byte {
	frame, err := m.AppendFrame(nil)
	if err != nil {
		panic(err)
	}
	return ws.AppendFrame(nil, ws.Binary, frame)
}

func emitID(body []byte) int { return int(binary.LittleEndian.Uint64(body[wire.PrefixLen:])) }

// fail notes the first violation.
func (w *world) fail(rule int, format string, args ...any) {
	if w.broken == nil {
		w.broken = &violation{rule, fmt.Sprintf("step %d, invariant %d: %s", w.step, rule, fmt.Sprintf(format, args...))}
	}
}

// violation is a broken invariant; rule 0 is a panic.
type violation struct {
	rule int
	text string
}

func (v *violation) Error() string { return v.text }

// frame makes the frame of a new emit.
func (w *world) frame(e emit) session.Frame {
	id := len(w.emits)
	body := binary.LittleEndian.AppendUint64(nil, uint64(id))
	body = append(body, make([]byte, e.size)...)
	head := uint32(999)
	var event *wire.Event
	if !e.own {
		event, head = w.events[e.class], w.events[e.class].ID
	}
	raw := wire.AppendHeader(nil, head)
	raw = binary.LittleEndian.AppendUint32(raw, uint32(len(body)))
	f := session.NewFrame(event, append(raw, body...))
	f.Target = e.target
	if id%2 == 0 && !e.own {
		f.Ref, f.Offset = uint64(7+e.target), uint64(id)
	}
	w.emits = append(w.emits, e)
	return f
}

// publish hands a batch to everyone in a room.
func (w *world) publish(pub, room int, class wire.Delivery, key byte, size, count int) {
	var frames []session.Frame
	first := len(w.emits)
	for range count {
		frames = append(frames, w.frame(emit{pub: pub, seq: w.pubs[pub], target: uint64(room) + 1, class: class, key: key, size: size}))
		w.pubs[pub]++
	}
	b := session.NewBatch(frames)
	if len(frames)%2 == 0 {
		b.Lay()
	}
	b.Hold(&w.held)
	for _, s := range w.sessions {
		if s.in[room] {
			s.push(b, first)
		}
	}
	b.Release(&w.held)
}

// push appends a batch whose first emit is first.
func (s *sess) push(b *session.Batch, first int) {
	before, broken := s.q.Last(), s.q.Broken() || s.ended || !s.q.Admitted()
	s.q.Append(b, 0, b.Len())
	want := before
	if !broken {
		want += uint64(b.Len())
		for i := range b.Len() {
			s.log[before+1+uint64(i)] = first + i
		}
		s.numbered += uint64(b.Len())
	}
	if s.q.Last() != want {
		s.w.fail(1, "session %s: %d frames after number %d, now %d", s.name, b.Len(), before, s.q.Last())
	}
	if s.q.Broken() && !broken && !s.ended {
		delete(s.w.strings, s.name)
		if s.w.pinned[s.owner.id] == s {
			delete(s.w.pinned, s.owner.id)
		}
		if s.conn != nil {
			s.conn.cursor.CloseNow(ws.AppendClose(nil, 1013, "slow consumer"))
		}
	}
}

// newSession makes one that is not admitted.
func (w *world) newSession(c *conn) *sess {
	s := &sess{w: w, name: fmt.Sprint("s", len(w.sessions)), owner: c.client, log: map[uint64]int{}, withdrawn: map[uint64]int{}, passed: map[uint64]uint64{}, conn: c}
	s.q.Init(&w.limits)
	s.q.Attach(&c.cursor)
	s.in[0] = true
	w.sessions = append(w.sessions, s)
	return s
}

// dial opens a socket for a client.
func (w *world) dial(cl *client) {
	c := &conn{id: len(w.conns), client: cl}
	c.cursor.Share, c.cursor.Batch = c.id%2 == 1, c.id%3 > 0
	w.conns = append(w.conns, c)
	c.sess = w.newSession(c)
	c.cursor.Ahead(session.Plain, message(&control.Hello{Version: 2}))
	c.cursor.Ahead(session.Plain, message(&control.Welcome{ClientID: strconv.Itoa(cl.id)}))
	cl.open(c)
}

// handle takes one message of the client.
func (c *conn) handle(m upMsg) {
	w, s := c.client.w, c.sess
	switch m.kind {
	case upAttach:
		c.asked = true
		c.attach(m)
	case upHello:
		c.asked = true
		c.hello(m.n)
	case upAck:
		if s.q.Owns(&c.cursor) && !s.q.Ack(m.n) {
			w.fail(12, "%s: acknowledgement of %d refused, the client was given it; written %d", s.name, m.n, s.q.Written())
		}
	case upResume:
		if s.q.Owns(&c.cursor) {
			s.q.Resume(&c.cursor, m.n)
		}
	}
}

func (c *conn) attach(m upMsg) {
	w, fresh := c.client.w, c.sess
	old := w.strings[m.name]
	if old != nil && !old.ended {
		st := w.peeker.At(&old.q).State()
		want := st.Lost <= m.n && m.n <= st.Written && !st.Broken
		last := old.conn
		told := message(&control.Session{Session: old.name, Recovered: true, NextSeq: int64(m.n) + 1})
		if got := old.q.Kept(m.n); got != want {
			w.fail(6, "%s: kept(%d) is %v: lost %d written %d", old.name, m.n, got, st.Lost, st.Written)
		}
		if want {
			if m.n > old.handed() {
				w.fail(5, "%s recovers from %d, more than was ever written (%d)", old.name, m.n, old.handed())
			}
			fresh.q.Leave(&c.cursor)
			fresh.end()
			c.cursor.Ahead(session.Plain, told)
			if !old.q.Recover(&c.cursor, m.n, w.trailers, true) {
				w.fail(5, "%s: recover from %d refused although kept", old.name, m.n)
			}
			c.sess, old.conn, old.owner = old, c, c.client
			if last != nil && last != c {
				last.cursor.CloseNow(ws.AppendClose(nil, 1000, "replaced by newer session"))
			}
			return
		}
		if last != nil {
			last.cursor.CloseNow(ws.AppendClose(nil, 1000, "replaced by newer session"))
		}
		old.end()
	}
	first := uint64(1 + 100*(len(w.sessions)%3))
	c.cursor.Ahead(session.Plain, message(&control.Session{Session: fresh.name, NextSeq: int64(first)}))
	fresh.admit(first, w.trailers, true)
	w.strings[fresh.name] = fresh
}

// handed returns the highest number that a socket may have: written, or in a
// write under way.
func (s *sess) handed() uint64 { return max(s.tapped, s.q.Written()) }

func (c *conn) hello(n uint64) {
	w, fresh := c.client.w, c.sess
	old := w.pinned[c.client.id]
	if old != nil && !old.ended {
		last := old.conn
		if last != nil {
			last.cursor.CloseNow(ws.AppendClose(nil, 1000, "replaced by newer session"))
		}
		if n > 0 && old.q.Whole(n) {
			fresh.q.Leave(&c.cursor)
			fresh.end()
			from := uint64(0)
			if !old.q.Recover(&c.cursor, n, false, false) {
				w.fail(5, "%s: recover from %d refused although whole", old.name, n)
			}
			if n < old.q.Written() {
				from = n + 1
			}
			c.cursor.Ahead(session.Plain, w.limits.Resumed(true, from))
			c.sess, old.conn = old, c
			return
		}
		old.end()
	}
	if n > 0 {
		c.cursor.Ahead(session.Plain, w.limits.Resumed(false, 0))
	}
	fresh.admit(n+1, false, false)
	w.pinned[c.client.id] = fresh
}

func (s *sess) admit(next uint64, trailers, gaps bool) {
	s.q.Admit(next, trailers, gaps)
	s.first = next
}

// end ends a session; its socket keeps what it has begun.
func (s *sess) end() {
	if s.ended {
		return
	}
	s.ended = true
	delete(s.w.strings, s.name)
	if s.w.pinned[s.owner.id] == s {
		delete(s.w.pinned, s.owner.id)
	}
	s.q.End()
	s.conn = nil
}

// lose is what the server does when it notices that a socket is gone.
func (c *conn) lose() {
	if c.serverGone {
		return
	}
	c.serverGone = true
	s := c.sess
	if s.conn == c {
		s.q.Detach(&c.cursor)
		s.conn = nil
		if !s.q.Admitted() || s.q.Broken() {
			s.end()
		}
	}
	c.out = nil
}

// only runs fn for a socket that was replaced, and checks that the session does
// not notice.
func (c *conn) only(fn func()) {
	s := c.sess
	if s.q.Owns(&c.cursor) {
		fn()
		return
	}
	before := s.w.peeker.At(&s.q).State()
	fn()
	if after := s.w.peeker.At(&s.q).State(); after != before {
		s.w.fail(11, "socket %d, replaced, changed %s from %+v to %+v", c.id, s.name, before, after)
	}
}

func (c *conn) fill(size int) {
	if c.serverGone || c.out != nil {
		return
	}
	c.only(func() {
		if c.out = c.sess.q.Fill(&c.cursor, make([]byte, 0, size)); c.out != nil {
			c.out = append(c.out, c.cursor.Shared()...)
		}
		c.outStep = c.sess.w.step
	})
}

// wrote lets the socket take n bytes of what is under way, at most what it has
// room for.
func (c *conn) wrote(n int) {
	if c.serverGone || c.out == nil {
		return
	}
	n = max(0, min(n, len(c.out), c.sess.w.room-len(c.down)))
	b := c.out
	c.out = nil
	c.only(func() { c.sess.q.Wrote(&c.cursor, n, len(b)) })
	c.down = append(c.down, b[:n]...)
	list, err := c.tap.Feed(b[:n], c.outStep)
	if err != nil {
		c.sess.w.fail(12, "socket %d: %v", c.id, err)
	}
	for i := range list {
		c.tapped(&list[i])
	}
	if c.cursor.Closed() {
		c.lose()
	}
}

func (c *conn) flush() {
	for range 100 {
		c.fill(300)
		if c.out == nil {
			return
		}
		all := len(c.out)
		before := len(c.down)
		c.wrote(all)
		if len(c.down)-before < all {
			return
		}
	}
}
