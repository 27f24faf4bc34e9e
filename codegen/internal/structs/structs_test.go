package structs_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/codegen/internal/structs"
	"github.com/ignex/nova/codegen/internal/structs/corners"
	"github.com/ignex/nova/codegen/internal/structs/money"
	"github.com/ignex/nova/wire"
)

type message interface {
	AppendNova(dst []byte) ([]byte, error)
	UnmarshalNova(payload []byte) error
	CheckInt64() error
}

func encode(t *testing.T, m message) []byte {
	t.Helper()
	payload, err := m.AppendNova(nil)
	if err != nil {
		t.Fatal(err)
	}
	return payload
}

func quote() structs.Quote {
	q := structs.Quote{Symbol: "AAPL", Bid: 1.5, Ask: 2, Size: 3, Side: structs.Buy, Secret: "s"}
	q.ID, q.At, q.Note = 7, time.UnixMilli(1_700_000_000_123).UTC(), "embedded"
	return q
}

func TestFieldsKeepTheirGoTypes(t *testing.T) {
	in := quote()
	var out structs.Quote
	if err := out.UnmarshalNova(encode(t, &in)); err != nil || out != in {
		t.Fatalf("%v\nin  %+v\nout %+v", err, in, out)
	}
	table := structs.Schema.Layout().EventByName("quote").Table
	text, err := structs.Schema.Layout().AppendJSON(nil, table, encode(t, &in))
	want := `{"id":7,"At":1700000000123,"note":"embedded","symbol":"AAPL","bid":1.5,"ask":2,"size":3,"side":"buy","live":false,"secret":"s"}`
	if err != nil || string(text) != want {
		t.Errorf("%s %v", text, err)
	}
}

// What a field held before decoding is gone; unmapped fields are left alone.
func TestReuse(t *testing.T) {
	one := 1
	full := structs.Kinds{Skip: "mine", Maybe: &money.Amount{}, Null: new(int64), Tags: map[string]int{"a": 1},
		Opts: structs.Options{Int: &one, Raw: []byte{1}}, Zeros: structs.Zeros{Int: 1, Side: structs.Buy, Time: time.Now()}}
	empty := structs.Kinds{Money: money.Amount{Currency: money.Dollar}}
	if err := full.UnmarshalNova(encode(t, &empty)); err != nil {
		t.Fatal(err)
	}
	if full.Skip != "mine" || full.Maybe != nil || full.Null != nil || len(full.Tags) != 0 || full.Tags == nil ||
		!reflect.ValueOf(full.Opts).IsZero() || full.Zeros != (structs.Zeros{}) || full.Money.Currency != money.Dollar {
		t.Errorf("%+v", full)
	}
	if full.Lists.May != nil || full.Lists.None != nil || full.Lists.Names == nil || full.Maps.May != nil || full.Maps.Deep == nil {
		t.Errorf("nil and empty: %+v %+v", full.Lists, full.Maps)
	}
}

// An older writer's table has no field at all.
func TestMissingFields(t *testing.T) {
	old := []byte{12, 0, 0, 0, 8, 0, 0, 0, 4, 0, 4, 0, 4, 0, 0, 0}
	var k structs.Kinds
	if err := k.UnmarshalNova(old); err != nil {
		t.Fatal(err)
	}
	if !k.When.Equal(time.UnixMilli(0)) || k.Money.Currency != money.Euro || k.Lists.Held == nil || k.Maps.Held == nil || k.Tags == nil || k.Raw == nil {
		t.Errorf("%+v", k)
	}
	encode(t, &k)
	var d structs.Drawing
	if err := d.UnmarshalNova(old); err != nil {
		t.Fatal(err)
	}
	if _, ok := d.First.(*structs.Circle); !ok || d.Maybe != nil || d.Null != nil || d.Named == nil {
		t.Errorf("%+v", d)
	}
	encode(t, &d)
}

func TestWhatCannotBeEncoded(t *testing.T) {
	loop := &structs.Node{Name: "a"}
	loop.Next = loop
	side := structs.Side("")
	for want, m := range map[string]message{
		`side: "hold" is no Side: want one of "sell", "buy"`:          &structs.Quote{Side: "hold"},
		`opts.side: "" is no Side`:                                    &structs.Kinds{Money: money.Amount{Currency: "EUR"}, Opts: structs.Options{Side: &side}},
		`money.currency: "" is no Currency: want one of "EUR", "USD"`: &structs.Kinds{},
		`held[1]: no value`:                                           &structs.Node{Held: []*structs.Node{{}, nil}},
		`named["x"]: no value`:                                        &structs.Node{Named: map[string]*structs.Node{"x": nil}},
		`kids[0].held[0]: no value`:                                   &structs.Node{Kids: []structs.Node{{Held: []*structs.Node{nil}}}},
		`nested deeper than 64`:                                       loop,
		`first: no value; set a member of Shape`:                      &structs.Drawing{},
		`first.shapes[1]: member 9`:                                   &structs.Drawing{First: &structs.Group{Shapes: []structs.Shape{&structs.Circle{}, nova.UnknownMember{ID: 9}}}},
		`quotes[0].side: "" is no Side`:                               &structs.Found{Quotes: []structs.Quote{{}}},
		`sides[0]: "left" is no Side`:                                 &structs.Find{Sides: []structs.Side{"left"}},
		`lists.held[0]: no value`:                                     &structs.Kinds{Money: money.Amount{Currency: "EUR"}, Lists: structs.Lists{Held: []*money.Amount{nil}}},
		`maps.sides["k"]: "x" is no Side`:                             &structs.Kinds{Money: money.Amount{Currency: "EUR"}, Maps: structs.Maps{Sides: map[string]structs.Side{"k": "x"}}},
	} {
		_, err := m.AppendNova(nil)
		var refused *wire.EncodeError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestInt64Guard(t *testing.T) {
	q := quote()
	q.ID = 1 << 53
	far := time.UnixMilli(1 << 60)
	for path, m := range map[string]message{
		"id":                  &q,
		"when":                &structs.Kinds{Money: money.Amount{Currency: "EUR"}, When: far},
		"opts.time":           &structs.Kinds{Money: money.Amount{Currency: "EUR"}, Opts: structs.Options{Time: &far}},
		"zeros.int":           &structs.Kinds{Money: money.Amount{Currency: "EUR"}, Zeros: structs.Zeros{Int: -1 << 60}},
		"lists.times[0]":      &structs.Kinds{Money: money.Amount{Currency: "EUR"}, Lists: structs.Lists{Times: []time.Time{far}}},
		"lists.cube[0][1][0]": &structs.Kinds{Money: money.Amount{Currency: "EUR"}, Lists: structs.Lists{Cube: [][][]int{{{}, {1 << 60}}}}},
		`maps.deep["a"]["b"]`: &structs.Kinds{Money: money.Amount{Currency: "EUR"}, Maps: structs.Maps{Deep: map[string]map[structs.Symbol]int{"a": {"b": 1 << 60}}}},
		"lists.held[0].cents": &structs.Kinds{Money: money.Amount{Currency: "EUR"}, Lists: structs.Lists{Held: []*money.Amount{{Cents: 1 << 60, Currency: "EUR"}}}},
	} {
		var unsafe *wire.Int64Error
		if err := m.CheckInt64(); !errors.As(err, &unsafe) || unsafe.Path != path {
			t.Errorf("%v, want %s", err, path)
		}
	}
	if err := (&structs.Kinds{Money: money.Amount{Currency: "EUR"}, Big: 1 << 60, U64: 1 << 63}).CheckInt64(); err != nil {
		t.Error(err)
	}
}

func TestValidate(t *testing.T) {
	for want, m := range map[string]interface{ Validate() error }{
		"symbol: must have at least 1 characters": &structs.Find{},
		"symbol: must match ^[A-Z,]+$":            &structs.Find{Symbol: "aapl"},
		"limit: must be at most 100":              &structs.Find{Symbol: "A", Limit: 101},
		"sides: must not hold an element twice":   &structs.Find{Symbol: "A", Sides: []structs.Side{"buy", "buy"}},
		"/quotes/0/ask: must be at least 0":       &structs.Found{Quotes: []structs.Quote{{Side: "buy", Ask: -1}}},
	} {
		if err := m.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if err := (&structs.Find{Symbol: "A,B", Sides: []structs.Side{"buy", "sell"}}).Validate(); err != nil { // no limit is no limit of 0
		t.Error(err)
	}
}

func TestHostileBytes(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	q := quote()
	drawing := structs.Drawing{First: &structs.Group{Shapes: []structs.Shape{&structs.Square{Side: 2, Marks: []structs.Level{1}}}}, Named: map[string]structs.Shape{"a": &structs.Circle{R: 1}}}
	tree := structs.Node{Next: &structs.Node{}, Held: []*structs.Node{{Name: "x"}}, Named: map[string]*structs.Node{"k": {}}}
	for _, m := range []message{&q, &drawing, &tree, &structs.Found{Quotes: []structs.Quote{q}}} {
		good := encode(t, m)
		for n := range good {
			if m.UnmarshalNova(good[:n]) == nil {
				t.Fatalf("%T: %d of %d bytes were accepted", m, n, len(good))
			}
			for _, b := range []byte{0, 1, 0x7f, 0x80, 0xff, byte(rng.Uint32())} {
				bad := bytes.Clone(good)
				bad[n] = b
				var malformed *wire.DecodeError
				if err := m.UnmarshalNova(bad); err != nil && !errors.As(err, &malformed) {
					t.Fatalf("%T: byte %d = %#x: %v", m, n, b, err)
				}
			}
		}
	}
}

func TestEncodingDoesNotAllocate(t *testing.T) {
	q := quote()
	buffer := make([]byte, 0, 1024)
	if n := testing.AllocsPerRun(100, func() { _, _ = q.AppendNova(buffer) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// What is written by hand stays, and what is not sent is not touched.
func TestHandWrittenValidate(t *testing.T) {
	var m corners.Map
	m.Name, m.Base.Name = "near", "far"
	if err := m.Validate(); err != nil {
		t.Error(err)
	}
	out := corners.Map{Lock: make(chan int)}
	if err := out.UnmarshalNova(encode(t, &m)); err != nil || out.Name != "near" || out.Base.Name != "" || out.Lock == nil {
		t.Error(err, out)
	}
}
