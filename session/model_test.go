package session

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/wire"
)

// model is the queue again, slow and obvious: one entry per number, whole
// messages, no runs. The random test below compares the two byte by byte.
type model struct {
	limits   *Limits
	trailers bool
	admitted bool
	broken   bool
	stop     uint64 // broken: what is not written begins here
	next     uint64
	lost     uint64
	written  uint64
	frames   map[uint64]*modelFrame // all numbers above lost; nil = dropped
	dropped  map[uint64]bool        // all that ever were
	pos      modelPlace
	flight   *modelPlace    // where pos will be when the write under way is done
	late     []modelMessage // ahead, queued during the flight
	waiting  []uint64
	rewind   uint64
}

type modelFrame struct {
	message []byte // as written
	size    int
}

type modelMessage struct {
	at   uint64
	data []byte
	kind Kind
}

// modelPlace is what is left to write.
type modelPlace struct {
	next  uint64
	rest  []byte // of the message under way
	ring  bool   // it is a frame of the ring
	ahead []modelMessage
	order []modelMessage
}

func (p *modelPlace) clone() modelPlace {
	c := *p
	c.ahead, c.order = slices.Clone(p.ahead), slices.Clone(p.order)
	return c
}

// message makes the next message the one under way; false when there is none.
func (m *model) message(p *modelPlace) bool {
	if len(p.rest) > 0 {
		return true
	}
	if p.ring {
		p.next++
		p.ring = false
	}
	if m.rewind > 0 {
		return false
	}
	for m.admitted && p.next < m.end() && m.frames[p.next] == nil {
		if len(p.ahead) > 0 || len(p.order) > 0 && p.order[0].at <= p.next {
			break
		}
		p.next++
	}
	switch {
	case len(p.ahead) > 0:
		p.rest, p.ahead = p.ahead[0].data, p.ahead[1:]
	case len(p.order) > 0 && (!m.admitted || p.order[0].at <= p.next || p.next >= m.end()):
		p.rest, p.order = p.order[0].data, p.order[1:]
	case m.admitted && p.next < m.end():
		p.rest, p.ring = m.frames[p.next].message, true
	default:
		return false
	}
	return true
}

// take moves p by n bytes and returns them.
func (m *model) take(p *modelPlace, n int) (out []byte) {
	for n > 0 && m.message(p) {
		k := min(n, len(p.rest))
		out = append(out, p.rest[:k]...)
		p.rest = p.rest[k:]
		n -= k
	}
	if len(p.rest) == 0 && p.ring {
		p.next++
		p.ring = false
	}
	return out
}

// wrote takes n bytes. Whether holes behind them were passed too is the queue's
// business: written is what it says.
func (m *model) wrote(n int, written uint64) {
	m.take(&m.pos, n)
	m.flight = nil
	m.pos.ahead = append(m.pos.ahead, m.late...)
	m.late = nil
	for !m.pos.ring && m.pos.next <= written && m.pos.next < m.end() && m.frames[m.pos.next] == nil {
		m.pos.next++
	}
	m.settle()
}

// settle does what follows a write.
func (m *model) settle() {
	if !m.admitted {
		return
	}
	m.written = max(m.written, m.pos.next-1)
	if m.rewind > 0 && !m.pos.ring {
		m.pos.next, m.rewind = m.rewind, 0
	}
	for len(m.waiting) > 0 && m.rewind == 0 && m.pos.next > m.written {
		n := m.waiting[0]
		m.waiting = m.waiting[1:]
		m.answer(n)
	}
}

func (m *model) answer(n uint64) {
	ok := m.limits.Numbered && !m.broken && n >= m.lost && n <= m.written
	for k := range m.dropped {
		ok = ok && k <= n
	}
	from := uint64(0)
	if ok && n < m.written {
		from = n + 1
		if m.pos.ring {
			m.rewind = from
		} else {
			m.pos.next = from
		}
	}
	m.pos.ahead = append(m.pos.ahead, modelMessage{data: m.limits.Resumed(ok, from)})
}

func (m *model) resume(n uint64) {
	if m.flight != nil || m.rewind > 0 || m.pos.next <= m.written {
		m.waiting = append(m.waiting, n)
		return
	}
	m.answer(n)
}

func (m *model) end() uint64 {
	if m.broken {
		return m.stop
	}
	return m.next
}

func (m *model) unsent() (frames, size int) {
	for n := m.written + 1; n < m.next; n++ {
		if f := m.frames[n]; f != nil {
			frames++
			size += f.size
		}
	}
	return frames, size
}

func (m *model) over() bool {
	frames, size := m.unsent()
	return frames > m.limits.UnsentFrames || size > m.limits.UnsentBytes
}

func (m *model) drop(n uint64) {
	m.frames[n] = nil
	m.dropped[n] = true
}

func (m *model) free() uint64 {
	p := m.pos
	if m.flight != nil {
		p = *m.flight
	}
	n := p.next
	if p.ring {
		n++
	}
	return max(n, m.written+1)
}

func (m *model) append(frames []Frame) {
	if !m.admitted || m.broken {
		return
	}
	for i := range frames {
		number := m.next
		if !m.limits.Numbered {
			number = 0
		}
		m.frames[m.next] = &modelFrame{message: plainMessage(&frames[i], number, m.trailers), size: frames[i].Size()}
		m.next++
	}
	switch m.limits.Policy {
	case DropOldest:
		for n := m.free(); n < m.next && m.over(); n++ {
			if m.frames[n] != nil {
				m.drop(n)
			}
		}
	case DropNewest:
		for n := m.next - 1; n >= m.next-uint64(len(frames)) && m.over(); n-- {
			m.drop(n)
		}
	case Disconnect:
		if m.over() {
			m.broken, m.stop = true, m.free()
			for n := m.free(); n < m.next; n++ {
				if m.frames[n] != nil {
					m.drop(n)
				}
			}
		}
	}
}

// plainMessage writes a frame by the book (docs/protocol.md, "One frame").
func plainMessage(f *Frame, number uint64, trailers bool) []byte {
	frame := slices.Clone(f.Wire())
	if number > 0 {
		frame[5] |= 1
		binary.LittleEndian.PutUint64(frame[6:], number)
	}
	if trailers && f.Ref != 0 {
		frame[5] |= 2
		frame = binary.LittleEndian.AppendUint64(frame, f.Ref)
		frame = binary.LittleEndian.AppendUint64(frame, f.Offset)
	}
	return ws.AppendFrame(nil, ws.Binary, frame)
}

func randomFrame(r *rand.Rand) Frame {
	size := r.Intn(60)
	if r.Intn(20) == 0 {
		size = 500 + r.Intn(700)
	}
	frame := wire.AppendHeader(nil, r.Uint32())
	for range size + 8 {
		frame = append(frame, byte(r.Int()))
	}
	f := NewFrame(&wire.Event{}, frame)
	if r.Intn(2) == 0 {
		f.Ref, f.Offset = r.Uint64()|1, r.Uint64()
	}
	return f
}

// seed returns the seed of a random test: NOVA_SEED, else a new one.
func seed(t *testing.T) int64 {
	n := time.Now().UnixNano()
	if text := os.Getenv("NOVA_SEED"); text != "" {
		v, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Fatalf("NOVA_SEED: %v", err)
		}
		n = v
	}
	t.Logf("seed %d", n)
	return n
}

func TestQueueAgainstModel(t *testing.T) {
	first := seed(t)
	for i := range int64(600) {
		if !t.Run(strconv.FormatInt(first+i, 10), func(t *testing.T) { compareWithModel(t, first+i) }) {
			return
		}
	}
}

func compareWithModel(t *testing.T, seed int64) {
	r := rand.New(rand.NewSource(seed))
	limits := &Limits{
		Policy: Policy(r.Intn(3)), UnsentFrames: 1 + r.Intn(40), UnsentBytes: 200 + r.Intn(4000),
		KeepFrames: r.Intn(60), KeepBytes: r.Intn(4000), Numbered: r.Intn(8) > 0, ShareSize: r.Intn(200),
		Resumed: func(ok bool, from uint64) []byte { return fmt.Appendf(nil, "resumed %v %d", ok, from) },
	}
	if limits.Policy == Disconnect {
		limits.UnsentFrames, limits.UnsentBytes = 200, 20_000
	}
	var q Queue
	c := Cursor{Share: r.Intn(2) == 0}
	q.Init(limits)
	q.Attach(&c)
	m := &model{limits: limits, next: 1, frames: map[uint64]*modelFrame{}, dropped: map[uint64]bool{}, pos: modelPlace{next: 1}}
	var out []byte // under way
	for step := range 400 {
		switch op := r.Intn(10); {
		case op < 3:
			frames := make([]Frame, 1+r.Intn(12))
			for i := range frames {
				frames[i] = randomFrame(r)
			}
			skip := r.Intn(len(frames))
			batch := NewBatch(frames)
			if len(frames)%2 == 0 {
				batch.Lay()
			}
			before := len(m.dropped)
			dropped := q.Append(batch, skip, len(frames)-skip)
			m.append(frames[skip:])
			if dropped != len(m.dropped)-before {
				t.Fatalf("step %d: %d dropped, model %d", step, dropped, len(m.dropped)-before)
			}
		case op < 5 && out == nil:
			if out = q.Fill(&c, make([]byte, 0, 1+r.Intn(800))); out != nil {
				out = append(out, c.Shared()...)
			}
			p := m.pos.clone()
			want := m.take(&p, len(out))
			if !bytes.Equal(out, want) {
				t.Fatalf("step %d: wrote\n%x\nwant\n%x", step, out, want)
			}
			if out == nil {
				if p := m.pos.clone(); m.message(&p) {
					t.Fatalf("step %d: nothing written, the model has %x", step, p.rest)
				}
				m.passHoles()
				m.settle()
			} else {
				m.flight = &p
			}
		case op < 7 && out != nil:
			n := len(out)
			if r.Intn(3) == 0 {
				n = r.Intn(n + 1)
			}
			q.Wrote(&c, n, len(out))
			m.lost = q.lost // trimmed before what waits is answered
			m.wrote(n, q.written)
			out = nil
		case op == 7:
			kind, data := Kind(r.Intn(3)), fmt.Appendf(nil, "control %d", step)
			c.Ahead(kind, data)
			m.ahead(kind, data)
		case op == 8:
			data := fmt.Appendf(nil, "in order %d", step)
			q.InOrder(&c, Plain, data)
			m.pos.order = append(m.pos.order, modelMessage{at: m.next, data: data})
		case op == 9 && !m.admitted:
			next, trailers := uint64(1+r.Intn(3)*1000), r.Intn(2) == 0
			q.Admit(next, trailers, false)
			m.admitted, m.trailers = true, trailers
			m.next, m.written, m.lost, m.pos.next = next, next-1, next-1, next
			if m.flight != nil {
				m.flight.next = next
			}
		case op == 9 && len(m.waiting) < 100:
			n := uint64(max(0, int64(m.written)-int64(r.Intn(50))+3))
			q.Resume(&c, n)
			m.resume(n)
		}
		m.lost = q.lost // when history is trimmed is the queue's business, within its bounds
		check(t, step, &q, &c, m)
	}
}

// passHoles: a Fill that found only holes moved behind them.
func (m *model) passHoles() {
	for m.admitted && !m.pos.ring && m.rewind == 0 && m.pos.next < m.end() && m.frames[m.pos.next] == nil {
		m.pos.next++
	}
}

func (m *model) ahead(kind Kind, data []byte) {
	from, list := 0, &m.pos.ahead
	if m.flight != nil {
		from, list = len(m.pos.ahead)-len(m.flight.ahead), &m.late
	}
	if kind != Plain {
		for _, old := range [][]modelMessage{m.pos.ahead[from:], m.late} {
			for i := range old {
				if old[i].kind == kind {
					old[i].data = data
					return
				}
			}
		}
	}
	*list = append(*list, modelMessage{data: data, kind: kind})
}

// check holds the invariants of Queue against the model.
func check(t *testing.T, step int, q *Queue, c *Cursor, m *model) {
	t.Helper()
	if q.next != m.next || q.written != m.written {
		t.Fatalf("step %d: next %d written %d, model %d %d", step, q.next, q.written, m.next, m.written)
	}
	frames, size := m.unsent()
	if q.unsentFrames != frames || q.unsentBytes != size {
		t.Fatalf("step %d: unsent %d frames %d bytes, model %d %d", step, q.unsentFrames, q.unsentBytes, frames, size)
	}
	kept := 0
	for n := q.lost + 1; n <= q.written; n++ {
		if f := m.frames[n]; f != nil {
			kept += f.size
		}
	}
	if q.keptBytes != kept {
		t.Fatalf("step %d: kept %d bytes, model %d", step, q.keptBytes, kept)
	}
	if q.lost > q.written || q.lost >= c.at.next || c.rewind > 0 && q.lost >= c.rewind {
		t.Fatalf("step %d: lost %d, written %d, cursor %d, rewind %d", step, q.lost, q.written, c.at.next, c.rewind)
	}
	num := q.lost + 1
	for i := range q.ring.n {
		r := q.ring.at(i)
		if r.num != num || r.count == 0 {
			t.Fatalf("step %d: run %d is %+v, want number %d", step, i, *r, num)
		}
		for k := range uint64(r.count) {
			if (r.batch == nil) != (m.frames[num+k] == nil) {
				t.Fatalf("step %d: number %d: hole %v", step, num+k, r.batch == nil)
			}
		}
		num = r.end()
	}
	if num != q.next {
		t.Fatalf("step %d: the ring ends at %d, want %d", step, num, q.next)
	}
	limit := min(q.written, c.at.next-1)
	if c.rewind > 0 {
		limit = min(limit, c.rewind-1)
	}
	if (int(q.written-q.lost) > q.keepFrames || kept > q.limits.KeepBytes) && q.lost < limit {
		t.Fatalf("step %d: kept %d numbers, %d bytes, beyond the bounds", step, q.written-q.lost, kept)
	}
}
