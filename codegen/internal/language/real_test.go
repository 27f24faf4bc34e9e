package language

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ignex/nova/schema"
)

// real is a document in the shape of those that real projects have, with sample
// values, or with the errors that it is refused with.
type real struct {
	file, name string
	source     string
	lines      []string // "event JSON" each
	refused    string
}

// TestRealSchemas takes the documents of testdata/real: the schema, a line of
// dashes, and either one "event JSON" a line or the errors expected. Each is
// compiled and vetted in Go and TypeScript, and its values, which keep all
// constraints, and random ones mean the same to all codecs and to flatc.
func TestRealSchemas(t *testing.T) {
	b := newBatch(t)
	seed := fromEnv(t, "NOVA_SEED", rand.Uint64()>>1)
	t.Logf("seed %d", seed)
	var samples []*sample
	for i, r := range readReal(t) {
		pkg := fmt.Sprintf("r%d", i)
		model, err := schema.Read(r.name+".json", []byte(r.source), schema.Options{Package: pkg})
		if err != nil || len(r.lines) == 0 {
			r.expect(t, err)
			continue
		}
		s := b.take(t, pkg, r.source, model)
		for _, line := range r.lines {
			samples = append(samples, s.sample(t, r.name, line))
		}
	}
	b.check(t, drawer{rand.New(rand.NewPCG(seed, 0))}, 2, samples...)
	for _, s := range samples {
		if s.verdict != "valid" {
			t.Errorf("Validate says %s\nof %s", s.verdict, s.nova)
		}
	}
}

// sample encodes a value and reads it back by the schema-driven codec.
func (s *drawn) sample(t *testing.T, name, line string) *sample {
	t.Helper()
	event, text, _ := strings.Cut(line, " ")
	for i, e := range s.model.Events {
		if e.Name != event {
			continue
		}
		table := s.layout.Events[i].Table
		payload, err := s.layout.EncodeJSON(nil, table, []byte(text))
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, text)
		}
		back, err := s.layout.AppendJSON(nil, table, payload)
		if err != nil || !sameJSON(t, back, []byte(text)) {
			t.Fatalf("%s: read back %s (%v)\nwant %s", name, back, err, text)
		}
		return &sample{of: s, event: e, payload: payload, nova: []byte(text)}
	}
	t.Fatalf("%s: no event %q", name, event)
	return nil
}

// expect compares the errors of a schema that is refused.
func (r *real) expect(t *testing.T, err error) {
	t.Helper()
	got := "accepted"
	if err != nil {
		got = err.Error()
	}
	if *update {
		writeFile(t, r.file, []byte(r.source+"---\n"+got+"\n"))
	} else if got != r.refused {
		t.Errorf("%s: got\n%s\nwant\n%s", r.name, got, r.refused)
	}
}

func readReal(t *testing.T) []*real {
	t.Helper()
	files, err := filepath.Glob("testdata/real/*.txt")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d documents: %v", len(files), err)
	}
	var list []*real
	for _, file := range files {
		source, rest, ok := strings.Cut(string(readFile(t, file)), "---\n")
		if !ok {
			t.Fatalf("%s has no line of dashes", file)
		}
		r := &real{file: file, name: strings.TrimSuffix(filepath.Base(file), ".txt"), source: source}
		if rest = strings.TrimSpace(rest); strings.HasPrefix(rest, r.name+".json:") || rest == "" {
			r.refused = rest
		} else {
			r.lines = strings.Split(rest, "\n")
		}
		list = append(list, r)
	}
	return list
}
