package golden

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Root returns the directory that holds go.mod.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	t.Fatalf("no go.mod above the test: %v", err)
	return ""
}

// run fails the test, with what the tool printed, when the tool fails.
func run(t testing.TB, dir, install, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v (it comes with: %s)\n%s", name, args, err, install, out)
	}
}

// FBS is a FlatBuffers schema on disk, and what the tools need to know of it.
type FBS struct {
	Path      string
	Namespace string // "" = none
	Tables    []string
	// Enums gives the numbers of the identifiers that flatc prints.
	Enums map[string]map[string]int32
}

var (
	namespaceLine = regexp.MustCompile(`(?m)^\s*namespace\s+([\w.]+)\s*;`)
	tableLine     = regexp.MustCompile(`(?m)^\s*table\s+(\w+)`)
	enumBlock     = regexp.MustCompile(`(?ms)^\s*enum\s+(\w+)\s*:\s*\w+\s*\{(.*?)^?\s*\}`)
	enumValue     = regexp.MustCompile(`(?m)(\w+)\s*=\s*(-?\d+)`)
)

// WriteFBS puts the text of a schema into a directory that ends with the test.
func WriteFBS(t testing.TB, text []byte) *FBS {
	t.Helper()
	s := &FBS{Path: filepath.Join(t.TempDir(), "schema.fbs"), Enums: map[string]map[string]int32{}}
	if err := os.WriteFile(s.Path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if m := namespaceLine.FindSubmatch(text); m != nil {
		s.Namespace = string(m[1])
	}
	for _, m := range tableLine.FindAllSubmatch(text, -1) {
		s.Tables = append(s.Tables, string(m[1]))
	}
	for _, m := range enumBlock.FindAllSubmatch(text, -1) {
		values := map[string]int32{}
		for _, v := range enumValue.FindAllSubmatch(m[2], -1) {
			n, err := strconv.ParseInt(string(v[2]), 10, 32)
			if err != nil {
				t.Fatal(err)
			}
			values[string(v[1])] = int32(n)
		}
		s.Enums[string(m[1])] = values
	}
	if len(s.Tables) == 0 {
		t.Fatalf("no table in:\n%s", text)
	}
	return s
}

// qualified returns the name of a table with its namespace, if there is one,
// parts joined by sep.
func (s *FBS) qualified(table, sep string) string {
	if s.Namespace == "" {
		return table
	}
	return strings.ReplaceAll(s.Namespace, ".", sep) + sep + table
}

func writeFile(t testing.TB, path, format string, args ...any) {
	t.Helper()
	if err := os.WriteFile(path, fmt.Appendf(nil, format, args...), 0o600); err != nil {
		t.Fatal(err)
	}
}
