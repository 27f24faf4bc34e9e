package server_test

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/wire"
	"github.com/ignex/nova/wire/control"
)

// mutants writes frames that are nearly right: valid frames of every event of the
// protocol and of the schema, damaged in places.
type mutants struct {
	*rand.Rand
	frames   [][]byte // as they are right
	numbered bool     // the connection has session/1
	torn     bool     // bytes of the WebSocket were damaged: the rest may be one message
	seq      uint64   // of the last frame that had the right number
}

// newMutants makes a few valid frames of each event.
func newMutants(t testing.TB, seed uint64) *mutants {
	m := &mutants{Rand: rand.New(rand.NewPCG(seed, 1))}
	for _, l := range []*wire.Layout{control.Layout, market.Schema.Layout()} {
		for i := range l.Events {
			for range 3 {
				frame, err := l.AppendFrameJSON(nil, &l.Events[i], []byte(m.json(l, l.Events[i].Table, 0)))
				if err != nil {
					t.Fatalf("%s: %v", l.Events[i].Name, err)
				}
				m.frames = append(m.frames, frame)
			}
		}
	}
	return m
}

// json is a value of a table, of small numbers and of names that mean something.
func (m *mutants) json(l *wire.Layout, table, depth int) string {
	var members []string
	for i := range l.Tables[table].Fields {
		f := &l.Tables[table].Fields[i]
		n := 1
		if f.Vector {
			n = m.IntN(4)
		}
		var list []string
		for range n {
			list = append(list, m.value(l, f, depth))
		}
		value := strings.Join(list, ",")
		if f.Vector {
			value = "[" + value + "]"
		}
		members = append(members, fmt.Sprintf("%q:%s", f.JSON, value))
	}
	return "{" + strings.Join(members, ",") + "}"
}

func (m *mutants) value(l *wire.Layout, f *wire.Field, depth int) string {
	switch f.Kind {
	case wire.Bool:
		return fmt.Sprint(m.IntN(2) == 0)
	case wire.Int64:
		switch f.JSON { // which would end the connection
		case "version":
			return "2"
		case "seq":
			return "0"
		}
		n := []int64{0, 1, 2, -1, 7, 1 << 40}[m.IntN(6)]
		if f.BigInt {
			return fmt.Sprintf(`"%d"`, n)
		}
		return fmt.Sprint(n)
	case wire.Float64:
		return fmt.Sprint(m.Float64())
	case wire.Enum:
		e := l.Enums[f.Ref]
		return fmt.Sprintf("%q", e.Values[m.IntN(len(e.Values))].Literal)
	case wire.Bytes:
		return fmt.Sprintf("%q", base64.StdEncoding.EncodeToString([]byte("bytes")))
	case wire.Struct:
		return m.json(l, f.Ref, depth+1)
	}
	return fmt.Sprintf("%q", []string{"t", "t2", "secret", "quote", "topics/1", "session/1", "", "x.y"}[m.IntN(8)])
}

// next appends one message: a frame, mostly damaged, mostly in order.
func (m *mutants) next(block []byte) []byte {
	frame := append([]byte(nil), m.frames[m.IntN(len(m.frames))]...)
	damages := max(0, m.IntN(5)-1)
	head, _, _ := wire.ParseFrame(frame)
	if m.numbered && control.Layout.EventByID(head.ID) == nil {
		damages = max(0, damages-2) // a number that does not follow ends the connection
		m.seq++
		wire.Stamp(frame, m.seq)
	} else if m.IntN(200) == 0 {
		wire.Stamp(frame, m.Uint64N(m.seq+2))
	}
	for range damages {
		frame = m.damage(frame)
	}
	op := ws.Binary
	if m.IntN(2000) == 0 {
		op = []ws.Opcode{ws.Text, ws.Ping, ws.Pong, ws.Close, ws.Continuation}[m.IntN(5)]
		frame = frame[:min(len(frame), 100)]
	}
	begin := len(block)
	block = ws.AppendMasked(block, op, frame, [4]byte{byte(m.Uint32()), 2, 3, 4})
	if m.IntN(3000) == 0 {
		block[begin+m.IntN(len(block)-begin)]++
		m.torn = true
	}
	return block
}

// damage changes one thing.
func (m *mutants) damage(b []byte) []byte {
	if len(b) == 0 {
		return b
	}
	at := m.IntN(len(b))
	switch m.IntN(8) {
	case 0:
		b[at] ^= 1 << m.IntN(8)
	case 1:
		b[at] = byte(m.Uint32())
	case 2: // a length or an offset at its bounds
		if at+4 <= len(b) {
			binary.LittleEndian.PutUint32(b[at:], []uint32{0, 1, 0x7fffffff, 0x80000000, 0xffffffff, uint32(len(b))}[m.IntN(6)])
		}
	case 3:
		return b[:at]
	case 4:
		return append(b[:at:at], append([]byte{byte(m.Uint32())}, b[at:]...)...)
	case 5: // a piece of another
		other := m.frames[m.IntN(len(m.frames))]
		from := m.IntN(len(other))
		copy(b[at:], other[from:])
	case 6: // the size prefix says so again
		if len(b) >= wire.HeaderLen+4 {
			binary.LittleEndian.PutUint32(b[wire.HeaderLen:], uint32(len(b)-wire.HeaderLen-4))
		}
	case 7:
		b[min(at, 13)] = byte(m.Uint32())
	}
	return b
}
