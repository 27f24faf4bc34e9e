// Package roundtrip tests the Go code generated for testdata/kinds: it compiles
// against the runtime, and random values survive encoding and decoding.
package roundtrip

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	kinds "github.com/ignex/nova/codegen/testdata/kinds/go"
	"github.com/ignex/nova/wire"
)

// message is what every generated payload type has.
type message interface {
	AppendNova(dst []byte) ([]byte, error)
	UnmarshalNova(payload []byte) error
	CheckInt64() error
}

func messages() []message {
	return []message{&kinds.Kinds{}, &kinds.Lists{}, &kinds.Optionals{}, &kinds.Nullables{}, &kinds.Both{},
		&kinds.Empty{}, &kinds.Flags{}, &kinds.Hole{}, &kinds.Point{}, &kinds.Sparse{}, &kinds.Group{}}
}

func TestRandomValues(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	gen := generator{Rand: rand.New(rand.NewPCG(seed, 1))}
	for _, m := range messages() {
		typ := reflect.TypeOf(m).Elem()
		t.Run(typ.Name(), func(t *testing.T) {
			for range 2000 {
				roundtrip(t, gen.value(typ), gen)
			}
		})
	}
}

// roundtrip encodes at a random place of a buffer and decodes into a value that
// held something else before.
func roundtrip(t *testing.T, in reflect.Value, gen generator) {
	t.Helper()
	prefix := bytes.Repeat([]byte{0xAA}, gen.IntN(20))
	whole, err := in.Interface().(message).AppendNova(prefix)
	if err != nil {
		t.Fatalf("encode %+v: %v", in, err)
	}
	payload := whole[len(prefix):]
	alone, err := in.Interface().(message).AppendNova(nil)
	if err != nil || !bytes.Equal(alone, payload) {
		t.Fatalf("the bytes depend on the place in the buffer: % x and % x", alone, payload)
	}
	out := gen.value(in.Type().Elem())
	if err := out.Interface().(message).UnmarshalNova(payload); err != nil {
		t.Fatalf("decode %+v: %v", in, err)
	}
	if !equal(in.Elem(), out.Elem()) {
		t.Fatalf("in  %+v\nout %+v", in, out)
	}
	if gen.IntN(100) > 0 {
		return
	}
	reserved := make([]byte, 0, len(payload))
	if n := testing.AllocsPerRun(20, func() { _, _ = in.Interface().(message).AppendNova(reserved) }); n != 0 {
		t.Fatalf("encoding into a large enough buffer allocates %v times", n)
	}
}

// equal compares bit by bit; nil and empty differ.
func equal(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.Float64:
		return math.Float64bits(a.Float()) == math.Float64bits(b.Float())
	case reflect.Slice:
		if a.IsNil() != b.IsNil() || a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !equal(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() == b.IsNil()
		}
		return equal(a.Elem(), b.Elem())
	case reflect.Struct:
		for i := range a.NumField() {
			if !equal(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	}
	return a.Interface() == b.Interface()
}

func TestHostileBytes(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	gen := generator{Rand: rand.New(rand.NewPCG(seed, 2))}
	for _, m := range messages() {
		in := gen.value(reflect.TypeOf(m).Elem())
		good, err := in.Interface().(message).AppendNova(nil)
		if err != nil {
			t.Fatal(err)
		}
		for n := range good {
			if err := m.UnmarshalNova(good[:n]); err == nil {
				t.Fatalf("%T: %d of %d bytes were accepted", m, n, len(good))
			}
			for _, b := range []byte{0, 1, 0x7f, 0x80, 0xff, byte(gen.Uint32())} {
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

func TestMissingFields(t *testing.T) {
	// An older writer's table without any field: size prefix, root offset,
	// vtable of 4 bytes, table of 4 bytes.
	old := []byte{12, 0, 0, 0, 8, 0, 0, 0, 4, 0, 4, 0, 4, 0, 0, 0}
	var lists kinds.Lists
	if err := lists.UnmarshalNova(old); err != nil {
		t.Fatal(err)
	}
	v := reflect.ValueOf(lists)
	for i := range v.NumField() {
		if v.Field(i).IsNil() || v.Field(i).Len() != 0 {
			t.Errorf("%s = %v, want an empty list that is not nil", v.Type().Field(i).Name, v.Field(i))
		}
	}
	var both kinds.Both
	if err := both.UnmarshalNova(old); err != nil {
		t.Fatal(err)
	}
	if v := reflect.ValueOf(both); !v.IsZero() {
		t.Errorf("absent fields are not nil: %+v", both)
	}
	var one kinds.Kinds
	if err := one.UnmarshalNova(old); err != nil {
		t.Fatal(err)
	}
	if one.Bytes == nil || one.Color != kinds.ColorRed || one.Text != "" {
		t.Errorf("missing required fields read as %+v", one)
	}
}

func TestCheckInt64(t *testing.T) {
	big := int64(1<<53 + 1)
	kind := kinds.ColorBlue
	cases := []struct {
		path  string
		value message
	}{
		{"whole", &kinds.Kinds{Whole: big}},
		{"level", &kinds.Kinds{Level: -big}},
		{"wholeList[1]", &kinds.Lists{WholeList: []int64{1, big}}},
		{"sparseList[2].id", &kinds.Lists{SparseList: []kinds.Sparse{{}, {}, {ID: big}}}},
		{"whole", &kinds.Both{Whole: &big}},
		{"", &kinds.Kinds{Big: big}},
		{"", &kinds.Lists{BigList: []int64{big}}},
		{"", &kinds.Both{Big: &big, Color: &kind}},
		{"", &kinds.Both{}},
		{"", &kinds.Point{}},
		{"", &kinds.Kinds{Whole: 1<<53 - 1}},
	}
	for _, c := range cases {
		err := c.value.CheckInt64()
		var unsafe *wire.Int64Error
		switch {
		case c.path == "" && err != nil:
			t.Errorf("%T: %v", c.value, err)
		case c.path != "" && (!errors.As(err, &unsafe) || unsafe.Path != c.path):
			t.Errorf("%T: error %v, want one at %s", c.value, err, c.path)
		}
	}
}

func TestEnum(t *testing.T) {
	for _, s := range []string{"red", "green", "blue", "unknown:7", "unknown:-1"} {
		c, err := kinds.ParseColor(s)
		if err != nil || c.String() != s {
			t.Errorf("ParseColor(%q) = %v, %v", s, c, err)
		}
		if c.Valid() != (c >= 0 && c <= 2) {
			t.Errorf("Valid(%v) = %v", c, c.Valid())
		}
	}
	for _, s := range []string{"", "Red", "unknown:", "unknown:07", "unknown:+7", "unknown:2147483648", "7"} {
		if c, err := kinds.ParseColor(s); err == nil {
			t.Errorf("ParseColor(%q) = %v without an error", s, c)
		}
	}
}
