package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"github.com/ignex/nova/codegen"
	"github.com/ignex/nova/schema"
)

// readRevision reads the schema at git:REV:PATH with the lock file beside it.
func readRevision(ctx context.Context, name string) (*schema.Model, error) {
	rev, file, ok := strings.Cut(strings.TrimPrefix(name, "git:"), ":")
	if !ok || rev == "" || file == "" || strings.HasPrefix(rev, "-") {
		return nil, usagef("%q is no place in a repository; write --against git:REV:PATH, such as git:main:schema.json", name)
	}
	file = path.Clean(filepath.ToSlash(file))
	kind, err := gitShow(ctx, rev, file, "cat-file", "-t")
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(string(kind)) == "tree" {
		return readStructs(ctx, rev, file)
	}
	data, err := gitShow(ctx, rev, file, "cat-file", "blob")
	if err != nil {
		return nil, err
	}
	var lock *schema.Lock
	lockPath := path.Join(path.Dir(file), codegen.LockName)
	if pinned, err := gitShow(ctx, rev, lockPath, "cat-file", "blob"); err == nil { // else there was none
		if lock, err = schema.ReadLock(rev+":"+lockPath, pinned); err != nil {
			return nil, err
		}
		lock.Types = nil
	}
	return schema.Read(rev+":"+file, data, schema.Options{Lock: lock})
}

// readStructs reads the package of Go structs in a directory of a revision.
func readStructs(ctx context.Context, rev, dir string) (*schema.Model, error) {
	r, err := checkOut(ctx, rev)
	if err != nil {
		return nil, fmt.Errorf("read the Go structs in %s of %s: %w", dir, rev, err)
	}
	defer r.remove()
	model, err := r.read(ctx, dir)
	return model, r.told(dir, err)
}

// revision is what a repository held at one revision, on disk.
type revision struct {
	name   string // as the user wrote it
	temp   string // what remove removes
	root   string // its files
	top    string // the files of the repository as they are now
	prefix string // from root and top to where the command runs
}

// checkOut writes all files of a revision to a temporary directory: what Go structs
// name may stand anywhere in the repository. It works through an index of its own,
// runs no hooks and leaves the repository as it is.
func checkOut(ctx context.Context, rev string) (*revision, error) {
	// Two calls: a repository may stand in a directory with a line break in its name.
	top, err := git(ctx, "", nil, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, err
	}
	prefix, err := git(ctx, "", nil, "rev-parse", "--show-prefix")
	if err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp("", "nova-check-")
	if err != nil {
		return nil, err
	}
	r := &revision{name: rev, temp: temp}
	r.top, r.prefix = strings.TrimSuffix(string(top), "\n"), strings.TrimSuffix(string(prefix), "\n")
	// The go command names files by their real paths.
	if r.root, err = filepath.EvalSymlinks(temp); err != nil {
		r.remove()
		return nil, err
	}
	r.root = filepath.Join(r.root, "files")
	env := []string{"GIT_INDEX_FILE=" + filepath.Join(temp, "index"), "GIT_LFS_SKIP_SMUDGE=1"}
	for _, args := range [][]string{
		{"read-tree", rev},
		{"checkout-index", "--all", "--prefix=" + filepath.ToSlash(r.root) + "/"},
	} {
		args = append([]string{"-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsmonitor=false", "-c", "core.sparseCheckout=false"}, args...)
		if _, err := git(ctx, r.top, env, args...); err != nil {
			r.remove()
			return nil, err
		}
	}
	return r, nil
}

// remove is done with it. What cannot be removed stays in the temporary directory of
// the system, which empties it.
func (r *revision) remove() { _ = os.RemoveAll(r.temp) }

// read reads the package in a directory, given from where the command runs.
func (r *revision) read(ctx context.Context, dir string) (*schema.Model, error) {
	dir = filepath.Join(r.root, r.prefix, filepath.FromSlash(dir))
	module, ok := r.holder(dir, "go.mod")
	if !ok {
		return nil, errors.New("no go.mod at or above it in that revision, so its imports have no meaning; compare with a directory or a file: nova check OLD NEW")
	}
	if err := r.outside(ctx, module); err != nil {
		return nil, err
	}
	lock, err := readLock(dir)
	if err != nil {
		return nil, err
	}
	if lock != nil {
		lock.Types = nil
	}
	return readModel(dir, lock)
}

// holder returns the directory that holds a file, at or above dir.
func (r *revision) holder(dir, file string) (string, bool) {
	for {
		if _, err := os.Stat(filepath.Join(dir, file)); err == nil {
			return dir, true
		}
		if dir == r.root {
			return "", false
		}
		dir = filepath.Dir(dir)
	}
}

// outside mends the replace directives of a module that lead out of the repository:
// they go on to lead where they do now, as there is no other state of that place.
// A module with a vendor directory needs none of them.
func (r *revision) outside(ctx context.Context, module string) error {
	if _, ok := r.holder(module, filepath.Join("vendor", "modules.txt")); ok {
		return nil
	}
	text, err := goMod(ctx, module, "-json")
	if err != nil {
		return err
	}
	var mod struct {
		Replace []struct {
			Old, New struct{ Path, Version string }
		}
	}
	if err := json.Unmarshal(text, &mod); err != nil {
		return fmt.Errorf("go mod edit -json: %w", err)
	}
	here, err := filepath.Rel(r.root, module)
	if err != nil {
		return err
	}
	for _, x := range mod.Replace {
		target := filepath.FromSlash(x.New.Path)
		if x.New.Version != "" || filepath.IsAbs(target) || filepath.IsLocal(filepath.Join(here, target)) {
			continue
		}
		old := x.Old.Path
		if x.Old.Version != "" {
			old += "@" + x.Old.Version
		}
		if _, err := goMod(ctx, module, "-replace="+old+"="+filepath.Join(r.top, here, target)); err != nil {
			return err
		}
	}
	return nil
}

// told names the places of the temporary directory as the user knows them.
func (r *revision) told(dir string, err error) error {
	if err == nil {
		return nil
	}
	base := filepath.Join(r.root, r.prefix)
	clean := func(text string) string {
		text = strings.ReplaceAll(text, base+string(filepath.Separator), r.name+":")
		return strings.ReplaceAll(text, r.root, r.name+":/")
	}
	var problems schema.Errors
	if !errors.As(err, &problems) {
		return fmt.Errorf("read the Go structs in %s of %s: %s", dir, r.name, clean(err.Error()))
	}
	for i := range problems {
		problems[i].Pos.File, problems[i].Found = clean(problems[i].Pos.File), clean(problems[i].Found)
	}
	return err
}

// gitShow asks git about a place in a revision, by its path from where the command
// runs.
func gitShow(ctx context.Context, rev, file string, args ...string) ([]byte, error) {
	place := rev + ":./" + file
	if file == "." {
		place = rev + ":./"
	}
	out, err := git(ctx, "", nil, append(args, place)...)
	var failed *gitError
	if errors.As(err, &failed) {
		return nil, fmt.Errorf("git has no %s in %s: %s", file, rev, failed.text)
	}
	return out, err
}

// gitError is what git says when it fails.
type gitError struct{ text string }

func (e *gitError) Error() string { return "git: " + e.text }

func git(ctx context.Context, dir string, env []string, args ...string) ([]byte, error) {
	out, stderr, err := output(ctx, dir, env, "git", args...)
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return nil, errors.New("git is not installed; write nova check OLD NEW")
	case err != nil && ctx.Err() == nil && stderr != "":
		return nil, &gitError{stderr}
	}
	return out, err
}

// goMod runs go mod edit on the go.mod of a module.
func goMod(ctx context.Context, module, arg string) ([]byte, error) {
	out, stderr, err := output(ctx, module, nil, "go", "mod", "edit", arg)
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return nil, errors.New("the go command is not installed; it is needed to read Go structs")
	case err != nil && stderr != "":
		return nil, fmt.Errorf("go mod edit: %s", stderr)
	}
	return out, err
}

func output(ctx context.Context, dir string, env []string, name string, args ...string) (stdout []byte, stderr string, err error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), env...)
	stdout, err = cmd.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		stderr = strings.Join(strings.Fields(string(failed.Stderr)), " ")
	}
	return stdout, stderr, err
}
