package roundtrip

import (
	"math"
	"math/rand/v2"
	"reflect"
	"strings"

	kinds "github.com/ignex/nova/codegen/testdata/kinds/go"
)

// generator makes random values of generated types.
type generator struct {
	*rand.Rand
	// plain keeps to what every language and JSON carry exactly: integers within
	// ±(2^53−1) and NaN without a payload.
	plain bool
}

func (g generator) value(t reflect.Type) reflect.Value {
	v := reflect.New(t)
	g.fill(v.Elem())
	return v
}

func (g generator) fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(g.IntN(2) == 0)
	case reflect.Int32:
		v.SetInt(int64([]int32{0, 1, 2, 7, -1, math.MaxInt32, math.MinInt32}[g.IntN(7)]))
	case reflect.Int64:
		v.SetInt(g.int64())
	case reflect.Float64:
		v.SetFloat(g.float64())
	case reflect.String:
		v.SetString([]string{"", "a", "größe", "\x00", "\ufeff", "日本語 😀", "abcdefgh"}[g.IntN(7)])
	case reflect.Uint8:
		v.SetUint(g.Uint64() & 255)
	case reflect.Slice:
		n := g.IntN(5)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			g.fill(v.Index(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		g.fill(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); canBeAbsent(v.Type(), i) && g.IntN(2) == 0 {
				f.SetZero()
			} else {
				g.fill(f)
			}
		}
	}
}

func (g generator) int64() int64 {
	if g.plain {
		return []int64{0, 1, -1, 1<<53 - 1, 1 - 1<<53, int64(int32(g.Uint32()))}[g.IntN(6)]
	}
	return []int64{0, 1, -1, math.MaxInt64, math.MinInt64, g.Int64()}[g.IntN(6)]
}

func (g generator) float64() float64 {
	bits := []uint64{0, 1 << 63, math.Float64bits(math.Inf(1)), 1, g.Uint64(), 0x7ff0000000000001}
	f := math.Float64frombits(bits[g.IntN(len(bits))])
	if g.plain && f != f {
		return math.Float64frombits(0x7ff8000000000000)
	}
	return f
}

// canBeAbsent reports whether nil stands for a field that is not there.
func canBeAbsent(t reflect.Type, i int) bool {
	f := t.Field(i)
	return strings.Contains(f.Tag.Get("json"), ",omitzero") || f.Type.Kind() == reflect.Pointer ||
		t == reflect.TypeFor[kinds.Nullables]() && f.Type.Kind() == reflect.Slice
}
