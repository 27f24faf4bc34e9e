package codectest

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/ignex/nova/wire"
)

// drawer makes random values of a layout as JSON. It knows types, not constraints.
type drawer struct {
	layout *wire.Layout
	*rand.Rand
}

const maxDepth = 6 // objects inside each other, then what can be absent is

// payload returns a value of a table as JSON and as bytes.
func (d drawer) payload(t testing.TB, table int) (text, payload []byte) {
	t.Helper()
	text = d.table(nil, table, 0)
	payload, err := d.layout.EncodeJSON(nil, table, text)
	if err != nil {
		t.Fatalf("encode %s: %v", text, err)
	}
	return text, payload
}

func (d drawer) table(b []byte, table, depth int) []byte {
	t := &d.layout.Tables[table]
	if t.Box {
		f := &t.Fields[len(t.Fields)-1]
		if d.absent(f, depth) {
			return append(b, "null"...)
		}
		return d.field(b, f, depth)
	}
	open := len(b)
	b = append(b, '{')
	name := func(property string) {
		if len(b) > open+1 {
			b = append(b, ',')
		}
		b = append(d.string(b, property), ':')
	}
	for _, c := range t.Consts {
		name(c.JSON)
		b = append(b, c.Value...)
	}
	for i := range t.Fields {
		f := &t.Fields[i]
		if f.Deprecated || f.Kind == wire.UnionType || d.absent(f, depth) {
			continue
		}
		name(f.JSON)
		b = d.field(b, f, depth)
	}
	return append(b, '}')
}

func (d drawer) absent(f *wire.Field, depth int) bool {
	return f.Presence.CanBeAbsent() && (depth >= maxDepth || d.IntN(3) == 0)
}

func (d drawer) field(b []byte, f *wire.Field, depth int) []byte {
	if !f.Vector {
		return d.value(b, f, depth)
	}
	n := d.IntN(4)
	if depth >= maxDepth {
		n = 0
	}
	if !f.Map {
		b = append(b, '[')
		for i := range n {
			if i > 0 {
				b = append(b, ',')
			}
			b = d.value(b, f, depth+1)
		}
		return append(b, ']')
	}
	entry := &d.layout.Tables[f.Ref]
	b = append(b, '{')
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(d.string(b, strconv.Itoa(i)+d.text()), ':') // no key twice
		b = d.field(b, &entry.Fields[len(entry.Fields)-1], depth+1)
	}
	return append(b, '}')
}

func (d drawer) value(b []byte, f *wire.Field, depth int) []byte {
	switch f.Kind {
	case wire.Bool:
		return strconv.AppendBool(b, d.IntN(2) == 0)
	case wire.Float64, wire.Float32:
		return d.float(b, f.Kind)
	case wire.Enum:
		return d.literal(b, f.Ref)
	case wire.String:
		return d.string(b, d.text())
	case wire.Bytes:
		data := make([]byte, d.IntN(9))
		for i := range data {
			data[i] = byte(d.Uint32())
		}
		return d.string(b, base64.StdEncoding.EncodeToString(data))
	case wire.Struct:
		return d.table(b, f.Ref, depth+1)
	case wire.Union:
		u := &d.layout.Unions[f.Ref]
		member := u.Zero()
		if depth < maxDepth {
			member = d.IntN(len(u.Members))
		}
		return d.table(b, u.Members[member].Table, depth+1)
	}
	return d.integer(b, f)
}

// float draws short numbers, and the ends of the range; all are exact in both sizes.
func (d drawer) float(b []byte, kind wire.Kind) []byte {
	v := float64(d.IntN(1<<16)-1<<15) / 16
	switch d.IntN(8) {
	case 0:
		v = math.Copysign(0, -1)
	case 1:
		v = math.MaxFloat32
	case 2:
		v = math.SmallestNonzeroFloat32
	case 3:
		return append(b, `"-Infinity"`...)
	case 4:
		if kind == wire.Float64 {
			v = d.NormFloat64()
		}
	}
	return strconv.AppendFloat(b, v, 'g', -1, 64)
}

// literal draws a value of an enum, now and then one of a newer schema.
func (d drawer) literal(b []byte, enum int) []byte {
	e := &d.layout.Enums[enum]
	if d.IntN(16) == 0 {
		return d.string(b, "unknown:"+strconv.Itoa(1<<20+d.IntN(1<<20)))
	}
	v := e.Values[d.IntN(len(e.Values))]
	return d.string(b, v.Literal)
}

// ranges are the least and greatest values of the integers.
var ranges = map[wire.Kind][2]int64{
	wire.Int8: {math.MinInt8, math.MaxInt8}, wire.Int16: {math.MinInt16, math.MaxInt16}, wire.Int32: {math.MinInt32, math.MaxInt32},
	wire.Uint8: {0, math.MaxUint8}, wire.Uint16: {0, math.MaxUint16}, wire.Uint32: {0, math.MaxUint32},
	wire.Int64: {-(1<<53 - 1), 1<<53 - 1},
}

// integer draws within the range of the field, often at its ends.
func (d drawer) integer(b []byte, f *wire.Field) []byte {
	if f.Kind == wire.Uint64 {
		return append(strconv.AppendUint(append(b, '"'), d.Uint64()>>d.IntN(64), 10), '"')
	}
	low, high := ranges[f.Kind][0], ranges[f.Kind][1]
	if f.BigInt {
		low, high = math.MinInt64, math.MaxInt64
	}
	v := int64(d.Uint64()) >> d.IntN(64)
	switch d.IntN(6) {
	case 0:
		v = low
	case 1:
		v = high
	}
	return append(strconv.AppendInt(append(b, '"'), max(low, min(high, v)), 10), '"')
}

func (d drawer) text() string {
	alphabet := []rune("abcXYZ 0123\"\\/'<&>\x00\n\tßö漢\ufeff\uffff😀")
	text := make([]rune, d.IntN(12))
	for i := range text {
		text[i] = alphabet[d.IntN(len(alphabet))]
	}
	return string(text)
}

// string appends a JSON string.
func (drawer) string(b []byte, s string) []byte {
	text, _ := json.Marshal(s) // a string always can
	return append(b, text...)
}
