package schema_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/ignex/nova/schema"
)

type shape struct {
	Group string            `json:"g"`
	Name  string            `json:"n"`
	Out   map[string]string `json:"res"`
}

// verdicts maps group, name and version prefix to what a shape must become.
func verdicts(t *testing.T) map[[3]string]string {
	t.Helper()
	data, err := os.ReadFile("testdata/typebox-verdicts.tsv")
	if err != nil {
		t.Fatal(err)
	}
	out := map[[3]string]string{}
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		cols := strings.Split(line, "\t")
		if len(cols) != 4 {
			t.Fatalf("%d columns: %q", len(cols), line)
		}
		out[[3]string{cols[0], cols[1], cols[2]}] = cols[3]
	}
	return out
}

func verdictFor(all map[[3]string]string, s shape, version string) (string, bool) {
	for n := len(version); n > 0; n-- {
		if v, ok := all[[3]string{s.Group, s.Name, version[:n]}]; ok {
			return v, true
		}
	}
	v, ok := all[[3]string{s.Group, s.Name, "*"}]
	return v, ok
}

// TestTypeBoxShapes reads what every constructor of nine TypeBox versions
// emits, as a field and as an event.
func TestTypeBoxShapes(t *testing.T) {
	var shapes []shape
	if err := json.Unmarshal(file(t, "testdata/typebox-shapes.json"), &shapes); err != nil {
		t.Fatal(err)
	}
	all := verdicts(t)
	if len(shapes) < 200 {
		t.Fatalf("only %d shapes", len(shapes))
	}
	checked := 0
	for _, s := range shapes {
		prints := map[string]string{} // verdict → fingerprint
		for version, out := range s.Out {
			if out == "—" || strings.HasPrefix(out, "throws ") {
				continue
			}
			want, ok := verdictFor(all, s, version)
			if !ok {
				t.Errorf("%s / %s / %s has no verdict: %s", s.Group, s.Name, version, out)
				continue
			}
			schemas, wants := []json.RawMessage{json.RawMessage(out)}, strings.Split(want, " ; ")
			if strings.HasPrefix(out, "[") { // several schemas in one case
				if err := json.Unmarshal([]byte(out), &schemas); err != nil {
					t.Fatal(err)
				}
			}
			if len(schemas) != len(wants) {
				t.Errorf("%s / %s / %s: %d schemas, %d verdicts", s.Group, s.Name, version, len(schemas), len(wants))
				continue
			}
			for i := range schemas {
				checked++
				want, wantRoot, differs := strings.Cut(wants[i], " // ")
				if !differs {
					wantRoot = want
				}
				wants[i] = want
				got, print := asField(t, string(schemas[i]))
				if got != wants[i] {
					t.Errorf("%s / %s / %s:\n%s\ngot  %s\nwant %s", s.Group, s.Name, version, schemas[i], got, wants[i])
				}
				// A Module names its members in 0.34 only: the types have other names.
				if old, ok := prints[wants[i]]; ok && old != print && s.Group != "Module" {
					t.Errorf("%s / %s / %s: fingerprint %s, another version has %s", s.Group, s.Name, version, print, old)
				}
				prints[wants[i]] = print
				if wantRoot != "refused" && !differs && (!strings.HasPrefix(wants[i], "{") || !strings.HasSuffix(wants[i], "}")) {
					wantRoot = "{value:" + wants[i] + "}"
				}
				if got := asEvent(t, string(schemas[i])); got != wantRoot {
					t.Errorf("%s / %s / %s as event:\n%s\ngot  %s\nwant %s", s.Group, s.Name, version, schemas[i], got, wantRoot)
				}
			}
		}
	}
	t.Logf("%d schemas of %d cases", checked, len(shapes))
}

func asField(t *testing.T, shape string) (verdict, fingerprint string) {
	t.Helper()
	src := `{"package":"lab","events":{"e":{"type":"object","properties":{"f":` + shape + `},"required":["f"]}}}`
	m := attempt(t, src)
	if m == nil {
		return "refused", ""
	}
	fields := m.Events[0].Table.Fields
	return describe(fields[len(fields)-1]), m.Fingerprint()
}

func asEvent(t *testing.T, shape string) string {
	t.Helper()
	m := attempt(t, `{"package":"lab","events":{"e":`+shape+`}}`)
	if m == nil {
		return "refused"
	}
	return describeTable(m.Events[0].Table)
}

// attempt reads a schema that may be refused, and then insists on a place and
// words in every problem.
func attempt(t *testing.T, src string) *schema.Model {
	t.Helper()
	m, err := schema.Read("schema.json", []byte(src), schema.Options{})
	if err == nil {
		if _, err := m.Layout(); err != nil {
			t.Errorf("Layout: %v\n%s", err, src)
		}
		return m
	}
	problems, ok := err.(schema.Errors)
	if !ok || len(problems) == 0 || m != nil {
		t.Fatalf("error of type %T with %d problems: %s", err, len(problems), src)
	}
	for _, p := range problems {
		if p.Pos.File != "schema.json" || p.Pos.Line < 1 || p.Pos.Column < 1 || p.Found == "" || p.Fix == "" {
			t.Errorf("incomplete problem %+v\n%s", p, src)
		}
	}
	return nil
}
