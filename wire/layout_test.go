package wire_test

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/ignex/nova/wire"
)

func place(t *testing.T, fields ...wire.Field) *wire.Table {
	t.Helper()
	l := &wire.Layout{
		Enums:  []wire.EnumType{{Name: "E", Values: []wire.EnumValue{{Literal: "a"}}}},
		Tables: []wire.Table{{Name: "T", Fields: fields}},
	}
	if err := l.Init(); err != nil {
		t.Fatal(err)
	}
	return &l.Tables[0]
}

// Each case gives, by hand from the rules of docs/protocol.md, where fields stand.
func TestPlacement(t *testing.T) {
	kind := map[byte]wire.Field{
		'b': {Kind: wire.Bool}, 'i': {Kind: wire.Int64}, 'd': {Kind: wire.Float64}, 'e': {Kind: wire.Enum},
		's': {Kind: wire.String}, 'y': {Kind: wire.Bytes}, 't': {Kind: wire.Struct},
		'B': {Kind: wire.Bool, Vector: true}, 'D': {Kind: wire.Float64, Vector: true}, 'S': {Kind: wire.String, Vector: true},
		'x': {Kind: wire.Bool, Deprecated: true}, 'X': {Kind: wire.Int64, Deprecated: true},
		'o': {Kind: wire.Bool, Presence: wire.Optional}, 'n': {Kind: wire.Int64, Presence: wire.Nullable},
	}
	for _, c := range []struct {
		fields  string
		offsets []int
		inline  int
		vtable  string
	}{
		{"", nil, 4, "04000400"},
		{"b", []int{4}, 5, "060005000400"},
		{"s", []int{4}, 8, "060008000400"},
		{"i", []int{8}, 16, "060010000800"},
		{"bs", []int{8, 4}, 9, "0800090008000400"},
		{"sddiii", []int{4, 8, 16, 24, 32, 40}, 48, "10003000040008001000180020002800"},
		{"sdies", []int{4, 8, 16, 24, 28}, 32, "0e0020000400080010001800" + "1c00"},
		{"ssbdb", []int{4, 16, 20, 8, 21}, 22, "0e0016000400100014000800" + "1500"},
		{"bdb", []int{4, 8, 5}, 16, "0a001000040008000500"},
		{"bbbbbd", []int{4, 5, 6, 7, 16, 8}, 17, "1000110004000500060007001000" + "0800"},
		{"bds", []int{16, 8, 4}, 17, "0a001100100008000400"},
		{"eytBDS", []int{4, 8, 12, 16, 20, 24}, 28, "10001c0004000800" + "0c00100014001800"},
		{"xs", []int{0, 4}, 8, "0800080000000400"},
		{"Xb", []int{0, 4}, 5, "0800050000000400"},
		{"sX", []int{4, 0}, 8, "0800080004000000"},
		{"no", []int{8, 4}, 16, "0800100008000400"},
	} {
		fields := make([]wire.Field, len(c.fields))
		for i := range fields {
			fields[i] = kind[c.fields[i]]
			fields[i].Name = strings.Repeat("f", i+1)
		}
		if strings.Contains(c.fields, "t") {
			fields[strings.Index(c.fields, "t")].Ref = 0
		}
		table := place(t, fields...)
		for i, want := range c.offsets {
			if got := table.Fields[i].Offset(); got != want {
				t.Errorf("%q: field %d at %d, want %d", c.fields, i, got, want)
			}
		}
		if table.Inline() != c.inline || hex.EncodeToString(table.VTable()) != c.vtable {
			t.Errorf("%q: inline %d vtable %x, want %d %s", c.fields, table.Inline(), table.VTable(), c.inline, c.vtable)
		}
	}
}

// Whatever the fields: none overlap, each is aligned, all lie inside.
func TestPlacementNeverOverlaps(t *testing.T) {
	kinds := []wire.Field{{Kind: wire.Bool}, {Kind: wire.Int64}, {Kind: wire.String}, {Kind: wire.Bool, Deprecated: true}}
	for pattern := range 4 * 4 * 4 * 4 * 4 * 4 {
		var fields []wire.Field
		for p, n := pattern, 0; n < 6; p, n = p/4, n+1 {
			fields = append(fields, kinds[p%4])
		}
		table := place(t, fields...)
		used := make([]bool, table.Inline())
		for i := range 4 {
			used[i] = true
		}
		for i := range table.Fields {
			f := &table.Fields[i]
			if f.Deprecated {
				continue
			}
			if f.Offset()%f.Size() != 0 {
				t.Fatalf("pattern %d: field %d of %d bytes at %d", pattern, i, f.Size(), f.Offset())
			}
			for at := f.Offset(); at < f.Offset()+f.Size(); at++ {
				if used[at] {
					t.Fatalf("pattern %d: byte %d has two owners", pattern, at)
				}
				used[at] = true
			}
		}
	}
}

func TestInitRefuses(t *testing.T) {
	wide := make([]wire.Field, 9000)
	for i := range wide {
		wide[i] = wire.Field{Kind: wire.String}
	}
	for name, c := range map[string]struct {
		layout wire.Layout
		want   string
	}{
		"wide":        {wire.Layout{Tables: []wire.Table{{Name: "Wide", Fields: wide}}}, "table Wide"},
		"wide vtable": {wire.Layout{Tables: []wire.Table{{Name: "Wide", Fields: make16k()}}}, "table Wide"},
		"enum":        {wire.Layout{Tables: []wire.Table{{Name: "T", Fields: []wire.Field{{Name: "f", Kind: wire.Enum}}}}}, "field f"},
		"table":       {wire.Layout{Tables: []wire.Table{{Name: "T", Fields: []wire.Field{{Name: "f", Kind: wire.Struct, Ref: 1}}}}}, "field f"},
		"kind":        {wire.Layout{Tables: []wire.Table{{Name: "T", Fields: []wire.Field{{Name: "f", Kind: 99}}}}}, "field f"},
		"bytes":       {wire.Layout{Tables: []wire.Table{{Name: "T", Fields: []wire.Field{{Name: "f", Kind: wire.Bytes, Vector: true}}}}}, "field f"},
		"event":       {wire.Layout{Events: []wire.Event{{Name: "e", ID: wire.EventID("e")}}}, "event e"},
		"id":          {wire.Layout{Tables: []wire.Table{{Name: "T"}}, Events: []wire.Event{{Name: "e", ID: 1}}}, "event e"},
		"twice":       {wire.Layout{Tables: []wire.Table{{Name: "T"}}, Events: []wire.Event{{Name: "e", ID: wire.EventID("e")}, {Name: "e", ID: wire.EventID("e")}}}, "e"},
		"call":        {wire.Layout{Tables: []wire.Table{{Name: "T"}}, Calls: []wire.Call{{Name: "c", Request: 0, Response: 1}}}, "call c"},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.layout.Init()
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want one that names %q", err, c.want)
			}
		})
	}
}

func make16k() []wire.Field {
	f := make([]wire.Field, 16383)
	for i := range f {
		f[i] = wire.Field{Kind: wire.Bool, Deprecated: true}
	}
	return f
}

// A narrow integer is a key like any other.
func TestKeyOfNarrowIntegers(t *testing.T) {
	l := &wire.Layout{Package: "p", Tables: []wire.Table{{Name: "T", Fields: []wire.Field{{Name: "k", JSON: "k", Kind: wire.Int16}, {Name: "u", JSON: "u", Kind: wire.Uint64}}}},
		Events: []wire.Event{{Name: "e", ID: wire.EventID("e"), Key: "k"}, {Name: "f", ID: wire.EventID("f"), Key: "u"}}}
	if err := l.Init(); err != nil {
		t.Fatal(err)
	}
	keys := map[string]bool{}
	for _, text := range []string{`{"k":-5,"u":"1"}`, `{"k":-6,"u":"18446744073709551615"}`} {
		payload, err := l.EncodeJSON(nil, 0, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"e", "f"} {
			key, ok := l.Key(l.EventByName(name), payload)
			if !ok || keys[key] {
				t.Errorf("%s of %s: %q %v", name, text, key, ok)
			}
			keys[key] = true
		}
	}
}
