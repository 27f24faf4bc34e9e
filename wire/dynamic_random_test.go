package wire_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ignex/nova/wire"
)

// randomLayout makes tables that refer to later ones only, so that every value
// is finite; the last are members of unions.
func randomLayout(r *rand.Rand) *wire.Layout {
	l := &wire.Layout{Package: "random"}
	for i := range 1 + r.IntN(3) {
		e := wire.EnumType{Name: fmt.Sprint("E", i)}
		for n := range 1 + r.IntN(25) {
			e.Values = append(e.Values, wire.EnumValue{Literal: fmt.Sprintf("lit %d \"é\"", n), Number: int32(n)})
		}
		l.Enums = append(l.Enums, e)
	}
	tables := 1 + r.IntN(4)
	const members = 3
	u := wire.UnionLayout{Name: "U", Tag: "ta\"g"}
	for i := range members {
		u.Members = append(u.Members, wire.UnionMember{ID: uint8(1 + 2*i), Table: tables + i})
	}
	l.Unions = []wire.UnionLayout{u}
	l.Tables = make([]wire.Table, tables+members)
	for i := range l.Tables {
		t := wire.Table{Name: fmt.Sprint("T", i)}
		if i >= tables {
			t.Consts = []wire.Const{{JSON: u.Tag, Value: []string{`"circle \"€"`, "2", "true"}[i-tables]}}
		}
		count := r.IntN(24)
		if i > 0 && r.IntN(4) == 0 && i < tables {
			t.Box, count = true, 1
		}
		for range count {
			randomField(r, l, &t, i, tables)
		}
		l.Tables[i] = t
	}
	return l
}

// randomField adds a field, with its type before it when it is a union, with a
// table of keys and values behind all others when it is a map.
func randomField(r *rand.Rand, l *wire.Layout, t *wire.Table, table, tables int) {
	id := len(t.Fields)
	f := wire.Field{Name: fmt.Sprint("f", id), JSON: fmt.Sprintf("F%d/~\"ü", id), Kind: wire.Kind(1 + r.IntN(17)),
		Presence: wire.Presence(r.IntN(4)), Deprecated: r.IntN(8) == 0 && !t.Box}
	if r.IntN(2) == 0 || t.Box {
		f.Presence = wire.Required
	}
	if f.Kind >= wire.UnionType {
		f.Kind = wire.Union
	}
	if table >= tables-1 && (f.Kind == wire.Union && table >= tables || f.Kind == wire.Struct) {
		f.Kind = wire.Bool
	}
	f.Vector = f.Kind != wire.Bytes && f.Kind != wire.Union && r.IntN(3) == 0
	f.BigInt = f.Kind == wire.Int64 && r.IntN(3) == 0
	switch {
	case f.Kind == wire.Enum:
		f.Ref = r.IntN(len(l.Enums))
	case f.Kind == wire.Union && !f.Deprecated:
		t.Fields = append(t.Fields, wire.Field{Name: f.Name + "_type", Kind: wire.UnionType, Presence: f.Presence})
	case f.Kind == wire.Struct:
		f.Ref = table + 1 + r.IntN(tables-table-1)
	}
	if f.Kind != wire.Union && !f.Deprecated && r.IntN(8) == 0 { // a map of what it was
		entry := wire.Table{Name: fmt.Sprint("M", len(l.Tables)), Fields: []wire.Field{
			{Name: "key", JSON: "key", Kind: wire.String},
			{Name: "value", JSON: "value", Kind: f.Kind, Vector: f.Vector, Ref: f.Ref, BigInt: f.BigInt}}}
		f = wire.Field{Name: f.Name, JSON: f.JSON, Kind: wire.Struct, Vector: true, Map: true, Ref: len(l.Tables), Presence: f.Presence}
		l.Tables = append(l.Tables, entry)
	}
	t.Fields = append(t.Fields, f)
}

// valueModel makes random JSON values as the schema's rules spell them: the
// slow, obvious counterpart of AppendJSON.
type valueModel struct {
	r *rand.Rand
	l *wire.Layout
}

func (m valueModel) table(i, size int) any {
	out := map[string]any{}
	t := m.l.Tables[i]
	if t.Box {
		return m.value(t.Fields[len(t.Fields)-1], size)
	}
	for _, c := range t.Consts {
		out[c.JSON] = constant(c.Value)
	}
	for _, f := range t.Fields {
		if f.Deprecated || f.Kind == wire.UnionType {
			continue
		}
		if f.Presence != wire.Required && m.r.IntN(2) == 0 {
			if f.Presence == wire.Nullable {
				out[f.JSON] = nil
			}
			continue
		}
		out[f.JSON] = m.value(f, size)
	}
	return out
}

func constant(text string) any {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		panic(err)
	}
	return v
}

func (m valueModel) value(f wire.Field, size int) any {
	switch {
	case f.Map:
		out := map[string]any{}
		for range m.r.IntN(size) {
			value := m.l.Tables[f.Ref].Fields[1]
			out[m.one(wire.Field{Kind: wire.String}, size).(string)] = m.value(value, max(1, size/2))
		}
		return out
	case f.Vector:
		list := make([]any, m.r.IntN(size))
		for j := range list {
			list[j] = m.one(f, max(1, size/2))
		}
		return list
	}
	return m.one(f, size)
}

// narrow draws a number of few bits.
func (m valueModel) narrow(k wire.Kind) any {
	v := m.r.Uint64() >> m.r.IntN(64)
	switch k {
	case wire.Int8:
		return json.Number(fmt.Sprint(int8(v)))
	case wire.Int16:
		return json.Number(fmt.Sprint(int16(v)))
	case wire.Int32:
		return json.Number(fmt.Sprint(int32(v)))
	case wire.Uint8:
		return json.Number(fmt.Sprint(uint8(v)))
	case wire.Uint16:
		return json.Number(fmt.Sprint(uint16(v)))
	case wire.Uint32:
		return json.Number(fmt.Sprint(uint32(v)))
	case wire.Uint64:
		return fmt.Sprint(v)
	}
	x := math.Float32frombits(uint32(v))
	if wide := float64(x); wide-wide != 0 {
		return "-Infinity"
	}
	text, err := json.Marshal(x)
	if err != nil {
		panic(err)
	}
	return json.Number(text)
}

func (m valueModel) one(f wire.Field, size int) any {
	switch f.Kind {
	case wire.Bool:
		return m.r.IntN(2) == 0
	case wire.Int64:
		v := int64(m.r.Uint64()) >> m.r.IntN(64)
		if f.BigInt || v > 1<<53-1 || v < -(1<<53-1) {
			return strconv.FormatInt(v, 10)
		}
		return json.Number(strconv.FormatInt(v, 10))
	case wire.Float64:
		v := math.Float64frombits(m.r.Uint64())
		switch m.r.IntN(4) {
		case 0:
			v = []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), 5e-324, 1e21, 1e-7}[m.r.IntN(8)]
		case 1:
			v = float64(m.r.IntN(100000)) / 100
		}
		switch {
		case math.IsNaN(v):
			return "NaN"
		case math.IsInf(v, 0):
			return map[bool]string{true: "Infinity", false: "-Infinity"}[v > 0]
		}
		text, err := json.Marshal(v) // its format is also that of JavaScript
		if err != nil {
			panic(err)
		}
		return json.Number(text)
	case wire.Enum:
		values := m.l.Enums[f.Ref].Values
		if m.r.IntN(5) == 0 {
			return fmt.Sprint("unknown:", len(values)+m.r.IntN(100))
		}
		return values[m.r.IntN(len(values))].Literal
	case wire.String:
		s := make([]rune, m.r.IntN(size*3))
		for i := range s {
			s[i] = []rune("ab\"\\/\n\t\x00\x1fü€😀\u2028<>&")[m.r.IntN(16)]
		}
		return string(s)
	case wire.Bytes:
		b := make([]byte, m.r.IntN(size*3))
		for i := range b {
			b[i] = byte(m.r.Uint32())
		}
		return base64.StdEncoding.EncodeToString(b)
	case wire.Union:
		u := m.l.Unions[f.Ref]
		return m.table(u.Members[m.r.IntN(len(u.Members))].Table, max(1, size/2))
	case wire.Struct:
		return m.table(f.Ref, max(1, size-1))
	default:
		return m.narrow(f.Kind)
	}
}

func parseJSON(t testing.TB, text []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("encoding/json refuses %s: %v", text, err)
	}
	return v
}

// JSON → bytes → JSON is the identity on values, bytes → JSON → bytes on bytes,
// and the order and spacing of the input do not matter.
func TestDynamicRandom(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for range 300 {
		l := randomLayout(r)
		if err := l.Init(); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			value := valueModel{r, l}.table(0, 6)
			text, err := json.Marshal(value) // sorted keys, not the schema's order
			if err != nil {
				t.Fatal(err)
			}
			payload, err := l.EncodeJSON(nil, 0, text)
			if err != nil {
				t.Fatalf("%v\n%s\n%+v", err, text, l.Tables)
			}
			out, err := l.AppendJSON(nil, 0, payload)
			if err != nil {
				t.Fatalf("%v\n%s\n%+v", err, text, l.Tables)
			}
			if got := parseJSON(t, out); !reflect.DeepEqual(got, any(value)) {
				t.Fatalf("value changed\n in  %s\n out %s", text, out)
			}
			var wide bytes.Buffer
			if err := json.Indent(&wide, out, "\r\n", "\t "); err != nil {
				t.Fatal(err)
			}
			again, err := l.EncodeJSON(nil, 0, wide.Bytes())
			if err != nil || !bytes.Equal(again, payload) {
				t.Fatalf("bytes changed with the order of the properties: %v\n%x\n%x\n%s", err, payload, again, out)
			}
			hostile(t, r, l, payload)
		}
	}
}

// hostile changes one byte or cuts the end: a value or an error, never a panic.
func hostile(t *testing.T, r *rand.Rand, l *wire.Layout, payload []byte) {
	t.Helper()
	for range 20 {
		bad := bytes.Clone(payload)
		bad[r.IntN(len(bad))] ^= 1 << r.IntN(8)
		if out, err := l.AppendJSON(nil, 0, bad); err == nil && !json.Valid(out) {
			t.Fatalf("no JSON: %s from %x", out, bad)
		}
		if _, err := l.AppendJSON(nil, 0, payload[:r.IntN(len(payload))]); err == nil {
			t.Fatal("a cut payload is accepted")
		}
	}
}

func FuzzEncodeJSON(f *testing.F) {
	l := dynamicLayout(f)
	for _, s := range []string{
		`{"text":"a","n":1,"big":"2","x":-0.5e-3,"on":true,"side":"buy","raw":"AQ==","inner":{"flag":true,"ns":[1,2]}}`,
		`{"text":"\ud83d\ude00","n":1e3,"inners":[{"flag":false,"ns":[],"zz":[[{}]]}],"a/b~c":["x"],"xs":["NaN"]}`,
		`{"text":"","n":0,"self":{"text":"","n":0}}`, `[1,2`, `{"text":"\u12`, `{"n":1e99999}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		payload, err := l.EncodeJSON(nil, 0, text)
		if err != nil {
			return
		}
		if !json.Valid(text) {
			t.Fatalf("accepts what encoding/json refuses: %q", text)
		}
		out, err := l.AppendJSON(nil, 0, payload)
		if err != nil {
			t.Fatalf("cannot read back %q: %v", text, err)
		}
		again, err := l.EncodeJSON(nil, 0, out)
		if err != nil || !bytes.Equal(again, payload) {
			t.Fatalf("%q → %s does not give the same bytes: %v", text, out, err)
		}
	})
}

func FuzzAppendJSON(f *testing.F) {
	l := dynamicLayout(f)
	for _, s := range []string{
		`{"text":"a","n":1,"big":"2","x":-0.5e-3,"on":true,"side":"buy","raw":"AQ==","inner":{"flag":true,"ns":[1,2]}}`,
		`{"text":"","n":0,"inners":[{"flag":true,"ns":[1]}],"a/b~c":["x"],"xs":[1],"sides":["buy"],"self":{"text":"","n":0}}`,
	} {
		payload, err := l.EncodeJSON(nil, 0, []byte(s))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(payload)
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		out, err := l.AppendJSON(nil, 0, payload)
		unsafe := l.CheckInt64(0, payload)
		if err != nil {
			return
		}
		if !json.Valid(out) {
			t.Fatalf("no JSON: %s", out)
		}
		// What was read can be written again, and then reads the same.
		again, err := l.EncodeJSON(nil, 0, out)
		if err != nil {
			t.Fatalf("cannot encode %s: %v", out, err)
		}
		back, err := l.AppendJSON(nil, 0, again)
		if err != nil || !bytes.Equal(back, out) {
			t.Fatalf("%s came back as %s: %v", out, back, err)
		}
		if (unsafe == nil) != (l.CheckInt64(0, again) == nil) {
			t.Fatalf("CheckInt64 differs: %v", unsafe)
		}
	})
}

// A layout may come from a server that is not ours.
func FuzzLayoutJSON(f *testing.F) {
	text, err := json.Marshal(dynamicLayout(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"tables":[{"name":"A","box":true,"fields":[{"name":"a","json":"a","kind":"table","type":"A"}]}]}`))
	f.Add([]byte(`{"tables":[{"name":"A","fields":[{"name":"key","json":"key","kind":"string"},{"name":"v","json":"v","kind":"table","vector":true,"map":true,"type":"A"}]}]}`))
	f.Add([]byte(`{"unions":[{"name":"U","tag":"k","members":[{"id":1,"table":"A"},{"id":9,"table":"B"}]}],"tables":[` +
		`{"name":"A","consts":[{"json":"k","value":"a"}],"fields":[{"name":"u_type","json":"","kind":"uniontype"},{"name":"u","json":"u","kind":"union","type":"U"}]},` +
		`{"name":"B","consts":[{"json":"k","value":2}],"fields":[{"name":"n","json":"n","kind":"uint64"}]}]}`))
	f.Add([]byte(`{"tables":[{"name":"A","fields":[{"name":"a","json":"a","kind":"table","type":"A"}]}],"events":[{"name":"e","id":0,"table":"A","retain":"all"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var l wire.Layout
		if json.Unmarshal(text, &l) != nil {
			return
		}
		for i := range l.Tables {
			if payload, err := l.EncodeJSON(nil, i, []byte(`{}`)); err == nil {
				if _, err := l.AppendJSON(nil, i, payload); err != nil {
					t.Fatalf("table %d cannot be read back: %v", i, err)
				}
			}
			// An empty table: required ones inside are read as zeros.
			if out, err := l.AppendJSON(nil, i, []byte{12, 0, 0, 0, 8, 0, 0, 0, 4, 0, 4, 0, 4, 0, 0, 0}); err == nil && !json.Valid(out) {
				t.Fatalf("no JSON: %s", out)
			}
		}
		if _, err := json.Marshal(&l); err != nil {
			t.Fatal(err)
		}
	})
}
