package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whatever a config file holds, it is refused with one line that names a place, or
// what is printed of it reads as the same again.
func FuzzFile(f *testing.F) {
	for _, seed := range []string{
		"", "addr: a\ntls: {cert: b}\n", "rules:\n- {name: a, size: 1}\n- name: b\n", "names: [a, b]\n", "limits: {most: 1, rate: 2.5, max-bytes: 4KiB}",
		"wait: 1h\ncolor: red\non: true", "a: &x b\nc: *x", "<<: {addr: 1}", "? [a]\n: b", "addr: |\n  text\n  more\n", "addr: \"\\u0000\"", "---\n---\n", "%YAML 1.1\n--- !!map {addr: !!int 1}",
	} {
		f.Add(seed)
	}
	dir := f.TempDir()
	path := filepath.Join(dir, fmt.Sprint("nova", os.Getpid(), ".yaml"))
	f.Fuzz(func(t *testing.T, text string) {
		read := func(text string) (values, string, error) {
			var v values
			s := declare(&v)
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := s.Load(path, false, nil); err != nil {
				return v, "", err
			}
			out, err := s.YAML()
			if err != nil {
				t.Fatalf("%q was read and cannot be printed: %v", text, err)
			}
			return v, string(out), nil
		}
		v, out, err := read(text)
		if err != nil {
			if strings.Contains(err.Error(), "\n") || len(err.Error()) > 2000 {
				t.Errorf("the error takes lines, or %d bytes: %q", len(err.Error()), err)
			}
			return
		}
		if v.token != "" || v.secret != "" {
			return // is printed as ***
		}
		again, _, err := read(out)
		if err != nil || fmt.Sprint(again) != fmt.Sprint(v) {
			t.Errorf("%q was printed as %q: %+v became %+v, %v", text, out, v, again, err)
		}
	})
}
