// Package language tests the whole grammar of schemas: random ones are generated,
// compiled and vetted, and random values of them mean the same to the
// schema-driven codec, to generated Go and TypeScript, and to flatc.
package language

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// perBatch is how many schemas are compiled into one program.
const perBatch = 100

// TestRandomSchemas draws NOVA_SCHEMAS schemas (default 15). NOVA_SEED repeats
// a run.
func TestRandomSchemas(t *testing.T) {
	total := fromEnv(t, "NOVA_SCHEMAS", 15)
	seed := fromEnv(t, "NOVA_SEED", rand.Uint64()>>1)
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for done := uint64(0); done < total; done += perBatch {
		b := newBatch(t)
		g := &grammar{Rand: rng}
		drawn := 0
		for len(b.schemas) < int(min(perBatch, total-done)) {
			name := fmt.Sprintf("s%d", len(b.schemas))
			b.add(t, name, g.document(name))
			if drawn++; drawn > 100+4*perBatch {
				t.Fatalf("only %d of %d schemas are accepted", len(b.schemas), drawn)
			}
		}
		b.check(t, drawer{rng}, 4)
		t.Logf("%d schemas agree", done+uint64(len(b.schemas)))
	}
}

func fromEnv(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// check compares what all codecs make of n values of each event, and what ours
// make of the given ones.
func (b *batch) check(t *testing.T, d drawer, n int, given ...*sample) {
	t.Helper()
	samples := b.draw(t, d, n)
	b.checkCode(t, append(given, samples...))
	b.checkFlatc(t, samples)
	b.checkNPM(t, samples)
}

// draw makes n values of each event.
func (b *batch) draw(t *testing.T, d drawer, n int) []*sample {
	t.Helper()
	var samples []*sample
	for _, s := range b.schemas {
		for i := range s.model.Events {
			for range n {
				samples = append(samples, s.draw(t, d, i))
			}
		}
	}
	return samples
}

// checkCode compares generated Go and TypeScript, what they find invalid too.
func (b *batch) checkCode(t *testing.T, samples []*sample) {
	t.Helper()
	b.program = b.buildGo(t)
	for i, line := range ask(t, samples, b.program) {
		s := samples[i]
		parts := strings.SplitN(line, "\t", 3)
		if len(parts) != 3 || parts[0] != hex.EncodeToString(s.payload) {
			t.Fatalf("Go wrote\n%s\nfor\n%x\n%s\n%s", line, s.payload, s.nova, s.of.source)
		}
		s.verdict = parts[1]
	}
	b.checkTypeScript(t, samples)
}

// checkTypeScript compares with what the generated TypeScript reads, writes and
// finds invalid.
func (b *batch) checkTypeScript(t *testing.T, samples []*sample) {
	t.Helper()
	b.script = b.buildTypeScript(t)
	for i, line := range ask(t, samples, "node", b.script) {
		s := samples[i]
		parts := strings.SplitN(line, "\t", 3)
		if len(parts) != 3 || parts[0] != hex.EncodeToString(s.payload) {
			t.Fatalf("TypeScript wrote\n%s\nfor\n%x\n%s\n%s", line, s.payload, s.nova, s.of.source)
		}
		if !sameJSON(t, []byte(parts[2]), s.nova) {
			t.Fatalf("TypeScript read\n%s\nwant\n%s\n%s", parts[2], s.nova, s.of.source)
		}
		if parts[1] != s.verdict {
			t.Fatalf("TypeScript finds %s\nGo finds %s\n%s\n%s", parts[1], s.verdict, s.nova, s.of.source)
		}
	}
}

// draw makes a value of event i and its bytes, and reads them back.
func (s *drawn) draw(t *testing.T, d drawer, i int) *sample {
	t.Helper()
	e := s.model.Events[i]
	nova, flat := d.one(fieldOf(e.Table), 0)
	text, err := json.Marshal(nova)
	if err != nil {
		t.Fatal(err)
	}
	table := s.layout.Events[i].Table
	payload, err := s.layout.EncodeJSON(nil, table, text)
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, text, s.source)
	}
	back, err := s.layout.AppendJSON(nil, table, payload)
	if err != nil || !sameJSON(t, back, text) {
		t.Fatalf("the schema-driven codec read %v\n%s\nwant\n%s\n%s", err, back, text, s.source)
	}
	return &sample{of: s, event: e, nova: text, flat: flat, payload: payload}
}

// checkFlatc compares with what flatc prints of the bytes, and reads what flatc
// writes.
func (b *batch) checkFlatc(t *testing.T, samples []*sample) {
	t.Helper()
	groups := map[string][]int{}
	var order []string
	for i, s := range samples {
		key := s.of.name + " " + s.event.Table.FbsName
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], i)
	}
	for _, key := range order {
		list := groups[key]
		s := samples[list[0]]
		dir := b.path(s.of.name, "flat"+s.event.Table.FbsName)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		print := []string{"--json", "--strict-json", "--raw-binary", "--size-prefixed", "--root-type", s.event.Table.FbsName, b.path(s.of.name, "backend.fbs"), "--"}
		write := []string{"--binary", "--size-prefixed", "--root-type", s.event.Table.FbsName, b.path(s.of.name, "backend.fbs")}
		for _, i := range list {
			writeFile(t, filepath.Join(dir, fmt.Sprintf("v%d.bin", i)), samples[i].payload)
			text, err := json.Marshal(samples[i].flat)
			if err != nil {
				t.Fatal(err)
			}
			writeFile(t, filepath.Join(dir, fmt.Sprintf("w%d.json", i)), text)
			print, write = append(print, filepath.Join(dir, fmt.Sprintf("v%d.bin", i))), append(write, filepath.Join(dir, fmt.Sprintf("w%d.json", i)))
		}
		for _, args := range [][]string{print, write} {
			if out, err := exec.Command("flatc", append([]string{"-o", dir}, args...)...).CombinedOutput(); err != nil || len(out) > 0 {
				t.Fatalf("flatc: %v\n%s\n%s", err, out, s.of.source)
			}
		}
		for _, i := range list {
			s := samples[i]
			printed, want := readFile(t, filepath.Join(dir, fmt.Sprintf("v%d.json", i))), readFile(t, filepath.Join(dir, fmt.Sprintf("w%d.json", i)))
			if !sameJSON(t, printed, want) {
				t.Fatalf("flatc printed\n%s\nwant\n%s\n%s\n%s", printed, want, s.nova, s.of.source)
			}
			table := s.of.layout.EventByName(s.event.Name).Table
			back, err := s.of.layout.AppendJSON(nil, table, readFile(t, filepath.Join(dir, fmt.Sprintf("w%d.bin", i))))
			if err != nil || !sameJSON(t, back, s.nova) {
				t.Fatalf("of flatc's bytes: %v\n%s\nwant\n%s\n%s", err, back, s.nova, s.of.source)
			}
		}
	}
}

func writeFile(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// sameJSON compares two texts; numbers are equal when they are one double or one
// spelling, maps in any order.
func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	return reflect.DeepEqual(parsed(t, a), parsed(t, b))
}

func parsed(t *testing.T, text []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return normal(v)
}

// normal makes of each number one spelling.
func normal(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			v[k] = normal(x)
		}
	case []any:
		for i, x := range v {
			v[i] = normal(x)
		}
	case json.Number:
		if _, err := v.Int64(); err == nil {
			return v
		}
		if f, err := v.Float64(); err == nil && f != float64(uint64(max(f, 0))) || err == nil && f < 1<<53 && f > -1<<53 {
			return json.Number(strconv.FormatFloat(f, 'f', -1, 64))
		}
	}
	return v
}
