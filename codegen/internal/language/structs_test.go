package language

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/ignex/nova"
	"github.com/ignex/nova/codegen"
	"github.com/ignex/nova/codegen/internal/structs"
	"github.com/ignex/nova/codegen/internal/structs/corners"
	"github.com/ignex/nova/wire"
)

// again decodes a payload into a Go struct of the user's and encodes it again.
// It tells what Validate finds as the generated programs do.
func again[T any, M nova.Message[T]](payload []byte) ([]byte, string, error) {
	m := M(new(T))
	if err := m.UnmarshalNova(payload); err != nil {
		return nil, "", err
	}
	if err := m.CheckInt64(); err != nil {
		return nil, "", err
	}
	verdict := "valid"
	if v, ok := any(m).(interface{ Validate() error }); ok {
		var broken *wire.ValidationError
		if err := v.Validate(); errors.As(err, &broken) {
			verdict = hex.EncodeToString([]byte(broken.Pointer)) + " " + broken.Message
		} else if err != nil {
			return nil, "", err
		}
	}
	out, err := m.AppendNova(nil)
	return out, verdict, err
}

// TestGoStructs draws values of package structs: the codecs on its types, the
// TypeScript and the .fbs of the same run read and write the same.
func TestGoStructs(t *testing.T) {
	seed := fromEnv(t, "NOVA_SEED", rand.Uint64()>>1)
	t.Logf("seed %d", seed)
	b := newBatch(t)
	b.addStructs(t, "structs", "../structs", structs.Schema)
	b.addStructs(t, "corners", "../structs/corners", corners.Schema)
	samples := b.draw(t, drawer{rand.New(rand.NewPCG(seed, 0))}, 100)
	events := map[string]func([]byte) ([]byte, string, error){
		"quote": again[structs.Quote], "kinds": again[structs.Kinds], "kinds.copy": again[structs.Kinds],
		"tree": again[structs.Node], "drawing": again[structs.Drawing],
		"in-progress.map": again[corners.Map], "self": again[corners.Self],
	}
	for _, s := range samples {
		out, verdict, err := events[s.event.Name](s.payload)
		if err != nil {
			t.Fatalf("%v\n%s", err, s.nova)
		}
		s.verdict = verdict
		if bytes.Equal(out, s.payload) {
			continue
		}
		// Where the zero value means absent, a zero that is there gets lost.
		table := s.of.layout.EventByName(s.event.Name).Table
		text, err := s.of.layout.AppendJSON(nil, table, out)
		if err != nil || !sameJSON(t, withoutZeros(t, text), withoutZeros(t, s.nova)) {
			t.Fatalf("Go wrote %v\n%s\nfor\n%s", err, text, s.nova)
		}
	}
	b.checkTypeScript(t, samples)
	b.checkFlatc(t, samples)
}

// addStructs reads a package of Go structs, with the numbers of its lock.
func (b *batch) addStructs(t *testing.T, name, dir string, generated *nova.Schema) {
	t.Helper()
	model, err := codegen.ReadSchema(codegen.Config{Schema: dir})
	if err != nil {
		t.Fatal(err)
	}
	files, err := codegen.Generate(model, codegen.Options{Targets: []codegen.Target{codegen.TypeScript, codegen.FBS}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := files.Write(codegen.Dirs{codegen.TypeScript: b.path(name), codegen.FBS: b.path(name)}); err != nil {
		t.Fatal(err)
	}
	b.schemas = append(b.schemas, &drawn{name, "the structs in " + dir, model, generated.Layout()})
}

// withoutZeros leaves out what the fields whose zero value means absent do not
// tell from absent.
func withoutZeros(t *testing.T, text []byte) []byte {
	t.Helper()
	v := parsed(t, text).(map[string]any)
	drop := func(m map[string]any, keys ...string) {
		for _, k := range keys {
			if x := m[k]; x == "" || x == false || x == json.Number("0") || x == json.Number("-0") {
				delete(m, k)
			}
		}
	}
	drop(v, "note", "total")
	if zeros, ok := v["zeros"].(map[string]any); ok {
		drop(zeros, "int", "price", "text", "name", "flag", "level")
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
