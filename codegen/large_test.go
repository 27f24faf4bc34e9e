package codegen_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/ignex/nova/codegen"
	"github.com/ignex/nova/schema"
)

// largeSchema is a document of n types: objects with properties of all kinds
// that hold each other, enums, unions and maps; every tenth is an event.
func largeSchema(n int) []byte {
	var defs, events strings.Builder
	for i := range n {
		if i > 0 {
			defs.WriteString(",\n")
		}
		switch i % 10 {
		case 3:
			fmt.Fprintf(&defs, `"T%d":{"enum":["alpha","beta","gamma-%d"]}`, i, i)
		case 7:
			fmt.Fprintf(&defs, `"T%d":{"anyOf":[{"$ref":"#/$defs/T%d"},{"$ref":"#/$defs/T%d"}]}`, i, i-1, i-2)
		default:
			fmt.Fprintf(&defs, `"T%d":{"description":"Type %d","type":"object","properties":{"kind":{"const":"t%d"},"id":{"type":"string","minLength":1},
				"n":{"type":"integer"},"x":{"type":"number","minimum":0},"flag":{"type":"boolean"},"names":{"type":"array","items":{"type":"string"}},
				"labels":{"type":"object","additionalProperties":{"type":"string"}},"state":{"$ref":"#/$defs/T%d"},"inner":{"$ref":"#/$defs/T%d"},
				"list":{"type":"array","items":{"$ref":"#/$defs/T%d"}}},"required":["kind","id","n","x","names","state"]}`,
				i, i, i, i-i%10+3, max(0, i-10), max(0, i-20))
		}
		if i%10 == 9 {
			if events.Len() > 0 {
				events.WriteString(",\n")
			}
			fmt.Fprintf(&events, `"e%d":{"type":"object","properties":{`, i)
			for j := i - 9; j <= i; j++ {
				fmt.Fprintf(&events, `"p%d":{"$ref":"#/$defs/T%d"},`, j, j)
			}
			events.WriteString(`"last":{"type":"string"}}}`)
		}
	}
	return fmt.Appendf(nil, `{"package":"large","$defs":{%s},"events":{%s}}`, &defs, &events)
}

func generateLarge(tb testing.TB, source []byte, lock *schema.Lock) codegen.Files {
	tb.Helper()
	m, err := schema.Read("large.json", source, schema.Options{Lock: lock})
	if err != nil {
		tb.Fatal(err)
	}
	files, err := codegen.Generate(m, codegen.Options{GoTests: true})
	if err != nil {
		tb.Fatal(err)
	}
	return append(files, codegen.File{Name: codegen.LockName, Data: schema.NewLock(m).Encode()})
}

// The second generation stands on the lock file of the first, and is the same.
func TestLargeSchemaIsTheSameEveryTime(t *testing.T) {
	source := largeSchema(500)
	first := generateLarge(t, source, nil)
	lock, err := schema.ReadLock(codegen.LockName, first[len(first)-1].Data)
	if err != nil {
		t.Fatal(err)
	}
	for _, again := range []*schema.Lock{nil, lock} {
		for i, f := range generateLarge(t, source, again) {
			if !bytes.Equal(f.Data, first[i].Data) {
				t.Errorf("%s differs between two runs (with the lock: %t)", f.Name, again != nil)
			}
		}
	}
}

// BenchmarkGenerate500Types is held to two seconds of a machine that does nothing
// else: Go with tests, TypeScript, .fbs, registry and lock.
func BenchmarkGenerate500Types(b *testing.B) {
	source := largeSchema(500)
	for b.Loop() {
		generateLarge(b, source, nil)
	}
}
