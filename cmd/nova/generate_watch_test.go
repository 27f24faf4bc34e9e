package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestGenerateWatch(t *testing.T) {
	schema := write(t, "schema.json", tinySchema)
	dir := filepath.Join(filepath.Dir(schema), "tiny")
	args := []string{"generate", "--schema", schema, "--go", dir, "--watch"}
	fails(t, 2, append(args, "--check"), "--check with --watch; --check compares once")
	put := func(text string) {
		t.Helper()
		if err := os.WriteFile(schema, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := start(t, args...)
	r.line(t, "tiny: 2 events, 0 calls, fingerprint ")
	put(strings.Replace(tinySchema, `"n": {`, `"more": {"type": "string"}, "n": {`, 1))
	r.line(t, "wrote "+filepath.Join(dir, "tiny_nova.go"))
	r.line(t, "2 of 2 files changed")

	put(strings.Replace(tinySchema, `{"type": "number"}`, `{"type": "numbr"}`, 1))
	r.logged(t, `unknown type "numbr"; did you mean "number"?`)
	put(strings.Replace(tinySchema, `"n": {`, `"more": {"type": "string"}, "other": {"type": "string"}, "n": {`, 1))
	r.line(t, "2 of 2 files changed")
	if code := r.end(t); code != 0 {
		t.Errorf("exit code %d; stderr %s", code, r.stderr)
	}
	if !strings.Contains(r.stderr.String(), "waiting for changes of "+schema+"; Ctrl-C ends\n") {
		t.Errorf("stderr %s", r.stderr)
	}
}

// The structs of a package change with those of another that they name.
func TestGenerateWatchOfGoStructs(t *testing.T) {
	repo := newRepository(t)
	repo.put("go.mod", "module example.com/svc\n\ngo 1.26\n\nrequire example.com/money v0.0.0\n\nreplace example.com/money => ./money\n")
	repo.put("events/events.go", quoteStructs)
	repo.put("money/go.mod", "module example.com/money\n\ngo 1.26\n")
	repo.put("money/money.go", moneyStructs)
	r := start(t, "generate", "./events", "--ts", "ts", "--watch")
	r.line(t, "events: 1 event, 0 calls, fingerprint ")
	repo.put("money/money.go", strings.Replace(moneyStructs, "}", "\tCurrency string `json:\"currency\"`\n}", 1))
	r.line(t, "wrote "+filepath.Join("ts", "index.ts"))
	r.line(t, "3 of 3 files changed")
	repo.put("events/more.go", "package events\n\n//nova:event note\ntype Note struct{ Text string }\n")
	r.line(t, "events: 2 events, 0 calls, fingerprint ")
	if code := r.end(t); code != 0 {
		t.Errorf("exit code %d; stderr %s", code, r.stderr)
	}
}
