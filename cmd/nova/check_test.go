package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=n", "-c", "user.email=n@example.com"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	put("schema.json", tinySchema)
	fails(t, 2, []string{"check", "schema.json"}, "no nova.lock.json beside schema.json to compare with")
	if got := runNova(t, "", "generate", "--schema", "schema.json", "--go", "tiny"); got.code != 0 {
		t.Fatal(got)
	}
	git("init", "-q", "-b", "main")
	git("add", ".")
	git("commit", "-qm", "first")
	if got := runNova(t, "", "check", "schema.json"); got.code != 0 || got.stdout != "nothing changed\n" {
		t.Error(got)
	}

	put("schema.json", strings.Replace(tinySchema, `{"type": "number"}`, `{"type": "string"}`, 1))
	for _, args := range [][]string{{"schema.json"}, {"schema.json", "--against", "git:main:schema.json"}} {
		got := runNova(t, "", append([]string{"check"}, args...)...)
		if got.code != 1 || !strings.HasPrefix(got.stdout, "breaking  ") || !strings.Contains(got.stdout, "it was double and is string") ||
			!strings.Contains(got.stderr, "1 change would break older clients or servers") {
			t.Error(args, got)
		}
	}
	got := runNova(t, "", "check", "schema.json", "--json")
	var list []struct{ Severity, Path, What string }
	if err := json.Unmarshal([]byte(got.stdout), &list); err != nil || got.code != 1 || len(list) != 1 || list[0].Severity != "breaking" {
		t.Error(got, err)
	}
	put("old.json", strings.Replace(tinySchema, `"events"`, `"events"`, 1))
	if got := runNova(t, "", "check", "old.json", "old.json", "--json"); got.code != 0 || got.stdout != "[]\n" {
		t.Error(got)
	}
	if got := runNova(t, "", "generate", "--schema", "schema.json", "--go", "tiny"); got.code != 1 || !strings.Contains(got.stderr, "when its number") || !strings.Contains(got.stderr, "nova check") {
		t.Error(got)
	}

	fails(t, 2, []string{"check"}, "0 files given")
	fails(t, 2, []string{"check", "a", "b", "--against", "c"}, "two files and --against")
	fails(t, 2, []string{"check", "schema.json", "--against", "git:main"}, "git:REV:PATH")
	fails(t, 1, []string{"check", "schema.json", "--against", "git:main:gone.json"}, "git has no gone.json in main")
	fails(t, 1, []string{"check", "missing.json", "schema.json"}, "missing.json")
}
