package schema_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ignex/nova/schema"
)

var update = flag.Bool("update", false, "write the problems found into testdata/refused")

// TestRefused runs the cases of testdata/refused. A case is a name after "=== ",
// a document (or "field: SCHEMA", put into an event), "---", and the problems
// expected, one a line. Warnings are written with "warning: " in front and
// belong to documents that are accepted.
func TestRefused(t *testing.T) {
	files, err := filepath.Glob("testdata/refused/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		for _, c := range strings.Split(string(data), "=== ")[1:] {
			name, rest, _ := strings.Cut(c, "\n")
			src, want, ok := strings.Cut(rest, "---\n")
			if !ok {
				t.Fatalf("%s: case %q has no ---", file, name)
			}
			got := problemsOf(src)
			out.WriteString("=== " + name + "\n" + src + "---\n" + got + "\n\n")
			t.Run(filepath.Base(file)+"/"+name, func(t *testing.T) {
				if !*update && got != strings.TrimSpace(want) {
					t.Errorf("got\n%s\nwant\n%s", got, want)
				}
			})
		}
		if *update {
			if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func problemsOf(src string) string {
	if shape, ok := strings.CutPrefix(src, "field: "); ok {
		src = `{"package":"p","events":{"e":{"type":"object","properties":{"f":` + strings.TrimSpace(shape) + `}}}}`
	}
	m, err := schema.Read("s.json", []byte(src), schema.Options{})
	if err != nil {
		return err.Error()
	}
	var lines []string
	for _, w := range m.Warnings {
		lines = append(lines, "warning: "+w.String())
	}
	if lines == nil {
		return "accepted"
	}
	return strings.Join(lines, "\n")
}
