package codegen

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// File is one generated file.
type File struct {
	Target Target
	Name   string // inside the target's directory
	Data   []byte
}

// Files are the generated files of one model.
type Files []File

// Dirs says where the files of each target go. Files of a target that is not
// in the map are left out.
type Dirs map[Target]string

// Write writes the files whose content on disk differs, and returns their paths.
// It makes missing directories and removes nothing. A file that exists and was
// not written by nova is an error, before anything is written.
func (f Files) Write(dirs Dirs) ([]string, error) {
	var pending []placed
	for _, p := range f.place(dirs) {
		old, err := os.ReadFile(p.path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, fmt.Errorf("read %s: %w", p.path, err)
		case !owned(p.Name, old):
			return nil, fmt.Errorf("%s was not written by nova: move it away, or choose another directory", p.path)
		case bytes.Equal(old, p.Data):
			continue
		}
		pending = append(pending, p)
	}
	var written []string
	for _, p := range pending {
		if err := replace(p.path, p.Data); err != nil {
			return written, err
		}
		written = append(written, p.path)
	}
	return written, nil
}

// Check returns what Write would do, one line a file: missing, stale, or in the
// way because nova did not write it. It is empty when all is as generated.
func (f Files) Check(dirs Dirs) []string {
	var stale []string
	for _, p := range f.place(dirs) {
		old, err := os.ReadFile(p.path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			stale = append(stale, p.path+" is missing")
		case err != nil:
			stale = append(stale, fmt.Sprintf("%s cannot be read: %v", p.path, err))
		case !owned(p.Name, old):
			stale = append(stale, p.path+" was not written by nova")
		case !bytes.Equal(old, p.Data):
			stale = append(stale, p.path+" differs from what the schema gives")
		}
	}
	return stale
}

// placed is a file with its path.
type placed struct {
	File
	path string
}

func (f Files) place(dirs Dirs) []placed {
	var list []placed
	for _, file := range f {
		if dir, ok := dirs[file.Target]; ok {
			list = append(list, placed{file, filepath.Join(dir, file.Name)})
		}
	}
	return list
}

// owned reports whether a file is ours to replace: it begins with our header,
// or, as JSON has no comments, it is a registry, a lock or a description by its keys.
func owned(name string, data []byte) bool {
	if strings.HasSuffix(name, ".html") {
		return bytes.Contains(data[:min(len(data), 128)], []byte(header[len("// "):]))
	}
	if !strings.HasSuffix(name, ".json") {
		return bytes.HasPrefix(data, []byte(header))
	}
	var keys map[string]json.RawMessage
	if json.Unmarshal(data, &keys) != nil {
		return false
	}
	if keys["asyncapi"] != nil {
		return keys["x-nova"] != nil
	}
	if name == LockName {
		return keys["wire"] != nil && keys["tables"] != nil
	}
	return keys["version"] != nil && keys["fingerprint"] != nil && keys["events"] != nil
}

// replace writes a file so that a reader sees the old or the new content whole.
func replace(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = tmp.Write(data)
	err = errors.Join(err, tmp.Chmod(0o644), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", path, err), os.Remove(tmp.Name()))
	}
	return nil
}
