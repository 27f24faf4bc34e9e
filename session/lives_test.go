package session

import (
	"bytes"
	"encoding/binary"
	"math/rand"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/wire"
)

// lives drives one queue over many sockets, as a client with declared gaps sees
// it. What a frame holds and whom it is for is noted when it is numbered; the
// client checks everything it gets against that.
type lives struct {
	t      *testing.T
	r      *rand.Rand
	q      Queue
	c      *Cursor
	held   atomic.Int64
	log    map[uint64]*sent
	out    []byte // under way
	parser ws.Parser
	last   uint64 // of the client
	joined int    // frames that came behind another in their message
	newest map[value]uint64
}

type sent struct {
	frame Frame
	fate  string
}

var testDeflater, _ = ws.NewDeflater(1)

// gapEvent marks declarations in the test's own encoding.
const gapEvent = 0xffffffff

func testGap(dst []byte, from, to uint64, reason Reason) []byte {
	frame := wire.AppendHeader(nil, gapEvent)
	frame = binary.LittleEndian.AppendUint32(frame, 24)
	for _, v := range []uint64{from, to, uint64(reason)} {
		frame = binary.LittleEndian.AppendUint64(frame, v)
	}
	return ws.AppendFrame(dst, ws.Binary, frame)
}

func testKey(f *Frame) string {
	if key := f.Wire()[18]; key > 0 {
		return string(rune(key))
	}
	return ""
}

var testEvents = []*wire.Event{
	{}, {Delivery: wire.DeliverMust}, {Delivery: wire.DeliverDrop}, {Delivery: wire.DeliverLatest, Key: "k"}, {Delivery: wire.DeliverLatest},
}

func (l *lives) frame(own bool) Frame {
	size := 1 + l.r.Intn(40)
	if l.r.Intn(25) == 0 {
		size = 300
	}
	frame := binary.LittleEndian.AppendUint32(wire.AppendHeader(nil, l.r.Uint32()>>1), uint32(size))
	frame = append(frame, byte(l.r.Intn(4)))
	kinds := 1 + l.r.Intn(256)
	for range size - 1 {
		frame = append(frame, byte(l.r.Intn(kinds)))
	}
	event := testEvents[l.r.Intn(len(testEvents))]
	if own {
		event = nil
	}
	f := NewFrame(event, frame)
	f.Target = uint64(1 + l.r.Intn(3))
	if l.r.Intn(2) == 0 {
		f.Pack(testDeflater)
	}
	return f
}

func (l *lives) append() {
	own := l.r.Intn(6) == 0
	frames := make([]Frame, 1+l.r.Intn(8))
	for i := range frames {
		frames[i] = l.frame(own)
	}
	next, was := l.q.next, l.q.broken
	l.q.Append(NewBatch(frames), 0, len(frames))
	if was {
		return
	}
	for i := range frames {
		l.log[next+uint64(i)] = &sent{frame: frames[i]}
		if f := &frames[i]; f.class() == wire.DeliverLatest && testKey(f) != "" {
			l.newest[value{f.Target, testKey(f)}] = next + uint64(i)
		}
	}
}

// Message implements ws.Handler: what the client gets.
func (l *lives) Message(_ ws.Opcode, data []byte) error {
	frame, rest := wire.Split(data)
	if len(rest) > 0 && (!l.c.Batch || len(data) > l.q.limits.JoinSize) {
		l.t.Fatalf("a joined message of %d bytes", len(data))
	}
	if l.frameIn(frame); len(rest) > 0 {
		l.joined++
		return l.Message(ws.Binary, rest)
	}
	return nil
}

// frameIn takes one frame.
func (l *lives) frameIn(data []byte) {
	head, payload, err := wire.ParseFrame(data)
	if err != nil {
		l.t.Fatal(err)
	}
	if head.ID == gapEvent {
		from, to := binary.LittleEndian.Uint64(payload[4:]), binary.LittleEndian.Uint64(payload[12:])
		reason := Reason(binary.LittleEndian.Uint64(payload[20:]))
		if from != l.last+1 || to < from {
			l.t.Fatalf("gap %d..%d after %d", from, to, l.last)
		}
		for n := from; n <= to; n++ {
			l.gap(n, reason)
		}
		l.last = to
		return
	}
	s := l.log[head.Seq]
	if head.Seq != l.last+1 || s == nil || s.fate != "" {
		l.t.Fatalf("number %d after %d (%+v)", head.Seq, l.last, s)
	}
	if !bytes.Equal(payload, s.frame.Wire()[wire.HeaderLen:]) {
		l.t.Fatalf("number %d is another frame", head.Seq)
	}
	l.last, s.fate = head.Seq, "delivered"
}

func (l *lives) gap(n uint64, reason Reason) {
	s := l.log[n]
	if s.fate != "" {
		l.t.Fatalf("number %d is declared lost and was %s", n, s.fate)
	}
	s.fate = "declared"
	class := s.frame.class()
	switch {
	case reason == Superseded:
		if newer := l.newest[value{s.frame.Target, testKey(&s.frame)}]; class != wire.DeliverLatest || newer <= n {
			l.t.Fatalf("number %d is declared superseded, class %d, newest %d", n, class, newer)
		}
	case s.frame.Event == nil, class == wire.DeliverMust && reason != Withdrawn:
		l.t.Fatalf("number %d may not be lost (reason %d)", n, reason)
	case reason == ByPolicy || reason == Withdrawn:
	default:
		l.t.Fatalf("reason %d", reason)
	}
}

func (l *lives) Control(ws.Opcode, []byte) error { return nil }

// receive gives the client bytes; it keeps what is whole.
func (l *lives) receive(b []byte) {
	if err := l.parser.Feed(bytes.Clone(b), l); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lives) write() {
	if l.out == nil {
		if l.out = l.q.Fill(l.c, make([]byte, 0, 1+l.r.Intn(900))); l.out == nil {
			return
		}
	}
	if l.r.Intn(3) == 0 {
		return // under way for a while
	}
	n := len(l.out)
	if l.r.Intn(3) == 0 {
		n = l.r.Intn(n + 1)
	}
	l.receive(l.out[:n])
	l.q.Wrote(l.c, n, len(l.out))
	l.out = nil
}

// cursor is that of a new socket.
func (l *lives) cursor() *Cursor {
	l.parser = ws.NewParser(false, 0)
	l.parser.AllowCompressed()
	return &Cursor{Batch: l.r.Intn(3) > 0, Deflate: l.r.Intn(2) > 0}
}

// reconnect cuts the socket, with a prefix of what is under way received, and
// comes back. false: the session cannot go on.
func (l *lives) reconnect() bool {
	if l.out != nil {
		l.receive(l.out[:l.r.Intn(len(l.out)+1)])
	}
	old, under := l.c, l.out
	l.c, l.out = l.cursor(), nil
	if l.r.Intn(2) == 0 {
		l.q.Detach(old)
		for range l.r.Intn(4) {
			l.append()
		}
	}
	ok := l.q.Recover(l.c, l.last, false, true)
	if want := !l.q.broken && l.q.lost <= l.last && l.last <= l.q.written; ok != want {
		l.t.Fatalf("recovered %v from %d: lost %d, written %d", ok, l.last, l.q.lost, l.q.written)
	}
	l.q.Detach(old)
	l.late(old, under)
	return ok
}

// late lets the replaced socket write what it has begun, then its close frame: a
// whole one at the end, and nothing of it touches the session.
func (l *lives) late(old *Cursor, under []byte) {
	before := l.q.Stats()
	old.CloseNow(ws.AppendClose(nil, 1000, "replaced"))
	var all []byte
	if under != nil {
		n := l.r.Intn(len(under) + 1)
		all = append(all, under[:n]...)
		l.q.Wrote(old, n, len(under))
	}
	for b := l.q.Fill(old, make([]byte, 0, 50)); b != nil; b = l.q.Fill(old, make([]byte, 0, 50)) {
		all = append(all, b...)
		l.q.Wrote(old, len(b), len(b))
	}
	if !old.Closed() || !bytes.HasSuffix(all, ws.AppendClose(nil, 1000, "replaced")) {
		l.t.Fatalf("the replaced socket did not say so: %x", all)
	}
	if l.q.Stats() != before {
		l.t.Fatal("a replaced socket changed the session")
	}
}

func (l *lives) check() {
	s := l.q.Stats()
	if sum := s.Written + s.Superseded + s.Dropped + s.Withdrawn + s.Discarded + s.HandedOver + s.Unsent; s.Numbered != sum {
		l.t.Fatalf("%+v: the sum is %d", s, sum)
	}
	frames, kept := 0, 0
	num := l.q.lost + 1
	for i := range l.q.ring.n {
		r := l.q.ring.at(i)
		if r.num != num {
			l.t.Fatalf("run %d begins at %d, want %d", i, r.num, num)
		}
		if r.batch != nil {
			frames += int(r.count)
			for k := range int(r.count) {
				if r.num+uint64(k) <= l.q.written {
					kept += r.bytes(k, 1)
				}
			}
		}
		num = r.end()
	}
	if num != l.q.next || kept != l.q.keptBytes || l.q.ring.n > 2*frames+4 && l.q.ring.n > 8 {
		l.t.Fatalf("ring ends at %d (%d), kept %d (%d), %d runs of %d frames", num, l.q.next, kept, l.q.keptBytes, l.q.ring.n, frames)
	}
	if l.q.over() || l.q.lost > l.q.written || l.q.written >= l.q.next {
		l.t.Fatalf("over %v, lost %d, written %d, next %d", l.q.over(), l.q.lost, l.q.written, l.q.next)
	}
}

// drain writes until there is nothing left.
func (l *lives) drain() {
	for range 10_000 {
		if l.out == nil && l.q.Fill(l.c, make([]byte, 0, 500)) == nil {
			break
		} else if l.out == nil {
			l.q.Wrote(l.c, 0, 1) // took nothing: the same again
		}
		l.write()
	}
	if l.last != l.q.end()-1 {
		l.t.Fatalf("drained up to %d of %d", l.last, l.q.end()-1)
	}
}

func TestLives(t *testing.T) {
	first := seed(t)
	for i := range int64(1500) {
		if !t.Run(strconv.FormatInt(first+i, 10), func(t *testing.T) { live(t, first+i) }) {
			return
		}
	}
}

func live(t *testing.T, seed int64) {
	l := &lives{t: t, r: rand.New(rand.NewSource(seed)), log: map[uint64]*sent{}, newest: map[value]uint64{}}
	l.c = l.cursor()
	limits := &Limits{
		Policy: Policy(l.r.Intn(3)), UnsentFrames: 10 + l.r.Intn(60), UnsentBytes: 1500 + l.r.Intn(4000),
		KeepFrames: l.r.Intn(80), KeepBytes: l.r.Intn(4000), Numbered: true,
		Resumed: func(bool, uint64) []byte { return nil }, Gap: testGap, Key: testKey, Held: &l.held,
		GapSize: len(testGap(nil, 0, 0, 0)), JoinSize: 50 + l.r.Intn(400),
	}
	l.q.Init(limits)
	l.q.Attach(l.c)
	l.q.Admit(1, false, true)
	for range 300 {
		switch op := l.r.Intn(20); {
		case op < 7:
			l.append()
		case op < 15:
			l.write()
		case op == 15:
			l.q.Conflate()
		case op == 16 && l.r.Intn(4) == 0:
			l.withdraw(uint64(1 + l.r.Intn(3)))
		case op == 17:
			if n := l.r.Int63n(int64(l.last) + 1); !l.q.Ack(uint64(n)) {
				t.Fatalf("acknowledged %d, written %d", n, l.q.written)
			}
		case op == 18:
			if !l.reconnect() {
				l.finish()
				return
			}
		}
		l.check()
	}
	l.drain()
	l.finish()
}

// finish ends the session: nothing is held and all is accounted for.
func (l *lives) finish() {
	l.q.End()
	l.check()
	if l.held.Load() != 0 || l.q.Stats().Unsent != 0 {
		l.t.Fatalf("%d bytes held, %+v", l.held.Load(), l.q.Stats())
	}
}
