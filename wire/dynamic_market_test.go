package wire_test

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/ignex/nova/market"
)

// fill gives every field of a generated struct a random value.
func fill(r *rand.Rand, v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int32: // an enum with the values 0 and 1, and one unknown
		v.SetInt([]int64{0, 1, 77}[r.IntN(3)])
	case reflect.Int64:
		v.SetInt(int64(r.Uint64()) >> r.IntN(64))
	case reflect.Float64:
		for {
			x := math.Float64frombits(r.Uint64())
			if !math.IsNaN(x) && !math.IsInf(x, 0) { // encoding/json refuses them
				v.SetFloat(x)
				return
			}
		}
	case reflect.String:
		s := make([]rune, r.IntN(9))
		for i := range s {
			s[i] = []rune("ab\"\\\nü€😀")[r.IntN(8)]
		}
		v.SetString(string(s))
	case reflect.Slice:
		n := r.IntN(4)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(r, v.Index(i))
		}
	case reflect.Pointer:
		if r.IntN(2) == 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(r, v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(r, v.Field(i))
		}
	}
}

// generated is what the codecs of generated types offer.
type generated interface {
	AppendNova([]byte) ([]byte, error)
	UnmarshalNova([]byte) error
	CheckInt64() error
}

// The schema-driven codec writes the bytes of generated code, reads them to the
// same value, and fails in the same way on the same malformed bytes.
func TestDynamicIsGenerated(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	l := market.Schema.Layout()
	for event, makeNew := range map[string]func() generated{
		"quote":     func() generated { return &market.Quote{} },
		"trade":     func() generated { return &market.Trade{} },
		"portfolio": func() generated { return &market.PortfolioSnapshot{} },
		"complex":   func() generated { return &market.Complex{} },
		"order":     func() generated { return &market.Order{} },
		"bigVal":    func() generated { return &market.BigVal{} },
		"chat":      func() generated { return &market.Chat{} },
	} {
		table := l.EventByName(event).Table
		for range 300 {
			v := makeNew()
			fill(r, reflect.ValueOf(v).Elem())
			want, err := v.AppendNova(nil)
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			got, err := l.EncodeJSON(nil, table, text)
			if err != nil {
				t.Fatalf("%s: %v\n%s", event, err, text)
			}
			if !bytes.Equal(got, want) {
				t.Fatalf("%s: bytes differ for %s\n got %x\nwant %x", event, text, got, want)
			}
			out, err := l.AppendJSON(nil, table, want)
			if err != nil {
				t.Fatalf("%s: %v", event, err)
			}
			again, err := l.EncodeJSON(nil, table, out)
			if err != nil || !bytes.Equal(again, want) {
				t.Fatalf("%s: %s does not give the bytes back: %v", event, out, err)
			}
			if a, b := v.CheckInt64(), l.CheckInt64(table, want); !reflect.DeepEqual(a, b) {
				t.Fatalf("%s: CheckInt64: generated %v, dynamic %v", event, a, b)
			}
			for range 20 {
				bad := bytes.Clone(want)
				bad[r.IntN(len(bad))] ^= 1 << r.IntN(8)
				_, dynamic := l.AppendJSON(nil, table, bad)
				if static := makeNew().UnmarshalNova(bad); !reflect.DeepEqual(static, dynamic) {
					t.Fatalf("%s: generated %v, dynamic %v for %x", event, static, dynamic, bad)
				}
			}
		}
	}
}
