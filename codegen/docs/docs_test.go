package docs_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ignex/nova/codegen"
	"github.com/ignex/nova/codegen/docs"
	"github.com/ignex/nova/schema"
)

var update = flag.Bool("update", false, "write the expected outputs instead of comparing")

// described is a schema with its two files.
type described struct {
	name      string
	model     *schema.Model
	api, page []byte
}

// all describes every schema of the tests that is accepted.
func all(t *testing.T) []described {
	t.Helper()
	var list []described
	for _, pattern := range []string{"testdata/*/schema.json", "../testdata/*/schema.json", "../internal/language/testdata/real/*.txt", "../../market/schema.json"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no %s: %v", pattern, err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			data, _, _ = bytes.Cut(data, []byte("---\n"))
			if m, err := schema.Read(file, data, schema.Options{}); err == nil && !strings.Contains(file, "error-") {
				list = append(list, describe(t, file, m))
			}
		}
	}
	if len(list) < 35 {
		t.Fatalf("only %d schemas", len(list))
	}
	return list
}

func describe(t *testing.T, name string, m *schema.Model) described {
	t.Helper()
	files, err := docs.Generate(m)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	again, err := docs.Generate(m)
	if err != nil {
		t.Fatal(err)
	}
	d := described{name: name, model: m}
	for i, f := range files {
		if !bytes.Equal(f.Data, again[i].Data) {
			t.Errorf("%s: %s differs between two runs", name, f.Name)
		}
		if f.Name == "index.html" {
			d.page = f.Data
		} else {
			d.api = f.Data
		}
	}
	return d
}

func TestExpectedOutput(t *testing.T) {
	source, err := os.ReadFile("testdata/shop/schema.json")
	if err != nil {
		t.Fatal(err)
	}
	m, err := schema.Read("schema.json", source, schema.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := describe(t, "shop", m)
	for file, got := range map[string][]byte{"testdata/shop/asyncapi.json": d.api, "testdata/shop/index.html": d.page} {
		if *update {
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what is written now (go test -update writes it): %v", file, err)
		}
	}
}

// TestDocumentsAreAsyncAPI asks the schema of AsyncAPI and ajv.
func TestDocumentsAreAsyncAPI(t *testing.T) {
	list := all(t)
	var input bytes.Buffer
	for _, d := range list {
		if err := json.Compact(&input, d.api); err != nil {
			t.Fatalf("%s: %v", d.name, err)
		}
		input.WriteByte('\n')
	}
	dir := filepath.Join("testdata", "asyncapi")
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "ajv", "package.json")); errors.Is(err, fs.ErrNotExist) {
		cmd := exec.Command("npm", "ci", "--no-audit", "--no-fund")
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("npm ci (Node.js and npm are needed): %v\n%s", err, out)
		}
	}
	cmd := exec.Command("node", "validate.mjs")
	cmd.Dir, cmd.Stdin, cmd.Stderr = dir, &input, os.Stderr
	out, err := cmd.Output()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err != nil || len(lines) != len(list) {
		t.Fatalf("%v: %d answers for %d documents", err, len(lines), len(list))
	}
	for i, line := range lines {
		if line != "[]" {
			t.Errorf("%s: %s", list[i].name, line)
		}
	}
}

// TestExamplesAreValues encodes the examples of all events.
func TestExamplesAreValues(t *testing.T) {
	for _, d := range all(t) {
		layout, err := d.model.Layout()
		if err != nil {
			t.Fatal(err)
		}
		var document struct {
			Channels map[string]struct {
				Messages map[string]struct {
					Examples []struct{ Payload json.RawMessage }
				}
			}
		}
		if err := json.Unmarshal(d.api, &document); err != nil {
			t.Fatalf("%s: %v", d.name, err)
		}
		for _, e := range layout.Events {
			for _, x := range document.Channels["events"].Messages[e.Name].Examples {
				if _, err := layout.EncodeJSON(nil, e.Table, x.Payload); err != nil {
					t.Errorf("%s: %s: %v\n%s", d.name, e.Name, err, x.Payload)
				}
			}
		}
	}
}

var (
	ids   = regexp.MustCompile(` id="([^"]*)"`)
	links = regexp.MustCompile(` (?:href|src|action|aria-labelledby)="([^"]*)"`)
)

func TestPagesAreWhole(t *testing.T) {
	for _, d := range all(t) {
		page := string(d.page)
		seen := map[string]bool{}
		for _, m := range ids.FindAllStringSubmatch(page, -1) {
			if seen[m[1]] {
				t.Errorf("%s: the id %q stands twice", d.name, m[1])
			}
			seen[m[1]] = true
		}
		for _, m := range links.FindAllStringSubmatch(page, -1) {
			target, local := strings.CutPrefix(m[1], "#")
			if strings.HasPrefix(m[0], " aria") {
				local = true
			}
			if m[1] != "data:," && (!local || !seen[target]) {
				t.Errorf("%s: %s leads nowhere", d.name, m[0])
			}
		}
		if strings.Contains(page, "<script") || strings.Count(page, "<h1>") != 1 || strings.Contains(page, "ZgotmplZ") {
			t.Errorf("%s: a script, no or two titles, or a value out of place", d.name)
		}
		for _, e := range d.model.Events {
			if !seen["event-"+e.Name] {
				t.Errorf("%s: no event %s", d.name, e.Name)
			}
		}
	}
}

func TestTextOfTheSchemaIsText(t *testing.T) {
	page, err := os.ReadFile("testdata/shop/index.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"&lt;b&gt;Nothing&lt;/b&gt; here is &#34;markup&#34; &amp; all is shown.",
		`<span class="mark secret">secret</span>`, "a slow client gets the newest of each sku", "never lost silently", "clients may send it",
		`pattern &#34;^[A-Z]{3}$&#34;`, "minItems 1", "always &#34;card&#34;", "one of 14, 30", "<code>sold-out</code>", "array of array of number"} {
		if !bytes.Contains(page, []byte(want)) {
			t.Errorf("the page has no %s", want)
		}
	}
	if bytes.Contains(page, []byte(`"number": "1`)) {
		t.Error("a secret has an example")
	}
}

func TestFilesAreOwned(t *testing.T) {
	m, err := schema.Read("s.json", []byte(`{"package":"p","events":{"e":{"type":"string"}}}`), schema.Options{})
	if err != nil {
		t.Fatal(err)
	}
	files, err := docs.Generate(m)
	if err != nil {
		t.Fatal(err)
	}
	dirs := codegen.Dirs{docs.Target: t.TempDir()}
	for i, want := range []int{2, 0} {
		if written, err := files.Write(dirs); err != nil || len(written) != want {
			t.Fatalf("run %d wrote %v, %v", i, written, err)
		}
	}
	for _, f := range files {
		path := filepath.Join(dirs[docs.Target], f.Name)
		if err := os.WriteFile(path, []byte(`{"asyncapi":"3.0.0"}`), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := files.Write(dirs); err == nil || !strings.Contains(err.Error(), "was not written by nova") {
			t.Errorf("%s of somebody else: %v", f.Name, err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}
