package codegen

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ignex/nova/schema"
	"github.com/ignex/nova/schema/gostruct"
)

// LockName is the file beside the schema that pins every number given out.
const LockName = "nova.lock.json"

// lockTarget is the directory of the schema, where the lock stands.
const lockTarget Target = "lock"

// Config is one run of the generator, as the command line gives it.
type Config struct {
	// Schema is the path of the JSON Schema document, or the directory of a package
	// of Go structs: the Go output then goes there, and GoDir stays "".
	Schema string
	// GoDir, TSDir and FBSDir receive the outputs; "" leaves one out, but not all.
	GoDir, TSDir, FBSDir string
	// Package overrides the schema's package name; default the schema's.
	Package string
	// Runtime is the module the TypeScript output imports; default DefaultRuntime.
	Runtime string
	// Tests adds tests of the generated types to the Go output. Default false.
	Tests bool
	// Check compares with what is on disk and writes nothing. Default false.
	Check bool
	// Control generates the protocol's own control events: reserved names are
	// allowed, the Go output is bare and the TypeScript compact. Default false.
	Control bool
}

// Report tells what a run did.
type Report struct {
	Package     string
	Fingerprint string
	Events      int
	Calls       int
	Read        []string         // the schema file, or the directories of Go packages that can change
	Files       []string         // paths of all outputs, the lock included
	Written     []string         // those that were written
	Stale       []string         // with Check: one line for each output that is not up to date
	Warnings    []schema.Problem // accepted, but worth a look
}

// Run reads a schema and its lock, and writes or checks the outputs. Problems of
// the schema or the lock come as schema.Errors, all of one run.
func Run(cfg Config) (Report, error) {
	files, dirs, report, err := prepare(cfg)
	if err != nil {
		return report, err
	}
	for _, p := range files.place(dirs) {
		report.Files = append(report.Files, p.path)
	}
	if cfg.Check {
		report.Stale = files.Check(dirs)
		return report, nil
	}
	report.Written, err = files.Write(dirs)
	return report, err
}

func prepare(cfg Config) (Files, Dirs, Report, error) {
	dirs, opts, err := cfg.outputs()
	if err != nil {
		return nil, nil, Report{}, err
	}
	model, structs, err := read(cfg)
	if err != nil {
		return nil, nil, Report{}, err
	}
	if opts.Structs = structs; structs != nil && cfg.GoDir != "" {
		return nil, nil, Report{}, errors.New("the Go output stands beside the structs it is for; leave out the directory for Go")
	}
	files, err := Generate(model, opts)
	if err != nil {
		return nil, nil, Report{}, excerpted(err)
	}
	files = append(files, File{lockTarget, LockName, schema.NewLock(model).Encode()})
	from := []string{cfg.Schema}
	if structs != nil {
		from = append(from, structs.Dirs...)
	}
	return files, dirs, Report{Read: from, Package: model.Package, Fingerprint: model.Fingerprint(),
		Events: len(model.Events), Calls: len(model.Calls), Warnings: model.Warnings}, nil
}

// outputs returns where the outputs go and what to generate.
func (cfg Config) outputs() (Dirs, Options, error) {
	dirs := Dirs{lockTarget: filepath.Dir(LockPath(cfg.Schema))}
	opts := Options{GoBare: cfg.Control, GoTests: cfg.Tests, TSCompact: cfg.Control, Runtime: cfg.Runtime}
	for _, o := range []struct {
		target Target
		dir    string
	}{{Go, cfg.GoDir}, {TypeScript, cfg.TSDir}, {FBS, cfg.FBSDir}} {
		if o.dir != "" {
			dirs[o.target] = o.dir
			opts.Targets = append(opts.Targets, o.target)
		}
	}
	if isDir(cfg.Schema) && cfg.GoDir == "" {
		dirs[Go] = cfg.Schema
		opts.Targets = append(opts.Targets, Go)
	}
	switch {
	case cfg.Schema == "":
		return nil, opts, errors.New("no schema given: name a JSON Schema file, or the directory of a package of Go structs")
	case cfg.Tests && dirs[Go] == "":
		return nil, opts, errors.New("tests are Go code: name a directory for Go")
	case len(opts.Targets) == 0:
		return nil, opts, errors.New("no output given: name a directory for Go, TypeScript or .fbs")
	}
	return dirs, opts, nil
}

// LockPath returns where the lock of a schema stands: beside the file, or in the
// directory of Go structs.
func LockPath(schema string) string {
	if isDir(schema) {
		return filepath.Join(schema, LockName)
	}
	return filepath.Join(filepath.Dir(schema), LockName)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// ReadSchema reads the schema of cfg with the lock beside it, if there is one, so
// that its numbers are those of generated code.
func ReadSchema(cfg Config) (*schema.Model, error) {
	model, _, err := read(cfg)
	return model, err
}

// read is ReadSchema; the Source is nil when the schema is a file.
func read(cfg Config) (*schema.Model, *gostruct.Source, error) {
	if ext := filepath.Ext(cfg.Schema); ext == ".ts" || ext == ".mts" || ext == ".js" || ext == ".mjs" {
		return nil, nil, errors.New(exportFirst(cfg.Schema))
	}
	opts := schema.Options{Package: cfg.Package, AllowReserved: cfg.Control}
	path := LockPath(cfg.Schema)
	pinned, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, nil, fmt.Errorf("read lock: %w", err)
	default:
		if opts.Lock, err = schema.ReadLock(path, pinned); err != nil {
			return nil, nil, err
		}
	}
	return Read(cfg.Schema, opts)
}

// Read reads a schema: a JSON Schema file, or the directory of a package of Go
// structs, whose Source it then returns as well.
func Read(path string, opts schema.Options) (*schema.Model, *gostruct.Source, error) {
	if isDir(path) {
		source, err := gostruct.Read(context.Background(), path)
		if err != nil {
			return nil, nil, excerpted(err)
		}
		opts.Places = source.Places
		model, err := schema.Read(path, source.Schema, opts)
		return model, source, excerpted(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("read schema: %w", err)
	}
	model, err := schema.Read(path, data, opts)
	return model, nil, err
}

// excerpted shows the lines of Go that problems are about.
func excerpted(err error) error {
	var problems schema.Errors
	if !errors.As(err, &problems) {
		return err
	}
	done := map[string]bool{}
	for _, p := range problems {
		if file := p.Pos.File; filepath.Ext(file) == ".go" && !done[file] {
			done[file] = true
			if data, err := os.ReadFile(file); err == nil {
				problems.Excerpted(file, data)
			}
		}
	}
	return err
}

// exportFirst tells how to make JSON of a TypeScript schema.
func exportFirst(file string) string {
	module := filepath.ToSlash(file)
	if !filepath.IsAbs(file) {
		module = "./" + module
	}
	return fmt.Sprintf(`%s is a program, not JSON: export it first (write your name for "market"): `+
		`npx tsx -e 'import * as s from %q; console.log(JSON.stringify({package: "market", schemas: s.schemas, events: s.events, calls: s.calls}))' > %s`,
		file, module, strings.TrimSuffix(file, filepath.Ext(file))+".json")
}
