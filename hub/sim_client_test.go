package hub_test

import (
	"maps"
	"net/url"
	"slices"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/session"
	"github.com/ignex/nova/session/sim"
	"github.com/ignex/nova/wire"
	"github.com/ignex/nova/wire/control"
)

// simClient is one client, ours or of the base protocol, with its own ledger.
type simClient struct {
	w     *simWorld
	id    int
	base  bool
	thief bool // began with the session string of another
	dead  bool // told not to come back
	query url.Values
	sock  *simSock

	name  string // session string
	gate  session.SessionGate
	old   session.BaseGate
	hello bool
	next  uint64       // ledger: all below were delivered or declared
	got   []simAddress // delivered in this life
	seen  map[simAddress]int
	life  *hub.Session // whose numbers follow
	// reasons of the numbers declared missing in this life
	reasons map[uint64]session.Reason
	asked   int  // resumes
	shared  bool // another party has its session string
	subs    map[string]*simSub
	// untold are its subscriptions of the life before that this one has not told
	// of yet: they stay in its cursors.
	untold  map[string]*simSub
	left    map[string]bool // topics it left by itself once
	unsure  map[string]bool // topics and groups it left by a frame of its own
	skipped int             // frames of no subscription
	sentID  int64
	sent    []int64 // in this life, by number
	acked   uint64
}

// simSub is a subscription as the stream told it.
type simSub struct {
	epoch    string
	from     uint64 // as it was told
	position uint64
	given    [][2]uint64 // offsets that were declared missing
}

func (cl *simClient) dial() {
	if cl.sock != nil {
		cl.sock.lost = true
	}
	cl.sock = cl.w.dial(cl, cl.query)
	cl.hello = false
	if cl.base {
		cl.old.Close()
		cl.old.MaxFrames, cl.old.MaxBytes = 8, 4000
		cl.old.Open()
		cl.send(&control.Hello{Version: 2, LastSeq: int64(cl.old.Last())})
		return
	}
	cl.gate.Open()
	caps := []string{"session/1", "topics/1"}
	if cl.id%2 == 1 {
		caps = append(caps, "batch/1")
	}
	cl.send(&control.Hello{Version: 2, Caps: caps})
}

type simControl interface {
	AppendFrame(dst []byte) ([]byte, error)
}

func (cl *simClient) send(m simControl) {
	frame, err := m.AppendFrame(nil)
	if err != nil {
		panic(err)
	}
	cl.sendFrame(frame)
}

func (cl *simClient) sendFrame(frame []byte) {
	k := cl.sock
	if k == nil || k.lost {
		return
	}
	k.change(func() { k.up = ws.AppendMasked(k.up, ws.Binary, frame, [4]byte{1, 2, 3, 4}) })
}

// cursors returns where the client stands in its topics.
func (cl *simClient) cursors() (list []control.Cursor) {
	for _, name := range simTopics {
		s := cl.subs[name]
		if s == nil {
			s = cl.untold[name]
		}
		if s != nil {
			list = append(list, control.Cursor{Topic: name, Epoch: s.epoch, Offset: int64(s.position)})
		}
	}
	return list
}

// up sends an application frame; it is repeated until the server has it.
func (cl *simClient) up() {
	cl.sentID++
	id := int64(cl.id)*1_000_000 + cl.sentID
	if cl.base {
		cl.sendFrame(simFrame("up", int(id), "k"))
		return
	}
	if !cl.gate.Attached() || cl.shared {
		return
	}
	cl.sent = append(cl.sent, id)
	cl.sendUp(uint64(len(cl.sent)))
}

func (cl *simClient) sendUp(n uint64) {
	frame := simFrame("up", int(cl.sent[n-1]), "k")
	wire.Stamp(frame, n)
	cl.sendFrame(frame)
}

// readSome takes bytes off the wire.
func (k *simSock) readSome(n int) {
	if k.lost || k.hole[0] {
		return
	}
	list, err := k.read.feed(k.take(n), 0)
	if err != nil {
		k.client.w.fail(12, "socket %d: the client reads %v", k.id, err)
	}
	for i := range list {
		if k.lost {
			return
		}
		k.client.take(k, &list[i])
	}
}

// hangUp is the client noticing that the socket is gone.
func (k *simSock) hangUp() {
	k.lost = true
	if k.client.sock == k {
		k.client.sock = nil
	}
}

func (cl *simClient) take(k *simSock, m *sim.Message) {
	switch {
	case m.Op == byte(ws.Close):
		code, _, _ := ws.ParseClose(m.Payload)
		if reason := string(m.Payload[2:]); code == 1002 && reason != "no hello" && reason != "no attach" {
			cl.w.fail(20, "client %d is closed for %q", cl.id, m.Payload[2:])
		}
		cl.dead = cl.dead || code == 1000
		if code == 1008 || code == 1000 {
			cl.forget()
		}
		k.hangUp()
		k.change(func() { k.eof = true })
	case m.Op == byte(ws.Ping):
		k.change(func() { k.up = ws.AppendMasked(k.up, ws.Pong, m.Payload, [4]byte{4, 3, 2, 1}) })
	case m.Op != byte(ws.Binary):
	case m.Head.Seq > 0 && cl.base:
		cl.takeBase(m)
	case m.Head.Seq > 0:
		if v := cl.gate.Push(m.Head.Seq); v != session.Deliver {
			cl.w.fail(3, "client %d: number %d after %d: %v", cl.id, m.Head.Seq, cl.gate.Last(), v)
			return
		}
		cl.numbered(m)
	default:
		cl.control(k, m)
	}
}

func (cl *simClient) forget() {
	if !cl.base {
		cl.name, cl.sent, cl.acked = "", nil, 0
	}
}

func (cl *simClient) control(k *simSock, m *sim.Message) {
	switch m.Head.ID {
	case control.HelloID:
		if !cl.base && !cl.hello {
			cl.hello = true
			cl.send(&control.Attach{Session: cl.name, LastSeq: int64(cl.gate.Last()), Topics: cl.cursors()})
		}
	case control.SessionID:
		cl.attached(k, m)
	case control.GapID:
		var v control.Gap
		v.UnmarshalNova(m.Body)
		first, verdict := cl.gate.Gap(uint64(v.From), uint64(v.To))
		if verdict != session.Deliver || first != cl.next {
			cl.w.fail(3, "client %d: gap %d..%d, the ledger is at %d: %v", cl.id, v.From, v.To, cl.next, verdict)
		}
		cl.missing(first, uint64(v.To), session.Reason(v.Reason))
		cl.next = uint64(v.To) + 1
	case control.AckID:
		var v control.Ack
		v.UnmarshalNova(m.Body)
		if uint64(v.Seq) > uint64(len(cl.sent)) && !cl.shared {
			cl.w.fail(12, "client %d: %d acknowledged, %d sent", cl.id, v.Seq, len(cl.sent))
		}
		cl.acked = max(cl.acked, uint64(v.Seq))
	case control.ResumedID:
		var v control.Resumed
		v.UnmarshalNova(m.Body)
		if cl.old.Resumed(v.Ok, uint64(v.From)) {
			cl.letGo()
		}
	}
}

func (cl *simClient) attached(k *simSock, m *sim.Message) {
	var v control.Session
	v.UnmarshalNova(m.Body)
	if v.Recovered && cl.life != nil && k.life != nil && cl.life != k.life {
		cl.w.fail(5, "client %d: recovered, in the session of another life", cl.id)
	}
	if !cl.gate.Attach(v.Recovered, uint64(v.NextSeq)) {
		cl.w.fail(5, "client %d: recovered %v next %d, has %d", cl.id, v.Recovered, v.NextSeq, cl.gate.Last())
	}
	if v.Recovered != (v.Session == cl.name && cl.name != "") {
		cl.w.fail(5, "client %d: recovered %v, session %q was %q", cl.id, v.Recovered, v.Session, cl.name)
	}
	if !v.Recovered {
		cl.life = k.life
		if cl.untold == nil {
			cl.untold = map[string]*simSub{}
		}
		maps.Copy(cl.untold, cl.subs)
		cl.name, cl.next, cl.got, cl.subs = v.Session, uint64(v.NextSeq), nil, map[string]*simSub{}
		for topic := range cl.unsure { // what crossed its leave may come again
			cl.forgetTopic(topic)
		}
		cl.left, cl.unsure, cl.skipped = map[string]bool{}, map[string]bool{}, 0
		cl.reasons, cl.sent, cl.acked, cl.shared = map[uint64]session.Reason{}, nil, 0, false
		return
	}
	if cl.shared {
		cl.sent = nil // the other party's frames are numbered too
		return
	}
	if uint64(v.Received) > uint64(len(cl.sent)) || uint64(v.Received) < cl.acked {
		cl.w.fail(18, "client %d: received %d of %d, acknowledged %d", cl.id, v.Received, len(cl.sent), cl.acked)
		return
	}
	first := uint64(v.Received) + 1
	if cl.id%2 == 0 {
		first = cl.acked + 1 // more than the server asks for
	}
	for n := first; n <= uint64(len(cl.sent)); n++ {
		cl.sendUp(n)
	}
}

// numbered is the next frame of the stream, delivered.
func (cl *simClient) numbered(m *sim.Message) {
	w := cl.w
	if m.Head.Seq != cl.next {
		w.fail(3, "client %d: number %d, the ledger is at %d", cl.id, m.Head.Seq, cl.next)
	}
	cl.next = m.Head.Seq + 1
	switch m.Head.ID {
	case control.TopicSubscribedID:
		var v control.TopicSubscribed
		v.UnmarshalNova(m.Body)
		delete(cl.untold, v.Topic)
		if was := cl.subs[v.Topic]; was != nil && was.epoch == v.Epoch && uint64(v.Offset) < was.position && v.Replayed == 0 {
			return // present state, older than what was delivered since
		}
		cl.subs[v.Topic] = &simSub{epoch: v.Epoch, from: uint64(v.Offset), position: uint64(v.Offset)}
		return
	case control.GapID:
		var v control.Gap
		v.UnmarshalNova(m.Body)
		s := cl.subs[v.Topic]
		switch {
		case s != nil && uint64(v.To) > s.position && v.From <= v.To:
			s.given, s.position = append(s.given, [2]uint64{uint64(v.From), uint64(v.To)}), uint64(v.To)
		case !cl.left[v.Topic]:
			w.fail(13, "client %d: gap %d..%d of %s, it is at %+v", cl.id, v.From, v.To, v.Topic, s)
		}
		return
	case control.TopicRejectedID:
		var v control.TopicRejected
		v.UnmarshalNova(m.Body)
		delete(cl.untold, v.Topic)
		return
	case control.TopicUnsubscribedID:
		var v control.TopicUnsubscribed
		v.UnmarshalNova(m.Body)
		cl.leave(v.Topic)
		return
	}
	id := simEmitID(m.Head.ID, m.Body)
	if id < 0 || m.Ref != 0 && !cl.moves(m) {
		return
	}
	topic := w.names[m.Ref]
	if t := w.emits[id].target; m.Ref == 0 && t.Kind == nova.ToTopic {
		topic = t.Name
	}
	cl.handler(simAddress{id, topic}, m.Head.Seq)
}

// leave forgets a topic: who joins it again may get its history again.
func (cl *simClient) leave(topic string) {
	delete(cl.subs, topic)
	delete(cl.untold, topic)
	cl.left[topic] = true
	cl.forgetTopic(topic)
}

func (cl *simClient) forgetTopic(topic string) {
	for a := range cl.seen {
		if a.topic == topic {
			delete(cl.seen, a)
		}
	}
}

// moves reports whether a topic's frame is ahead of the client's position.
func (cl *simClient) moves(m *sim.Message) bool {
	name := cl.w.names[m.Ref]
	s := cl.subs[name]
	switch {
	case s != nil && hub.SimRef(s.epoch, name) == m.Ref && m.Offset > s.position:
		s.position = m.Offset
		return true
	case cl.left[name]:
	case s != nil && hub.SimRef(s.epoch, name) == m.Ref:
		cl.w.fail(2, "client %d: offset %d of %s, it is at %d", cl.id, m.Offset, name, s.position)
	default:
		cl.w.fail(13, "client %d: offset %d of %s, whose epoch was not told", cl.id, m.Offset, name)
	}
	cl.skipped++
	return false
}

func (cl *simClient) handler(a simAddress, n uint64) {
	if cl.seen == nil {
		cl.seen = map[simAddress]int{}
	}
	if cl.seen[a]++; cl.seen[a] > cl.w.most(a) && !cl.quits(a.topic) {
		cl.w.fail(2, "client %d: emit %d (%+v) of topic %q a second time, as number %d", cl.id, a.emit, cl.w.emits[a.emit], a.topic, n)
	}
	cl.got = append(cl.got, a)
	if t := cl.w.emits[a.emit].target; cl.life != nil && t.Except == cl.life.ID() {
		cl.w.fail(9, "client %d: emit %d, which leaves it out", cl.id, a.emit)
	}
}

// quits reports whether the client, or another with its session, left a topic by
// a frame of its own.
func (cl *simClient) quits(topic string) bool {
	return cl.unsure[topic] || cl.life != nil && cl.w.log(cl.life).unsub[topic]
}

// missing notes what a gap declares, and whether it may.
func (cl *simClient) missing(from, to uint64, reason session.Reason) {
	w := cl.w
	for n := from; n <= to; n++ {
		cl.reasons[n] = reason
		if cl.life == nil || reason == session.Withdrawn {
			continue
		}
		if v, ok := w.log(cl.life).numbers[n]; ok && (v.emit < 0 || w.must(w.emits[v.emit])) {
			w.fail(8, "client %d: number %d, emit %d, must arrive, declared missing for reason %d", cl.id, n, v.emit, reason)
		}
	}
}

// twin is a second party with everything that the first has.
func (cl *simClient) twin(id int) *simClient {
	t := *cl
	t.id, t.sock, t.shared = id, nil, true
	cl.shared = true
	t.seen, t.reasons, t.left, t.unsure = maps.Clone(cl.seen), maps.Clone(cl.reasons), maps.Clone(cl.left), maps.Clone(cl.unsure)
	t.subs, t.untold, t.got = map[string]*simSub{}, maps.Clone(cl.untold), slices.Clone(cl.got)
	for name, s := range cl.subs {
		c := *s
		t.subs[name] = &c
	}
	t.sent, t.acked, t.query = nil, 0, maps.Clone(cl.query)
	return &t
}

// leaves notes that the client leaves by a frame of its own, which has no answer.
func (cl *simClient) leaves(name string) {
	if cl.base {
		if k := cl.sock; k != nil && k.life != nil {
			cl.w.log(k.life).unsub[name] = true
		}
		return
	}
	cl.unsure[name] = true
	if cl.life != nil {
		cl.w.log(cl.life).unsub[name] = true
	}
}
