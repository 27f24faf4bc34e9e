package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// repository is a git repository for a test, which runs inside it.
type repository struct {
	t   *testing.T
	dir string
}

func newRepository(t *testing.T) *repository {
	t.Helper()
	for key, value := range map[string]string{"GOPROXY": "off", "GOFLAGS": "", "GOWORK": "", "GIT_CONFIG_GLOBAL": os.DevNull} {
		t.Setenv(key, value)
	}
	r := &repository{t, filepath.Join(t.TempDir(), "repo")}
	r.put("README", "a repository\n")
	t.Chdir(r.dir)
	r.run("git", "init", "-q", "-b", "main")
	return r
}

func (r *repository) put(name, text string) {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

func (r *repository) run(name string, args ...string) string {
	r.t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		r.t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// commit records all files under a tag.
func (r *repository) commit(tag string) {
	r.t.Helper()
	r.run("git", "add", "-A")
	r.run("git", "-c", "user.name=n", "-c", "user.email=n@example.com", "commit", "-q", "-m", tag)
	r.run("git", "tag", tag)
}

// untouched runs a check and tests that it leaves neither files nor anything in the
// repository.
func (r *repository) untouched(args ...string) outcome {
	r.t.Helper()
	temp := r.t.TempDir()
	r.t.Setenv("TMPDIR", temp)
	before := r.run("git", "status", "--porcelain") + r.run("git", "worktree", "list")
	got := runNova(r.t, "", append([]string{"check"}, args...)...)
	if after := r.run("git", "status", "--porcelain") + r.run("git", "worktree", "list"); after != before {
		r.t.Errorf("nova check %v changed the repository:\n%s\nwas\n%s", args, after, before)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		r.t.Errorf("nova check %v left %v (%v)", args, left, err)
	}
	return got
}

const quoteStructs = `package events

import "example.com/money"

//nova:event quote
type Quote struct {
	Symbol string       ` + "`json:\"symbol\"`" + `
	Price  money.Amount ` + "`json:\"price\"`" + `
}
`

const moneyStructs = "package money\n\ntype Amount struct {\n\tUnits int64 `json:\"units\"`\n}\n"

// Go structs of a revision are read with the module that they had then: what they
// name stands in another directory of the repository.
func TestCheckAgainstGoStructsOfARevision(t *testing.T) {
	r := newRepository(t)
	r.put("svc/go.mod", "module example.com/svc\n\ngo 1.26\n\nrequire example.com/money v0.0.0\n\nreplace example.com/money => ../money\n")
	r.put("svc/events/events.go", quoteStructs)
	r.put("money/go.mod", "module example.com/money\n\ngo 1.26\n")
	r.put("money/money.go", moneyStructs)
	t.Chdir(filepath.Join(r.dir, "svc"))
	if got := runNova(t, "", "generate", "./events"); got.code != 0 {
		t.Fatal(got)
	}
	r.commit("first")
	for _, dir := range []string{"events", "./events/", "../svc/events"} {
		if got := r.untouched("./events", "--against", "git:first:"+dir); got.code != 0 || got.stdout != "nothing changed\n" {
			t.Error(dir, got)
		}
	}

	// The type changes in the other module; only its revision knows what it was.
	r.put("money/money.go", strings.Replace(moneyStructs, "int64 ", "string ", 1))
	got := r.untouched("./events", "--against", "git:first:events")
	if got.code != 1 || !strings.HasPrefix(got.stdout, "breaking  quote.price.units: ") || !strings.Contains(got.stdout, "it was int64 and is string") {
		t.Error(got)
	}
	r.put("money/money.go", moneyStructs)
	r.put("svc/events/events.go", strings.Replace(quoteStructs, "\tPrice ", "\tNote string `json:\"note,omitempty\"`\n\tPrice ", 1))
	if got := r.untouched("./events", "--against", "git:first:events"); got.code != 0 || !strings.HasPrefix(got.stdout, "safe      quote.note: ") {
		t.Error(got)
	}
	// From inside the package, and two revisions.
	t.Chdir(filepath.Join(r.dir, "svc", "events"))
	if got := r.untouched(".", "--against", "git:first:."); got.code != 0 || !strings.HasPrefix(got.stdout, "safe      quote.note: ") {
		t.Error(got)
	}
}

// A replace directive that leads out of the repository leads where it does now; with
// a vendor directory the module needs none.
func TestCheckAgainstGoStructsWithModulesOutside(t *testing.T) {
	r := newRepository(t)
	r.put("go.mod", "module example.com/svc\n\ngo 1.26\n\nrequire example.com/money v0.0.0\n\nreplace example.com/money => ../money\n")
	r.put("events/events.go", quoteStructs)
	r.put("../money/go.mod", "module example.com/money\n\ngo 1.26\n")
	r.put("../money/money.go", moneyStructs)
	r.commit("outside")
	if got := r.untouched("./events", "--against", "git:outside:events"); got.code != 0 || got.stdout != "nothing changed\n" {
		t.Error(got)
	}
	r.run("go", "mod", "vendor")
	r.commit("vendored")
	if err := os.Rename(filepath.Join(r.dir, "../money"), filepath.Join(r.dir, "../gone")); err != nil {
		t.Fatal(err)
	}
	if got := r.untouched("./events", "--against", "git:vendored:events"); got.code != 0 || got.stdout != "nothing changed\n" {
		t.Error(got)
	}
	got := r.untouched("./events", "--against", "git:outside:events")
	if got.code != 1 || !strings.HasPrefix(got.stderr, "outside:events/events.go:3:8: the package example.com/money cannot be loaded: ") || strings.Contains(got.stderr, "nova-check-") {
		t.Error(got)
	}
}

func TestCheckAgainstGoStructsErrors(t *testing.T) {
	r := newRepository(t)
	plain := "package events\n\n//nova:event note\ntype Note struct {\n\tText string `json:\"text\"`\n}\n"
	r.put("events/events.go", plain)
	r.commit("bare")
	r.put("go.mod", "module example.com/svc\n\ngo 1.26\n")
	r.put("events/events.go", strings.Replace(plain, "string", "any", 1))
	r.put("docs/page.txt", "no Go\n")
	r.commit("refused")
	r.put("events/events.go", plain)
	r.commit("good")

	against := func(place string) []string { return []string{"check", "./events", "--against", "git:" + place} }
	fails(t, 1, against("bare:events"), "nova check: read the Go structs in events of bare: no go.mod at or above it in that revision")
	fails(t, 1, against("good:docs"), "nova check: read the Go structs in docs of good: good:docs has no Go files to read structs from")
	fails(t, 1, against("good:nowhere"), "git has no nowhere in good: ")
	fails(t, 1, against("nothing:events"), "git has no events in nothing: ")
	got := r.untouched("./events", "--against", "git:refused:events")
	if got.code != 1 || !strings.HasPrefix(got.stderr, "refused:events/events.go:5:2: the field Text of Note is any") || !strings.Contains(got.stderr, "\n    ^\n") {
		t.Error(got)
	}
	t.Setenv("PATH", t.TempDir())
	fails(t, 1, against("good:events"), "git is not installed; write nova check OLD NEW")
}
