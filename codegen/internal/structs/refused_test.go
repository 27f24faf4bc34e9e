package structs_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ignex/nova/codegen"
	"github.com/ignex/nova/schema"
)

var update = flag.Bool("update", false, "write the expected errors instead of comparing")

// A folder of testdata is a package that is refused for what stands in its
// error.txt: all of it is told in one run, each with its place in Go.
func TestRefused(t *testing.T) {
	folders, err := filepath.Glob("testdata/*")
	if err != nil || len(folders) < 8 {
		t.Fatal(folders, err)
	}
	for _, dir := range folders {
		if filepath.Base(dir) == "before" {
			continue
		}
		t.Run(filepath.Base(dir), func(t *testing.T) {
			_, err := codegen.Run(codegen.Config{Schema: dir, Check: true})
			var problems schema.Errors
			if !errors.As(err, &problems) {
				t.Fatalf("error %v", err)
			}
			got := strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), "") + "\n"
			path := filepath.Join(dir, "error.txt")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant (go test -update writes it)\n%s", got, want)
			}
			for line := range strings.Lines(got) {
				if strings.Contains(line, "/$defs") || strings.Contains(line, `"$`) {
					t.Errorf("speaks of JSON: %s", line)
				}
			}
		})
	}
}

// Code in the package may use what the first generation will bring, and what the
// last one no longer fits.
func TestFirstGeneration(t *testing.T) {
	dir, err := os.MkdirTemp(".", "_first-") // inside the module, out of ./...
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	source, err := os.ReadFile(filepath.Join("testdata", "before", "before.go"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "before.go")
	for _, text := range [][]byte{source, bytes.ReplaceAll(source, []byte("N int"), []byte("M []string `json:\"m\"`\n\tN int"))} {
		if err := os.WriteFile(file, bytes.ReplaceAll(text, []byte("&Tick{N: 1}"), []byte("&Tick{}")), 0o644); err != nil {
			t.Fatal(err)
		}
		report, err := codegen.Run(codegen.Config{Schema: dir, Check: true})
		if err != nil || len(report.Stale) == 0 {
			t.Fatal(report, err)
		}
		if report, err = codegen.Run(codegen.Config{Schema: dir}); err != nil || len(report.Written) != 2 {
			t.Fatal(report, err)
		}
		if out, err := exec.Command("go", "vet", "./"+dir).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if report, err = codegen.Run(codegen.Config{Schema: dir, Check: true}); err != nil || len(report.Stale) > 0 {
			t.Fatal(report, err)
		}
	}
	// What was generated from something else would stand beside the new file.
	if err := os.Rename(filepath.Join(dir, "before_nova.go"), filepath.Join(dir, "other_nova.go")); err != nil {
		t.Fatal(err)
	}
	if _, err := codegen.Run(codegen.Config{Schema: dir}); err == nil || !strings.Contains(err.Error(), "other_nova.go was generated for something else") {
		t.Error(err)
	}
}
