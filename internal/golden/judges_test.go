package golden_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/ignex/nova/internal/golden"
	"github.com/ignex/nova/wire"
)

const rounds = 120 // random messages per table

// The judges start once for each schema.
func TestJudges(t *testing.T) {
	each(t, func(t *testing.T, s *subject) {
		verifier := golden.StartVerifier(t, s.schema)
		node := golden.StartNode(t, s.layout, s.schema, s.file(t, "index.ts"))
		for _, table := range s.roots() {
			name := s.layout.Tables[table].Name
			t.Run("our bytes/"+name, func(t *testing.T) { testOurBytes(t, s, verifier, node, table) })
			t.Run("their bytes/"+name, func(t *testing.T) { testTheirBytes(t, s, verifier, node, table) })
			t.Run("mutations/"+name, func(t *testing.T) { testMutations(t, s, verifier, node, table) })
			t.Run("printed by flatc/"+name, func(t *testing.T) { testPrinted(t, s, table) })
		}
	})
}

func seeded(t *testing.T, l *wire.Layout) *golden.Random {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return golden.NewRandom(l, seed)
}

// Every writer of ours gives the same bytes; the C++ verifier accepts them; and
// every reader, ours and others', finds the message in them.
func testOurBytes(t *testing.T, s *subject, verifier *golden.Verifier, node *golden.Node, table int) {
	random := seeded(t, s.layout)
	for range rounds {
		v := random.Table(table)
		judgeOurs(t, s, verifier, node, table, v)
		if t.Failed() {
			t.Fatalf("message %s", golden.JSON(s.layout, table, v))
		}
	}
}

// What google's builders write, in Go and in npm, we read alike.
func testTheirBytes(t *testing.T, s *subject, verifier *golden.Verifier, node *golden.Node, table int) {
	random := seeded(t, s.layout)
	for range rounds {
		v := random.Table(table)
		payload := golden.Build(random, table, v)
		if !verifier.Accepts(t, s.layout.Tables[table].Name, payload) {
			t.Fatalf("the C++ verifier rejects what google's builder wrote: %x", payload)
		}
		judgeReaders(t, s, node, table, payload, v)
		payload, err := node.NPMEncode(t, table, v)
		if err != nil {
			t.Fatalf("npm flatbuffers: %v", err)
		}
		judgeReaders(t, s, node, table, payload, golden.AsNPMWrites(s.layout, table, v))
		if t.Failed() {
			t.Fatalf("message %s", golden.JSON(s.layout, table, v))
		}
	}
}

// flatc prints what we wrote.
func testPrinted(t *testing.T, s *subject, table int) {
	random := seeded(t, s.layout)
	random.Finite = true
	var values []golden.Value
	var payloads [][]byte
	for range rounds / 4 {
		v := random.Table(table)
		payload, err := s.layout.EncodeJSON(nil, table, golden.JSON(s.layout, table, v))
		if err != nil {
			t.Fatal(err)
		}
		values, payloads = append(values, v), append(payloads, payload)
	}
	for i, text := range golden.PrintJSON(t, s.schema, s.layout.Tables[table].Name, payloads) {
		if d := golden.DiffPrinted(s.layout, s.schema, table, text, values[i]); d != "" {
			t.Fatalf("flatc printed%s\n%s\nof message %s", d, text, golden.JSON(s.layout, table, values[i]))
		}
	}
}

func judgeOurs(t *testing.T, s *subject, verifier *golden.Verifier, node *golden.Node, table int, v golden.Value) {
	t.Helper()
	name := s.layout.Tables[table].Name
	payload, err := s.layout.EncodeJSON(nil, table, golden.JSON(s.layout, table, v))
	if err != nil {
		t.Fatalf("schema-driven encode: %v", err)
	}
	if m := s.generated(t, table); m != nil {
		golden.Fill(s.layout, table, v, m)
		if m, ok := m.(interface{ CheckInt64() error }); ok && m.CheckInt64() != nil {
			t.Errorf("CheckInt64: %v", m.CheckInt64())
		}
		generated, err := m.AppendNova(nil)
		if err != nil || !bytes.Equal(generated, payload) {
			t.Errorf("generated Go wrote\n%x, %v; the schema-driven codec\n%x", generated, err, payload)
		}
	}
	typescript, err := node.Encode(t, table, v)
	if err != nil || !bytes.Equal(typescript, payload) {
		t.Errorf("TypeScript wrote\n%x, %v; the schema-driven codec\n%x", typescript, err, payload)
	}
	if !verifier.Accepts(t, name, payload) {
		t.Fatalf("the C++ verifier rejects %x", payload)
	}
	if d := golden.Diff(golden.Complete(s.layout, table, golden.Read(s.layout, table, payload)), v); d != "" {
		t.Errorf("google/flatbuffers reads %s", d)
	}
	judgeNPM(t, s, node, table, payload, v)
	judgeReaders(t, s, node, table, payload, v)
}

// judgeNPM reads payload with npm's flatbuffers. It drops a leading BOM of a
// string and cannot tell an absent vector from an empty one.
func judgeNPM(t *testing.T, s *subject, node *golden.Node, table int, payload []byte, v golden.Value) {
	t.Helper()
	got, err := node.NPMDecode(t, table, payload)
	if err != nil {
		t.Errorf("npm flatbuffers: %v", err)
		return
	}
	if d := golden.Diff(got, golden.AsNPMReads(s.layout, table, v)); d != "" {
		t.Errorf("npm flatbuffers reads %s", d)
	}
}

// judgeReaders reads payload, valid and holding v, with each reader of ours.
func judgeReaders(t *testing.T, s *subject, node *golden.Node, table int, payload []byte, v golden.Value) {
	t.Helper()
	if m := s.generated(t, table); m != nil {
		if err := m.UnmarshalNova(payload); err != nil {
			t.Errorf("generated Go: %v", err)
		} else if d := golden.Diff(golden.Extract(s.layout, table, m), v); d != "" {
			t.Errorf("generated Go reads %s", d)
		}
	}
	text, err := s.layout.AppendJSON(nil, table, payload)
	if err != nil {
		t.Errorf("schema-driven codec: %v", err)
	} else if got, err := golden.FromJSON(s.layout, table, text); err != nil {
		t.Errorf("schema-driven codec wrote %s: %v", text, err)
	} else if d := golden.Diff(got, v); d != "" {
		t.Errorf("schema-driven codec reads %s", d)
	}
	got, err := node.Decode(t, table, payload)
	if err != nil {
		t.Errorf("TypeScript: %v", err)
	} else if d := golden.Diff(got, v); d != "" {
		t.Errorf("TypeScript reads %s", d)
	}
}
