package wire_test

import (
	"encoding/binary"
	"math"

	"github.com/ignex/nova/wire"
)

// node is a recursive table with every kind of field, and a codec for it in the
// shape that the generator writes. Fields by id: 0 name string, 1 kids [node],
// 2 next node (optional), 3 nums [double], 4 flags [bool], 5 names [string],
// 6 raw [ubyte], 7 on bool, 8 n int64, 9 kind enum, 10 ids [int64],
// 11 kinds [enum], 12 maybe double (optional).
type node struct {
	Name  string
	Kids  []node
	Next  *node
	Nums  []float64
	Flags []bool
	Names []string
	Raw   []byte
	On    bool
	N     int64
	Kind  int32
	IDs   []int64
	Kinds []int32
	Maybe *float64
}

// Inline: soffset, name at 4, n at 8, maybe at 16, then nine 4-byte slots from 24, on at 60.
const (
	nodeVTable = "\x1e\x00\x3d\x00" + "\x04\x00" + "\x18\x00" + "\x00\x00" + "\x1c\x00" + "\x20\x00" + "\x24\x00" + "\x28\x00" +
		"\x3c\x00" + "\x08\x00" + "\x2c\x00" + "\x30\x00" + "\x34\x00" + "\x00\x00"
	nodeInline   = 61
	nodeTemplate = nodeVTable + "\x1e\x00\x00\x00" + zeros57
	zeros57      = "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" +
		"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
)

func (m *node) append() []byte {
	b := m.fill(make([]byte, 8), 4)
	b, err := wire.Finish(b, 0)
	if err != nil {
		panic(err)
	}
	return b
}

func (m *node) fill(b []byte, slot int) []byte {
	le := binary.LittleEndian
	b, t := wire.AppendTable(b, 0, slot, nodeTemplate, len(nodeVTable), 8)
	vt := t - len(nodeVTable)
	le.PutUint64(b[t+8:], uint64(m.N))
	if m.Maybe != nil {
		le.PutUint16(b[vt+28:], 16)
		le.PutUint64(b[t+16:], math.Float64bits(*m.Maybe))
	}
	le.PutUint32(b[t+44:], uint32(m.Kind))
	b[t+60] = wire.BoolByte(m.On)
	b = wire.AppendString(b, 0, t+4, m.Name)
	b, at := wire.AppendVector(b, 0, t+24, len(m.Kids), 4)
	for i := range m.Kids {
		b = m.Kids[i].fill(b, at+4*i)
	}
	if m.Next != nil {
		le.PutUint16(b[vt+8:], 56)
		b = m.Next.fill(b, t+56)
	}
	b = wire.AppendFloat64s(b, 0, t+28, m.Nums)
	b = wire.AppendBools(b, 0, t+32, m.Flags)
	b = wire.AppendStrings(b, 0, t+36, m.Names)
	b = wire.AppendBytes(b, 0, t+40, m.Raw)
	b = wire.AppendInt64s(b, 0, t+48, m.IDs)
	return wire.AppendEnums(b, 0, t+52, m.Kinds)
}

func readNodeFrom(data []byte) (*node, error) {
	var r wire.Reader
	m := new(node)
	if t := r.Root(data); !r.Failed() {
		m.read(&r, t)
	}
	return m, r.Err()
}

func (m *node) read(r *wire.Reader, t wire.TableRef) {
	m.Name = r.String(t, 0, "name")
	if at, n, ok := r.Structs(t, 1, "kids"); ok {
		m.Kids = make([]node, n)
		for i := range m.Kids {
			c, ok := r.Elem(at, i, "kids")
			if !ok {
				return
			}
			m.Kids[i].read(r, c)
			if r.LeaveElem("kids", i); r.Failed() {
				return
			}
		}
	}
	if c, ok := r.Struct(t, 2, "next"); ok {
		m.Next = new(node)
		m.Next.read(r, c)
		r.Leave("next")
	}
	m.Nums = r.Float64s(t, 3, "nums")
	m.Flags = r.Bools(t, 4, "flags")
	m.Names = r.Strings(t, 5, "names")
	m.Raw = r.Bytes(t, 6, "raw")
	m.On = r.Bool(t, 7, "on")
	m.N = r.Int64(t, 8, "n")
	m.Kind = r.Enum(t, 9, "kind")
	m.IDs = r.Int64s(t, 10, "ids")
	m.Kinds = wire.Enums[int32](r, t, 11, "kinds")
	m.Maybe = wire.Opt(r, t, 12, r.Float64(t, 12, "maybe"))
}

func sampleNode() *node {
	half := 0.5
	leaf := func(name string) node {
		return node{Name: name, Kids: []node{}, Nums: []float64{}, Flags: []bool{true}, Names: []string{}, Raw: []byte{}, IDs: []int64{}, Kinds: []int32{}}
	}
	next := leaf("ö漢😀\x00")
	return &node{
		Name: "root", Kids: []node{leaf("a"), leaf("")}, Next: &next, Nums: []float64{1.5, math.Inf(-1), math.Copysign(0, -1)},
		Flags: []bool{true, false, true}, Names: []string{"x", "", "yy"}, Raw: []byte{0, 255, 7}, On: true, N: math.MinInt64,
		Kind: -3, IDs: []int64{math.MaxInt64, -1}, Kinds: []int32{0, 7}, Maybe: &half,
	}
}
