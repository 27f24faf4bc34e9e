package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ignex/nova/codegen"
)

func newGenerate() *cobra.Command {
	var cfg codegen.Config
	var watch bool
	cmd := &cobra.Command{
		Use:   "generate (--schema FILE [--go DIR] | DIR) [--ts DIR] [--fbs DIR]",
		Short: "Generate Go, TypeScript and .fbs from a schema or from Go structs",
		Long: `generate reads a JSON Schema (as TypeBox emits it) and writes what is asked for:
a Go package, a TypeScript module, a FlatBuffers schema with the registry of event
ids. It also writes nova.lock.json beside the schema, which pins every number given
out: commit it.

With DIR, a Go package, its structs are the schema: those marked //nova:event NAME
and what they hold. Their codecs are written as methods into that package.`,
		Example: `  nova generate --schema schema.json --go events
  nova generate --schema schema.json --go events --ts web/src/events --fbs events
  nova generate ./events --ts web/src/events               # from Go structs
  nova generate --schema schema.json --go events --tests   # with tests of the types
  nova generate --schema schema.json --go events --check   # fails when files are stale
  nova generate --schema schema.json --go events --watch   # again after each change, until Ctrl-C`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("%d packages given; write one", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := source(&cfg, args); err != nil {
				return err
			}
			if watch {
				return watchSchema(cmd, cfg)
			}
			report, err := codegen.Run(cfg)
			return generated(cmd, cfg, report, err)
		},
	}
	f := cmd.Flags()
	f.StringVar(&cfg.Schema, "schema", "", "JSON Schema file, or the directory of Go structs")
	f.StringVar(&cfg.GoDir, "go", "", "directory of the Go package")
	f.StringVar(&cfg.TSDir, "ts", "", "directory of the TypeScript module")
	f.StringVar(&cfg.FBSDir, "fbs", "", "directory of backend.fbs and wire-registry.json")
	f.StringVar(&cfg.Package, "package", "", "package name instead of the schema's")
	f.StringVar(&cfg.Runtime, "runtime", codegen.DefaultRuntime, "module that the TypeScript output imports")
	f.BoolVar(&cfg.Tests, "tests", false, "also write NAME_nova_test.go: round trips, fuzz targets and benchmarks of the types")
	f.BoolVar(&cfg.Check, "check", false, "write nothing; fail when a file is missing or stale")
	f.BoolVar(&watch, "watch", false, "go on: generate again after each change of the schema, until Ctrl-C")
	return cmd
}

// watchSchema generates after each change. An error is told as without --watch, and
// the next change waited for.
func watchSchema(cmd *cobra.Command, cfg codegen.Config) error {
	if cfg.Check {
		return usagef("--check with --watch; --check compares once")
	}
	codegen.Watch(cmd.Context(), cfg, func(r codegen.Report, err error) {
		if err := generated(cmd, cfg, r, err); err != nil {
			report(cmd.ErrOrStderr(), cmd, err)
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "waiting for changes of %s; Ctrl-C ends\n", cfg.Schema)
	})
	return nil
}

// source takes the schema from the flag or the argument.
func source(cfg *codegen.Config, args []string) error {
	if len(args) == 1 {
		if cfg.Schema != "" {
			return usagef("a package of Go structs and --schema given; write one of them")
		}
		cfg.Schema = args[0]
		info, err := os.Stat(cfg.Schema)
		switch {
		case strings.HasSuffix(cfg.Schema, "..."):
			return usagef("%s is a pattern; write the directory of one package", cfg.Schema)
		case errors.Is(err, fs.ErrNotExist):
			return usagef("the directory %s does not exist; write that of a package of Go structs, or --schema FILE", cfg.Schema)
		case err == nil && !info.IsDir():
			return usagef("%s is no directory; write --schema %s", cfg.Schema, cfg.Schema)
		}
	}
	info, err := os.Stat(cfg.Schema)
	structs := err == nil && info.IsDir()
	switch {
	case cfg.Schema == "":
		return usagef("no schema given; write --schema FILE, or the directory of a package of Go structs")
	case structs && cfg.GoDir != "":
		return usagef("--go with Go structs; leave it out: the codecs go where the structs are")
	case !structs && cfg.GoDir == "" && cfg.TSDir == "" && cfg.FBSDir == "":
		return usagef("no output given; write --go DIR, --ts DIR or --fbs DIR")
	case !structs && cfg.GoDir == "" && cfg.Tests:
		return usagef("tests are Go code; write --go DIR beside --tests")
	}
	return nil
}

// generated tells what a run did.
func generated(cmd *cobra.Command, cfg codegen.Config, report codegen.Report, err error) error {
	stdout, stderr := cmd.OutOrStdout(), cmd.ErrOrStderr()
	if err != nil {
		if _, missing := os.Stat(cfg.Schema); errors.Is(missing, fs.ErrNotExist) {
			return fmt.Errorf("schema file %s does not exist; write --schema FILE", cfg.Schema)
		}
		return err
	}
	for _, w := range report.Warnings {
		fmt.Fprintln(stderr, "warning:", w.Detail())
	}
	if n := len(report.Stale); n > 0 {
		return fmt.Errorf("%d of %d files are not what the schema gives (%s); run the same command without --check",
			n, len(report.Files), strings.Join(report.Stale, ", "))
	}
	if cfg.Check {
		_, err = fmt.Fprintf(stdout, "%s: %d files are up to date\n", report.Package, len(report.Files))
		return err
	}
	for _, path := range report.Written {
		fmt.Fprintln(stdout, "wrote", path)
	}
	_, err = fmt.Fprintf(stdout, "%s: %s, %s, fingerprint %s; %d of %d files changed\n", report.Package,
		count(report.Events, "event"), count(report.Calls, "call"), report.Fingerprint, len(report.Written), len(report.Files))
	return err
}

// count writes a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return grouped(n) + " " + noun + "s"
}

// grouped writes a number with a comma between thousands.
func grouped(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
