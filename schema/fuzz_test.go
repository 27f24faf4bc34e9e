package schema_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ignex/nova/schema"
)

// FuzzRead reads anything twice: no panic, the same answer, and a model that
// has a layout and a lock that fits it.
func FuzzRead(f *testing.F) {
	files, _ := filepath.Glob("testdata/refused/*.txt")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, c := range strings.Split(string(data), "=== ")[1:] {
			_, rest, _ := strings.Cut(c, "\n")
			src, _, _ := strings.Cut(rest, "---\n")
			if shape, ok := strings.CutPrefix(src, "field: "); ok {
				src = `{"package":"p","events":{"e":{"type":"object","properties":{"f":` + strings.TrimSpace(shape) + `}}}}`
			}
			if len(src) < 2000 {
				f.Add([]byte(src))
			}
		}
	}
	f.Add([]byte(`{"package":"p","$defs":{"S":{"enum":["a","b"]}},"events":{"e":{"type":"object","properties":{"s":{"$ref":"S"},"n":{"type":["integer","null"]},"o":{"type":"object","properties":{}}},"required":["s"],"x-nova":{"delivery":"latest","key":"s"}}},"calls":{"c":{"request":{"type":"object","properties":{}}}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := schema.Read("s.json", data, schema.Options{})
		again, err2 := schema.Read("s.json", data, schema.Options{})
		if err != nil {
			if err2 == nil || err.Error() != err2.Error() {
				t.Fatalf("two answers:\n%v\n%v", err, err2)
			}
			if problems, ok := err.(schema.Errors); !ok || len(problems) == 0 {
				t.Fatalf("%T %v", err, err)
			}
			return
		}
		if err2 != nil || m.Fingerprint() != again.Fingerprint() {
			t.Fatalf("two answers: %v", err2)
		}
		if _, err := m.Layout(); err != nil {
			t.Fatalf("accepted without a layout: %v", err)
		}
		lock, err := schema.ReadLock("nova.lock.json", schema.NewLock(m).Encode())
		if err != nil {
			t.Fatalf("its own lock is refused: %v", err)
		}
		locked, err := schema.Read("s.json", data, schema.Options{Lock: lock})
		if err != nil || locked.Fingerprint() != m.Fingerprint() {
			t.Fatalf("its own lock changes it: %v", err)
		}
	})
}

// FuzzReadLock reads anything as a lock file.
func FuzzReadLock(f *testing.F) {
	f.Add([]byte(wantABC))
	f.Add([]byte(`{"wire":2,"tables":{"E":{"a":0,"deprecated":["a"]}},"enums":{"V":{"x":0}},"unions":{"U":{"A":1}},"calls":{"c":{"request":"R","response":"S"}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		lock, err := schema.ReadLock("nova.lock.json", data)
		if err != nil {
			return
		}
		if _, err := schema.ReadLock("nova.lock.json", lock.Encode()); err != nil {
			t.Fatalf("not read again: %v\n%s", err, lock.Encode())
		}
	})
}
