package language

import (
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ignex/nova/schema"
)

var update = flag.Bool("update", false, "write the changes and errors found into testdata")

const evolutionFile = "testdata/evolution.txt"

// evolution is one pair of schemas with what one side reads of the other.
type evolution struct {
	name     string
	old, new string // schema of the one event
	lock     string // "", "none", or a replacement in the lock file: A=B
	changes  []string
	values   []*crossing
}

// crossing is a value that one side writes and the other reads.
type crossing struct {
	old     bool // the old side writes
	written string
	read    string // JSON; "" = refused
	golang  string // as encoding/json shows it; "" = like read
	again   bool   // it cannot be written again
}

// TestEvolution reads testdata/evolution.txt; its head says what stands there.
func TestEvolution(t *testing.T) {
	head, cases := readEvolutions(t)
	b := newBatch(t)
	out := head
	var samples, originals []*sample
	var expected []*crossing
	for i, e := range cases {
		older, newer, changes := b.pair(t, fmt.Sprintf("e%d", i), e)
		if !*update && !slices.Equal(changes, e.changes) {
			t.Errorf("%s: nova check says\n%s\nwant\n%s", e.name, strings.Join(changes, "\n"), strings.Join(e.changes, "\n"))
		}
		e.changes = changes
		out += e.text()
		e.agrees(t)
		for _, v := range e.values {
			writer, reader := newer, older
			if v.old {
				writer, reader = older, newer
			}
			original := writer.write(t, v.written)
			originals = append(originals, original)
			samples = append(samples, &sample{of: reader, event: reader.model.Events[0], payload: original.payload, nova: []byte(v.read)})
			expected = append(expected, v)
			reader.reads(t, e.name, original.payload, v)
		}
	}
	if *update {
		writeFile(t, evolutionFile, []byte(out))
	}
	program, script := b.buildGo(t), b.buildTypeScript(t)
	for i, line := range ask(t, samples, program) {
		samples[i].crossed(t, "Go", line, expected[i], expected[i].golang)
	}
	for i, line := range ask(t, samples, "node", script) {
		samples[i].crossed(t, "TypeScript", line, expected[i], "")
	}
	for _, lines := range [][]string{ask(t, originals, program), ask(t, originals, "node", script)} {
		for i, line := range lines {
			if s := originals[i]; !strings.HasPrefix(line, hex.EncodeToString(s.payload)+"\t") {
				t.Errorf("the writer itself wrote\n%s\nwant\n%x\n%s", line, s.payload, s.nova)
			}
		}
	}
}

// pair generates both sides, the newer one with the numbers of the older.
func (b *batch) pair(t *testing.T, name string, e *evolution) (older, newer *drawn, changes []string) {
	t.Helper()
	source := document(name+"old", e.old)
	model, err := schema.Read("old.json", []byte(source), schema.Options{})
	if err != nil {
		t.Fatalf("%s: %v", e.name, err)
	}
	older = b.take(t, name+"old", source, model)
	lock := schema.NewLock(model)
	if from, to, ok := strings.Cut(e.lock, "="); ok {
		if lock, err = schema.ReadLock("nova.lock.json", []byte(strings.ReplaceAll(string(lock.Encode()), from, to))); err != nil {
			t.Fatal(err)
		}
	}
	lock.Types = nil // as nova check does: a changed type is a finding
	if e.lock == "none" {
		lock = nil
	}
	source = document(name+"new", e.new)
	next, err := schema.Read("new.json", []byte(source), schema.Options{Lock: lock})
	if err != nil {
		t.Fatalf("%s: %v", e.name, err)
	}
	for _, c := range schema.Compare(model, next, schema.CompareOptions{}) {
		changes = append(changes, c.String())
	}
	return older, b.take(t, name+"new", source, next), changes
}

func document(name, event string) string {
	return fmt.Sprintf(`{"package":%q,"events":{"e":%s}}`, name, event)
}

// write encodes a value by the schema-driven codec.
func (s *drawn) write(t *testing.T, text string) *sample {
	t.Helper()
	payload, err := s.layout.EncodeJSON(nil, s.layout.Events[0].Table, []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, text, s.source)
	}
	return &sample{of: s, event: s.model.Events[0], payload: payload, nova: []byte(text)}
}

// reads checks what the schema-driven codec makes of the other side's bytes.
func (s *drawn) reads(t *testing.T, name string, payload []byte, v *crossing) {
	t.Helper()
	got, err := s.layout.AppendJSON(nil, s.layout.Events[0].Table, payload)
	switch {
	case v.read == "" && err == nil:
		t.Errorf("%s: the schema-driven codec read %s of %s, want an error", name, got, v.written)
	case v.read != "" && (err != nil || !sameJSON(t, got, []byte(v.read))):
		t.Errorf("%s: the schema-driven codec read\n%s (%v)\nof %s, want\n%s", name, got, err, v.written, v.read)
	}
}

// crossed checks a line of a generated program: the value, and that writing it
// again gives what the schema-driven codec writes of it.
func (s *sample) crossed(t *testing.T, who, line string, v *crossing, shown string) {
	t.Helper()
	fail := func(format string, args ...any) {
		t.Helper()
		t.Errorf("%s: %s\nof %s\nby %s", who, fmt.Sprintf(format, args...), v.written, s.of.source)
	}
	if v.read == "" {
		if !strings.HasPrefix(line, "!read ") {
			fail("it answers %s, want an error", line)
		}
		return
	}
	if shown == "" {
		shown = v.read
	}
	parts := strings.SplitN(line, "\t", 3)
	if len(parts) != 3 || !sameJSON(t, []byte(parts[2]), []byte(shown)) {
		fail("it reads %s, want %s", line, shown)
		return
	}
	written := parts[0]
	if v.again {
		if !strings.HasPrefix(written, "!write ") || !strings.Contains(written, "of a newer schema") && !strings.Contains(written, "unknown:") {
			fail("writing it again gives %s, want an error", written)
		}
		return
	}
	if want := s.of.write(t, v.read).payload; written != hex.EncodeToString(want) {
		fail("writing it again gives\n%s, want\n%x", written, want)
	}
}

// agrees checks the verdict of nova check against what readers see: a safe pair
// loses nothing, and what is lost or misread has a note or breaks.
func (e *evolution) agrees(t *testing.T) {
	t.Helper()
	safe := !slices.ContainsFunc(e.changes, func(c string) bool { return !strings.HasPrefix(c, "safe ") })
	for _, v := range e.values {
		switch reason := v.lost(t); {
		case safe && reason != "":
			t.Errorf("%s: nova check says safe, but of %s the other side reads %s: %s", e.name, v.written, v.read, reason)
		case v.read == "" && !slices.ContainsFunc(e.changes, func(c string) bool { return strings.HasPrefix(c, "breaking ") }):
			t.Errorf("%s: %s is refused, but nothing is breaking", e.name, v.written)
		}
	}
}

// lost says what is not as it was written, "" for nothing: properties that only
// the writer knows are no loss, nor unknown values that are kept.
func (v *crossing) lost(t *testing.T) string {
	t.Helper()
	if v.read == "" {
		return "refused"
	}
	return lost(parsed(t, []byte(v.written)), parsed(t, []byte(v.read)), "")
}

func lost(written, read any, path string) string {
	switch read := read.(type) {
	case map[string]any:
		was, _ := written.(map[string]any)
		for key, value := range read {
			if text, _ := value.(string); strings.HasPrefix(text, "unknown:") {
				continue
			}
			original, ok := was[key]
			if !ok && value == nil {
				continue
			}
			if !ok {
				return fmt.Sprintf("%s.%s was not written", path, key)
			}
			if reason := lost(original, value, path+"."+key); reason != "" {
				return reason
			}
		}
		return ""
	case []any:
		was, _ := written.([]any)
		if len(was) != len(read) {
			return path + " has another length"
		}
		for i := range read {
			if reason := lost(was[i], read[i], fmt.Sprintf("%s[%d]", path, i)); reason != "" {
				return reason
			}
		}
		return ""
	case string:
		if strings.HasPrefix(read, "unknown:") {
			return ""
		}
	}
	if fmt.Sprint(written) != fmt.Sprint(read) {
		return fmt.Sprintf("%s was %v and is %v", path, written, read)
	}
	return ""
}

func readEvolutions(t *testing.T) (head string, cases []*evolution) {
	t.Helper()
	data, err := os.ReadFile(evolutionFile)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(data), "=== ")
	for _, part := range parts[1:] {
		cases = append(cases, parseEvolution(t, part))
	}
	return parts[0], cases
}

func parseEvolution(t *testing.T, part string) *evolution {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(part), "\n")
	e := &evolution{name: lines[0]}
	section := ""
	for _, line := range lines[1:] {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		var v *crossing
		if len(e.values) > 0 {
			v = e.values[len(e.values)-1]
		}
		switch {
		case word == "old:":
			e.old = rest
		case word == "new:":
			e.new = rest
		case word == "lock:":
			e.lock = rest
		case word == "changes:" || word == "values:":
			section = word
		case section == "changes:":
			e.changes = append(e.changes, line)
		case word == "old" || word == "new":
			e.values = append(e.values, &crossing{old: word == "old", written: rest})
		case word == "reads":
			v.read = rest
		case word == "go":
			v.golang = rest
		case word == "not-again":
			v.again = true
		case word != "refused":
			t.Fatalf("%s: %s: line %q", evolutionFile, e.name, line)
		}
	}
	for _, v := range e.values {
		if v.read != "" && !json.Valid([]byte(v.read)) {
			t.Fatalf("%s: %s: %s is no JSON", evolutionFile, e.name, v.read)
		}
	}
	return e
}

func (e *evolution) text() string {
	var s strings.Builder
	fmt.Fprintf(&s, "=== %s\nold: %s\nnew: %s\n", e.name, e.old, e.new)
	if e.lock != "" {
		fmt.Fprintf(&s, "lock: %s\n", e.lock)
	}
	s.WriteString("changes:\n")
	for _, c := range e.changes {
		s.WriteString(c + "\n")
	}
	s.WriteString("values:\n")
	for _, v := range e.values {
		side := map[bool]string{true: "old", false: "new"}[v.old]
		fmt.Fprintf(&s, "%s %s\n", side, v.written)
		if v.read == "" {
			s.WriteString("  refused\n")
		} else {
			fmt.Fprintf(&s, "  reads %s\n", v.read)
		}
		if v.golang != "" {
			fmt.Fprintf(&s, "  go %s\n", v.golang)
		}
		if v.again {
			s.WriteString("  not-again\n")
		}
	}
	return s.String() + "\n"
}
