package golden

import (
	"math"
	"math/rand/v2"

	"github.com/ignex/nova/wire"
)

// Random makes messages of a layout: mostly small, often with the values at
// which codecs go wrong.
type Random struct {
	*rand.Rand
	Layout *wire.Layout
	// Finite leaves out NaN and infinities.
	Finite bool
}

// NewRandom returns a source that depends on seed alone.
func NewRandom(l *wire.Layout, seed uint64) *Random {
	return &Random{Rand: rand.New(rand.NewPCG(seed, 0)), Layout: l}
}

// Table draws a message of that table. Plain int64 fields stay inside
// ±(2^53−1), strings are valid UTF-8.
func (r *Random) Table(table int) Value { return r.table(table, 3) }

func (r *Random) table(table, size int) Value {
	v := Value{}
	for i := range r.Layout.Tables[table].Fields {
		f := &r.Layout.Tables[table].Fields[i]
		if f.Deprecated || f.Presence.CanBeAbsent() && r.IntN(2) == 0 {
			continue
		}
		if !f.Vector {
			v[f.Name] = r.one(f, size)
			continue
		}
		list := []any{}
		for range r.length(size) {
			list = append(list, r.one(f, size-1))
		}
		v[f.Name] = list
	}
	return v
}

func (r *Random) length(size int) int {
	switch r.IntN(8) {
	case 0, 1:
		return 0
	case 2:
		return 1
	case 3:
		return r.IntN(1 + 12*max(size, 0))
	default:
		return r.IntN(2 + size*2)
	}
}

func (r *Random) one(f *wire.Field, size int) any {
	switch f.Kind {
	case wire.Bool:
		return r.IntN(2) == 1
	case wire.Int64:
		return r.integer(f.BigInt)
	case wire.Float64:
		return r.double()
	case wire.Enum:
		values := r.Layout.Enums[f.Ref].Values
		if r.IntN(10) == 0 {
			return int32(r.Uint32()) // a number of a newer schema
		}
		return values[r.IntN(len(values))].Number
	case wire.String:
		return r.text()
	case wire.Bytes:
		b := make([]byte, r.length(3))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	default:
		return r.table(f.Ref, size-1)
	}
}

func (r *Random) integer(wide bool) int64 {
	const safe = 1<<53 - 1
	edges := []int64{0, 1, -1, 127, 128, -129, 1 << 31, 1<<32 - 1, 1 << 32, -1 << 32, safe, -safe}
	if wide {
		edges = append(edges, math.MaxInt64, math.MinInt64, safe+1, -safe-1, safe+2)
	}
	switch {
	case r.IntN(2) == 0:
		return edges[r.IntN(len(edges))]
	case wide:
		return int64(r.Uint64())
	default:
		return int64(r.Uint64N(2*safe+1)) - safe
	}
}

func (r *Random) double() float64 {
	edges := []float64{0, math.Copysign(0, -1), 1, -1.5, 0.1, math.Pi, 1e300, -1e-300, math.SmallestNonzeroFloat64,
		math.MaxFloat64, 2.2250738585072009e-308, 1 << 53, math.NaN(), math.Inf(1), math.Inf(-1)}
	for {
		x := math.Float64frombits(r.Uint64())
		switch r.IntN(3) {
		case 0:
			x = edges[r.IntN(len(edges))]
		case 1:
			x = float64(r.IntN(2_000_000)-1_000_000) / 100
		}
		if x != x { // the one NaN that JavaScript and JSON can hold
			x = math.Float64frombits(0x7FF8 << 48)
		}
		if !r.Finite || x-x == 0 {
			return x
		}
	}
}

func (r *Random) text() string {
	alphabet := []rune("abcXYZ 0123\"\\/'<>&\x00\x01\x7f\n\t\u0080ßö\u07ff\u0800漢\ufeff\ufffd\uffff\u2028\U00010000😀\U0010ffff\ue000\ud7ff")
	n := r.length(4)
	if r.IntN(40) == 0 {
		n = 200 + r.IntN(2000)
	}
	text := make([]rune, n)
	for i := range text {
		text[i] = alphabet[r.IntN(len(alphabet))]
	}
	return string(text)
}
