// Package codectest tests the generated types of a schema. `nova generate --tests`
// writes the tests that call it; it needs no server.
package codectest

import (
	"bytes"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/ignex/nova"
	"github.com/ignex/nova/wire"
)

// values is how many random values of a type one test makes.
const values = 200

// RoundTrip makes random values of the payload type T, which the schema calls
// name, and checks that the generated code and the schema-driven codec write the
// same bytes of them and read the same back. The seed is random and logged; the
// environment variable NOVA_SEED repeats one.
func RoundTrip[T any, M nova.Message[T]](t *testing.T, schema *nova.Schema, name string) {
	t.Helper()
	seed := rand.Uint64() >> 1
	if text := os.Getenv("NOVA_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("NOVA_SEED: %v", err)
		}
	}
	t.Logf("seed %d", seed)
	layout, table := find(t, schema, name)
	d := drawer{layout, rand.New(rand.NewPCG(seed, 0))}
	for range values {
		text, payload := d.payload(t, table)
		v := M(new(T))
		if err := v.UnmarshalNova(payload); err != nil {
			t.Fatalf("decode %s: %v (seed %d)", text, err, seed)
		}
		if err := v.CheckInt64(); err != nil {
			t.Fatalf("%s: %v (seed %d)", text, err, seed)
		}
		again, err := v.AppendNova(nil)
		if err != nil || !bytes.Equal(again, payload) {
			t.Fatalf("%s is encoded as\n%x (%v), want\n%x (seed %d)", text, again, err, payload, seed)
		}
		back, err := layout.AppendJSON(nil, table, again)
		if err != nil {
			t.Fatalf("read %s: %v (seed %d)", text, err, seed)
		}
		if again, err = layout.EncodeJSON(nil, table, back); err != nil || !bytes.Equal(again, payload) {
			t.Fatalf("%s is read back as\n%s (%v, seed %d)", text, back, err, seed)
		}
	}
}

// Fuzz feeds payloads to the generated decoder of T: it must refuse what the
// schema-driven decoder refuses, and a value that it returns and that can be
// encoded must be the same after another round trip.
func Fuzz[T any, M nova.Message[T]](f *testing.F, schema *nova.Schema, name string) {
	layout, table := find(f, schema, name)
	d := drawer{layout, rand.New(rand.NewPCG(1, 2))}
	for range 8 {
		_, payload := d.payload(f, table)
		f.Add(payload)
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		v := M(new(T))
		err := v.UnmarshalNova(payload)
		if _, other := layout.AppendJSON(nil, table, payload); (err == nil) != (other == nil) {
			t.Fatalf("the generated decoder says %v, the schema-driven one %v", err, other)
		}
		if err != nil {
			return
		}
		if c, ok := any(v).(interface{ Validate() error }); ok {
			_ = c.Validate() // either answer is right, as long as there is one
		}
		first, err := v.AppendNova(nil)
		if err != nil {
			return // a member of a newer schema
		}
		w := M(new(T))
		if err := w.UnmarshalNova(first); err != nil {
			t.Fatalf("decode what was encoded: %v", err)
		}
		if second, err := w.AppendNova(nil); err != nil || !bytes.Equal(first, second) {
			t.Fatalf("encoded twice:\n%x\n%x (%v)", first, second, err)
		}
	})
}

// Benchmark measures encoding and decoding values of T, always the same ones.
func Benchmark[T any, M nova.Message[T]](b *testing.B, schema *nova.Schema, name string) {
	layout, table := find(b, schema, name)
	d := drawer{layout, rand.New(rand.NewPCG(1, 2))}
	var payloads [][]byte
	var list []M
	size := 0
	for range 16 {
		_, payload := d.payload(b, table)
		v := M(new(T))
		if err := v.UnmarshalNova(payload); err != nil {
			b.Fatal(err)
		}
		payloads, list, size = append(payloads, payload), append(list, v), size+len(payload)
	}
	b.Run("Append", func(b *testing.B) {
		b.SetBytes(int64(size / len(list)))
		b.ReportAllocs()
		var buf []byte
		for i := 0; b.Loop(); i++ {
			var err error
			if buf, err = list[i%len(list)].AppendNova(buf[:0]); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Unmarshal", func(b *testing.B) {
		b.SetBytes(int64(size / len(list)))
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if err := M(new(T)).UnmarshalNova(payloads[i%len(payloads)]); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// find returns the index of a type of the schema.
func find(t testing.TB, schema *nova.Schema, name string) (*wire.Layout, int) {
	t.Helper()
	layout := schema.Layout()
	for i := range layout.Tables {
		if layout.Tables[i].Name == name {
			return layout, i
		}
	}
	t.Fatalf("schema %s has no type %s; run nova generate again", schema.Name(), name)
	return nil, 0
}
