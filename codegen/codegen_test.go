package codegen_test

import (
	"bytes"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ignex/nova/codegen"
)

var update = flag.Bool("update", false, "write the expected outputs instead of comparing")

// A case is a folder of testdata: schema.json, perhaps the nova.lock.json of an
// earlier generation, and either the expected output in go, ts, fbs and lock,
// or the expected message in error.txt.
func cases(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

// generate runs a case in a copy of its folder and returns what it wrote.
func generate(t *testing.T, name string) (string, error) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, input := range []string{"schema.json", codegen.LockName} {
		data, err := os.ReadFile(filepath.Join("testdata", name, input))
		if errors.Is(err, fs.ErrNotExist) && input == codegen.LockName {
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, input), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	_, err := codegen.Run(codegen.Config{
		Schema: filepath.Join(dir, "schema.json"),
		GoDir:  filepath.Join(dir, "go"), TSDir: filepath.Join(dir, "ts"), FBSDir: filepath.Join(dir, "fbs"),
	})
	return dir, err
}

func TestCases(t *testing.T) {
	for _, name := range cases(t) {
		t.Run(name, func(t *testing.T) {
			dir, err := generate(t, name)
			want := filepath.Join("testdata", name)
			if strings.HasPrefix(name, "error-") {
				if err == nil {
					t.Fatal("no error")
				}
				message := strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), "")
				expect(t, filepath.Join(want, "error.txt"), []byte(message+"\n"))
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range outputs(t, dir) {
				data, err := os.ReadFile(filepath.Join(dir, file))
				if err != nil {
					t.Fatal(err)
				}
				expect(t, filepath.Join(want, expectedName(file)), data)
			}
		})
	}
}

// expectedName keeps the lock that comes out apart from the one that goes in.
func expectedName(file string) string {
	if file == codegen.LockName {
		return filepath.Join("lock", codegen.LockName)
	}
	return file
}

// outputs lists the files of a directory but the schema.
func outputs(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && d.Name() != "schema.json" {
			rel, _ := filepath.Rel(dir, path)
			files = append(files, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func expect(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (go test -update writes it)", err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs from the output (go test -update writes it)%s", path, firstDifference(want, got))
	}
}

func firstDifference(want, got []byte) string {
	w, g := strings.Split(string(want), "\n"), strings.Split(string(got), "\n")
	for i := range w {
		if i >= len(g) || w[i] != g[i] {
			line := "the end"
			if i < len(g) {
				line = g[i]
			}
			return "\nfirst at line " + w[i] + "\n         now " + line
		}
	}
	return "\nit is longer now"
}

// committed are the packages of the repository that nova generated; -update
// generates them again.
var committed = []codegen.Config{
	{Schema: "wire/control/schema.json", GoDir: "wire/control", FBSDir: "wire/control", TSDir: "clients/typescript/src/control", Runtime: "../wire/index.js", Control: true},
	{Schema: "market/schema.json", GoDir: "market", Tests: true, FBSDir: "market", TSDir: "cmd/nova/page/src/market"},
	{Schema: "examples/seismic/schema.json", GoDir: "examples/seismic", FBSDir: "examples/seismic"},
	{Schema: "examples/stocks", Tests: true, FBSDir: "examples/stocks"},
	{Schema: "codegen/internal/structs"},
	{Schema: "codegen/internal/structs/corners"},
}

func TestCommittedCodeIsFresh(t *testing.T) {
	root := repository(t)
	for _, cfg := range committed {
		cfg.Check = !*update
		for _, path := range []*string{&cfg.Schema, &cfg.GoDir, &cfg.TSDir, &cfg.FBSDir} {
			if *path != "" {
				*path = filepath.Join(root, *path)
			}
		}
		report, err := codegen.Run(cfg)
		if err != nil {
			t.Errorf("%s: %v", cfg.Schema, err)
		}
		for _, line := range report.Stale {
			t.Error(line)
		}
	}
}

// repository returns the folder that holds go.mod.
func repository(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if parent := filepath.Dir(dir); parent != dir {
			dir = parent
			continue
		}
		t.Fatal("no go.mod above the test")
	}
}
