package sim

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Mutation is one deliberate mistake in the code under test.
type Mutation struct {
	Name string
	File string // from the root of the module
	Seed uint64 // of the first program, 0 = 1: one from which it shows soon
	// Edits replace text that stands in the file exactly once.
	Edits [][2]string
}

// Overlay writes the changed file and the description of it that the go command
// takes with -overlay into dir, and returns the description's name. root is the
// directory of go.mod.
func (m Mutation) Overlay(root, dir string) (string, error) {
	path := filepath.Join(root, filepath.FromSlash(m.File))
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	code := string(text)
	for _, e := range m.Edits {
		if n := strings.Count(code, e[0]); n != 1 {
			return "", fmt.Errorf("%s: %q stands %d times in %s: adapt the mutation", m.Name, e[0], n, m.File)
		}
		code = strings.Replace(code, e[0], e[1], 1)
	}
	changed := filepath.Join(dir, "changed.go")
	if err := os.WriteFile(changed, []byte(code), 0o600); err != nil {
		return "", err
	}
	list, err := json.Marshal(map[string]map[string]string{"Replace": {path: changed}})
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "overlay.json")
	return file, os.WriteFile(file, list, 0o600)
}
