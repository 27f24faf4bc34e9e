package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDocs(t *testing.T) {
	schema := write(t, "schema.json", tinySchema)
	out := filepath.Join(filepath.Dir(schema), "public")
	args := []string{"docs", "--schema", schema, "--out", out}
	fails(t, 1, append(args, "--check"), "nova docs: 2 of 2 files are not what the schema gives", "asyncapi.json is missing")
	got := runNova(t, "", args...)
	if got.code != 0 || got.stderr != "" || !strings.Contains(got.stdout, "tiny: 2 events, 0 calls; 2 of 2 files changed") {
		t.Fatal(got)
	}
	for _, name := range []string{"asyncapi.json", "index.html"} {
		if _, err := os.Stat(filepath.Join(out, name)); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(schema), "nova.lock.json")); err == nil {
		t.Error("docs wrote a lock file; only generate gives numbers out")
	}
	if got := runNova(t, "", append(args, "--check")...); got.code != 0 || got.stdout != "tiny: 2 files are up to date\n" {
		t.Error(got)
	}
}

func TestDocsErrors(t *testing.T) {
	fails(t, 2, []string{"docs", "--out", "x"}, "no schema given; write --schema FILE")
	fails(t, 2, []string{"docs", "--schema", "x"}, "no output given; write --out DIR")
	fails(t, 1, []string{"docs", "--schema", "none.json", "--out", "x"}, "schema file none.json does not exist")
	fails(t, 2, []string{"generate", "--schema", "x", "--ts", "x", "--tests"}, "tests are Go code; write --go DIR beside --tests")
}
