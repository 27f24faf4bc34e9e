package language

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/ignex/nova"
	language "github.com/ignex/nova/codegen/testdata/language/go"
	"github.com/ignex/nova/internal/golden"
	"github.com/ignex/nova/wire"
)

func drawing() *language.Drawing {
	return &language.Drawing{Main: &language.Circle{R: 1}, Result: &language.DrawingResultTrue{Value: "x"}}
}

// foreign is a member of no union here.
type foreign struct{}

func (*foreign) NovaUnion() {}

// What has no bytes is an error with the place, from AppendNova and from
// Validate; CheckInt64 leaves it to them.
func TestValuesWithoutBytes(t *testing.T) {
	set := func(change func(m *language.Drawing)) *language.Drawing {
		m := drawing()
		change(m)
		return m
	}
	deep := &language.Node{}
	for range wire.MaxDepth {
		deep = &language.Node{Next: deep}
	}
	circle := &language.Node{}
	circle.Next = circle
	wide := &language.Node{Kids: []language.Node{{}, {Next: deep}}}
	for _, c := range []struct {
		name, want string
		value      interface {
			AppendNova(dst []byte) ([]byte, error)
			CheckInt64() error
		}
	}{
		{"nothing", "main: no value; set a member of Shape", set(func(m *language.Drawing) { m.Main = nil })},
		{"a nil member", "main: the value is a nil pointer or no member of Shape", set(func(m *language.Drawing) { m.Main = (*language.Circle)(nil) })},
		{"a foreign member", "main: the value is a nil pointer or no member of Shape", set(func(m *language.Drawing) { m.Main = &foreign{} })},
		{"a member of another union", "main: the value is a nil pointer or no member of Shape", set(func(m *language.Drawing) { m.Main = &language.ExprLit{} })},
		{"an unknown member", "main: member 9 of Shape is of a newer schema and cannot be encoded again", set(func(m *language.Drawing) { m.Main = nova.UnknownMember{ID: 9} })},
		{"in an array", "all[1]: no value; set a member of Shape", set(func(m *language.Drawing) { m.All = []language.Shape{&language.Square{}, nil} })},
		{"in arrays of arrays", "grid[1][0]: no value; set a member of Shape", set(func(m *language.Drawing) { m.Grid = [][]language.Shape{{}, {nil}} })},
		{"in a map", `shapes["k"]: no value; set a member of Shape`, &language.Maps{Shapes: map[string]language.Shape{"k": nil}}},
		{"65 levels", strings.Repeat("next.", 63) + "next: tables are nested deeper than 64, or a pointer leads back to its owner", deep},
		{"a circle", strings.Repeat("next.", 63) + "next: tables are nested deeper than 64, or a pointer leads back to its owner", circle},
		{"below an element", "kids[1]." + strings.Repeat("next.", 62) + "next: tables are nested deeper than 64, or a pointer leads back to its owner", wide},
		{"a root without a value", "no value; set a member of Shape", &language.ShapeBox{}},
	} {
		dst := []byte("before")
		out, err := c.value.AppendNova(dst)
		var broken *wire.EncodeError
		if !errors.As(err, &broken) || err.Error() != "cannot encode: "+c.want || string(out) != "before" {
			t.Errorf("%s: %q, %v", c.name, out, err)
		}
		if err := c.value.CheckInt64(); err != nil {
			t.Errorf("%s: CheckInt64: %v", c.name, err)
		}
	}
	if _, err := deep.Next.AppendNova(nil); err != nil {
		t.Errorf("64 levels: %v", err)
	}
	// Pointers shared on many paths: refused for their size, not walked for ever.
	shared := &language.Node{}
	for range 60 {
		shared = &language.Node{Next: shared, Kids: []language.Node{{Next: shared}}}
	}
	if _, err := shared.AppendNova(nil); err == nil {
		t.Error("a value of 2^30 tables is encoded")
	}
}

func TestCheckInt64Paths(t *testing.T) {
	const big = 1 << 53
	for _, c := range []struct {
		path  string
		value interface{ CheckInt64() error }
	}{
		{"main.w", func() *language.Drawing { m := drawing(); m.Main = &language.Square{W: big}; return m }()},
		{"maybe.w", func() *language.Drawing { m := drawing(); m.Maybe = &language.Square{W: big}; return m }()},
		{"grid[0][1].w", func() *language.Drawing {
			m := drawing()
			m.Grid = [][]language.Shape{{&language.Circle{}, &language.Square{W: big}}}
			return m
		}()},
		{"deep[0][1][0].x", &language.Grid{Deep: [][][]language.GridDeepRowItem{{{}, {{X: big}}}}}},
		{`objs["k\""].x`, &language.Maps{Objs: map[string]language.MapsObjsValue{`k"`: {X: big}}}},
	} {
		err := c.value.CheckInt64()
		var unsafe *wire.Int64Error
		if !errors.As(err, &unsafe) || unsafe.Path != c.path {
			t.Errorf("%v, want one at %s", err, c.path)
		}
	}
}

// The last of equal keys counts, in every decoder; keys that are no UTF-8 stand
// where their replacement does.
func TestMapKeys(t *testing.T) {
	in := language.DictBox{Value: map[string]float64{"aa": 1, "ab": 2}}
	payload, err := in.AppendNova(nil)
	if err != nil {
		t.Fatal(err)
	}
	twice := bytes.Replace(payload, []byte("ab\x00"), []byte("aa\x00"), 1)
	var out language.DictBox
	if err := out.UnmarshalNova(twice); err != nil || !reflect.DeepEqual(out.Value, map[string]float64{"aa": 2}) {
		t.Errorf("%v %v", out, err)
	}
	layout := language.Schema.Layout()
	if text, err := layout.AppendJSON(nil, layout.EventByName("dict").Table, twice); err != nil || string(text) != `{"aa":2}` {
		t.Errorf("%s %v", text, err)
	}
	in.Value = map[string]float64{"\xff": 1, "\ufffc": 2, "\U00010000": 3, "": 4}
	if payload, err = in.AppendNova(nil); err != nil {
		t.Fatal(err)
	}
	text, err := layout.AppendJSON(nil, layout.EventByName("dict").Table, payload)
	if err != nil || string(text) != "{\"\":4,\"\ufffc\":2,\"\ufffd\":1,\"\U00010000\":3}" {
		t.Errorf("%s %v", text, err)
	}
}

// A member of a newer schema keeps its number and is told in JSON; a type
// without a value, and a value without a type, are malformed.
func TestUnionsOfNewerWriters(t *testing.T) {
	payload, err := (&language.ShapeBox{Value: &language.Circle{R: 2}}).AppendNova(nil)
	if err != nil {
		t.Fatal(err)
	}
	layout := language.Schema.Layout()
	table := layout.EventByName("shape").Table
	// The root's vtable stands at 8: sizes, then type and value.
	vtable := bytes.Clone(payload[8:16])
	root := 8 + len(vtable)
	newer := bytes.Clone(payload)
	newer[root+int(vtable[4])] = 7
	var out language.ShapeBox
	if err := out.UnmarshalNova(newer); err != nil || out.Value != (nova.UnknownMember{ID: 7}) {
		t.Errorf("%v %v", out.Value, err)
	}
	if text, err := layout.AppendJSON(nil, table, newer); err != nil || string(text) != `{"kind":"unknown:7"}` {
		t.Errorf("%s %v", text, err)
	}
	if _, err := layout.EncodeJSON(nil, table, []byte(`{"kind":"unknown:7"}`)); err == nil || !strings.Contains(err.Error(), `write one of "circle", "square"`) {
		t.Errorf("encoded: %v", err)
	}
	for _, entry := range []int{12, 14} {
		half := bytes.Clone(payload)
		half[entry], half[entry+1] = 0, 0
		err := out.UnmarshalNova(half)
		if err == nil || !strings.Contains(err.Error(), "value: a union has a type without a value, or a value without a type") {
			t.Errorf("%v", err)
		}
		if _, other := layout.AppendJSON(nil, table, half); other == nil || other.Error() != err.Error() {
			t.Errorf("%v and %v", err, other)
		}
	}
	none := bytes.Clone(payload)
	clear(none[12:16])
	if err := out.UnmarshalNova(none); err != nil || !reflect.DeepEqual(out.Value, &language.Circle{}) {
		t.Errorf("a missing union reads as %v %v", out.Value, err)
	}
}

// Damaged bytes are a value or one and the same error to generated and
// schema-driven code, and what is read can be read again.
func TestHostileBytes(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	layout := language.Schema.Layout()
	decoders := map[string]func([]byte) error{
		"nums": new(language.Nums).UnmarshalNova, "grid": new(language.Grid).UnmarshalNova, "maps": new(language.Maps).UnmarshalNova,
		"drawing": new(language.Drawing).UnmarshalNova, "tree": new(language.Node).UnmarshalNova, "formula": new(language.Formula).UnmarshalNova,
		"both": new(language.Both).UnmarshalNova, "shape": new(language.ShapeBox).UnmarshalNova, "tags": new(language.TagsBox).UnmarshalNova,
		"note": new(language.NoteBox).UnmarshalNova, "maybe": new(language.MaybeBox).UnmarshalNova, "dict": new(language.DictBox).UnmarshalNova,
	}
	b := newBatch(t)
	if !b.add(t, "language", string(readFile(t, "../../testdata/language/schema.json"))) {
		t.Fatal("refused")
	}
	for i, e := range layout.Events {
		for range 60 {
			s := b.schemas[0].draw(t, drawer{rng}, i)
			for range 40 {
				bad := bytes.Clone(s.payload)
				switch rng.IntN(3) {
				case 0:
					bad[rng.IntN(len(bad))] = byte(rng.Uint32())
				case 1:
					bad[rng.IntN(len(bad))] ^= 1 << rng.IntN(8)
				default:
					bad = bad[:rng.IntN(len(bad))]
				}
				err := decoders[e.Name](bad)
				text, other := layout.AppendJSON(nil, e.Table, bad)
				if (err == nil) != (other == nil) || err != nil && err.Error() != other.Error() {
					t.Fatalf("%s: generated code says %v, the schema-driven codec %v\n%x", e.Name, err, other, bad)
				}
				if err == nil && !json.Valid(text) {
					t.Fatalf("no JSON: %s", text)
				}
			}
		}
	}
}

// The C++ verifier, which checks what flatc does not look at (alignment, bounds,
// required keys), accepts what the encoders write.
func TestVerifierAccepts(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	d := drawer{rand.New(rand.NewPCG(seed, 0))}
	verifier := golden.StartVerifier(t, golden.WriteFBS(t, readFile(t, "../../testdata/language/fbs/backend.fbs")))
	b := newBatch(t)
	if !b.add(t, "language", string(readFile(t, "../../testdata/language/schema.json"))) {
		t.Fatal("refused")
	}
	for i, e := range b.schemas[0].model.Events {
		for range 100 {
			s := b.schemas[0].draw(t, d, i)
			if !verifier.Accepts(t, e.Table.FbsName, s.payload) {
				t.Fatalf("refused: %s\n%x\n%s", e.Name, s.payload, s.nova)
			}
		}
	}
}
