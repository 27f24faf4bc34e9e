package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestGenerate(t *testing.T) {
	schema := write(t, "schema.json", tinySchema)
	dir := filepath.Dir(schema)
	goDir, tsDir := filepath.Join(dir, "tiny"), filepath.Join(dir, "ts")
	args := []string{"generate", "--schema", schema, "--go", goDir, "--ts", tsDir, "--fbs", goDir}
	fails(t, 1, append(args, "--check"), "nova generate: 5 of 5 files are not what the schema gives", "is missing", "without --check")
	got := runNova(t, "", args...)
	if got.code != 0 || got.stderr != "" || !strings.Contains(got.stdout, "tiny: 2 events, 0 calls, fingerprint ") || !strings.Contains(got.stdout, "5 of 5 files changed") {
		t.Fatal(got)
	}
	for _, path := range []string{filepath.Join(goDir, "tiny_nova.go"), filepath.Join(goDir, "backend.fbs"), filepath.Join(tsDir, "index.ts"), filepath.Join(dir, "nova.lock.json")} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	if got := runNova(t, "", append(args, "--check")...); got.code != 0 || got.stdout != "tiny: 5 files are up to date\n" {
		t.Error(got)
	}
	if got := runNova(t, "", args...); got.code != 0 || !strings.Contains(got.stdout, "0 of 5 files changed") {
		t.Error(got)
	}
	changed := strings.Replace(tinySchema, `"n": {`, `"more": {"type": "string"}, "n": {`, 1)
	if err := os.WriteFile(schema, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	fails(t, 1, append(args, "--check"), "tiny_nova.go differs from what the schema gives")
}

func TestGenerateErrors(t *testing.T) {
	good := write(t, "schema.json", tinySchema)
	fails(t, 2, []string{"generate", "--go", "x"}, "no schema given; write --schema FILE, or the directory")
	fails(t, 2, []string{"generate", "--schema", good}, "no output given; write --go DIR")
	fails(t, 1, []string{"generate", "--schema", "missing.json", "--go", "x"}, "schema file missing.json does not exist")

	program := write(t, "market.ts", "export const events = {};")
	fails(t, 1, []string{"generate", "--schema", program, "--go", "x"}, "is a program, not JSON: export it first", "npx tsx -e 'import * as s from", "market.json")
	// A folder that cannot be made is no missing schema.
	if got := runNova(t, "", "generate", "--schema", good, "--go", "/proc/x"); got.code != 1 || strings.Contains(got.stderr, "schema file") || !strings.Contains(got.stderr, "/proc/x") {
		t.Error(got)
	}

	// Each problem with file, line and pointer, then the line and a caret.
	bad := write(t, "bad.json", strings.NewReplacer(`{"type": "number"}`, `{"type": "numbr"}`, `{"ts": {"type": "integer"}}`, `{"ts": {}}`).Replace(tinySchema))
	got := runNova(t, "", "generate", "--schema", bad, "--go", t.TempDir())
	lines := strings.Split(strings.TrimSpace(got.stderr), "\n")
	if got.code != 1 || len(lines) != 6 || !strings.HasPrefix(lines[0], bad+":7:") || !strings.Contains(lines[0], "/events/tick/properties/at/properties/x") ||
		!strings.Contains(lines[1], `{"type": "numbr"}`) || strings.Index(lines[2], "^") != strings.Index(lines[1], `{"type": "numbr"}`) || !strings.HasPrefix(lines[3], bad+":10:") {
		t.Error(got)
	}
	cut := write(t, "cut.json", tinySchema[:100])
	if got := runNova(t, "", "generate", "--schema", cut, "--go", "x"); got.code != 1 || !strings.HasPrefix(got.stderr, cut+":6:26: ") {
		t.Error(got)
	}
}

// A package of Go structs is a schema: its codecs go into it, the rest where it
// is asked for, and nova check compares it as it does a file.
func TestGenerateFromGoStructs(t *testing.T) {
	dir, err := os.MkdirTemp(".", "_structs-") // inside the module, out of ./...
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	source := "package ticks\n\n//nova:event tick inbound\ntype Tick struct {\n\tN int `json:\"n\"`\n}\n"
	file := filepath.Join(dir, "ticks.go")
	put := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(source)
	ts := t.TempDir()
	args := []string{"generate", dir, "--ts", ts, "--fbs", ts}
	fails(t, 1, append(args, "--check"), "5 of 5 files are not what the schema gives", "ticks_nova.go is missing")
	if got := runNova(t, "", args...); got.code != 0 || got.stderr != "" || !strings.Contains(got.stdout, "ticks: 1 event, 0 calls, fingerprint ") || !strings.Contains(got.stdout, "5 of 5 files changed") {
		t.Fatal(got)
	}
	if got := runNova(t, "", append(args, "--check")...); got.code != 0 || got.stdout != "ticks: 5 files are up to date\n" {
		t.Error(got)
	}
	for path, want := range map[string]string{filepath.Join(dir, "ticks_nova.go"): "var TickEvent = nova.NewEvent[Tick](Schema, \"tick\")",
		filepath.Join(ts, "index.ts"): "export interface Tick", filepath.Join(ts, "backend.fbs"): "table Tick", filepath.Join(dir, "nova.lock.json"): `"Tick"`} {
		if data, err := os.ReadFile(path); err != nil || !strings.Contains(string(data), want) {
			t.Errorf("%s: %v; want %s in it", path, err, want)
		}
	}
	if got := runNova(t, "", "check", dir); got.code != 0 || got.stdout != "nothing changed\n" {
		t.Error(got)
	}
	put(strings.Replace(source, "N int", "N string", 1))
	if got := runNova(t, "", append(args, "--check")...); got.code != 1 || !strings.HasPrefix(got.stderr, file+":5:2: ") || !strings.Contains(got.stderr, "nova check") {
		t.Error(got)
	}
	if got := runNova(t, "", "check", dir); got.code != 1 || !strings.Contains(got.stdout, "breaking") {
		t.Error(got)
	}
	put(strings.Replace(source, "N int", "N any", 1) + "\ntype B struct{ N\n")
	if got := runNova(t, "", args...); got.code != 1 || !strings.HasPrefix(got.stderr, file+":") {
		t.Error(got)
	}
	put(strings.Replace(source, "N int", "N any", 1))
	if got := runNova(t, "", args...); got.code != 1 || !strings.HasPrefix(got.stderr, file+":5:2: the field N of Tick is any, an interface; write a struct, a string holding JSON text") ||
		!strings.HasSuffix(got.stderr, "\n    N any `json:\"n\"`\n    ^\n") {
		t.Error(got)
	}

	fails(t, 2, []string{"generate", dir, "--go", ts}, "--go with Go structs; leave it out")
	fails(t, 2, []string{"generate", dir, "--schema", "x"}, "a package of Go structs and --schema given")
	fails(t, 2, []string{"generate", dir + "/..."}, "is a pattern; write the directory of one package")
	fails(t, 2, []string{"generate", "nowhere"}, "the directory nowhere does not exist")
	fails(t, 2, []string{"generate", file}, "is no directory; write --schema")
	fails(t, 2, []string{"generate", dir, dir}, "2 packages given; write one")
	fails(t, 1, []string{"generate", ts}, "has no Go files to read structs from")
}
