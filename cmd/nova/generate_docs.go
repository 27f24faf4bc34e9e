package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ignex/nova/codegen"
	"github.com/ignex/nova/codegen/docs"
)

// docsConfig is one run of nova docs.
type docsConfig struct {
	codegen.Config
	out string
}

func newDocs() *cobra.Command {
	var cfg docsConfig
	cmd := &cobra.Command{
		Use:   "docs --schema FILE --out DIR",
		Short: "Describe a schema: an AsyncAPI document and a page",
		Long: `docs writes two files: asyncapi.json, an AsyncAPI 3.0 document of the events and
calls, and index.html, a page about them in one file that loads nothing else.
Properties that are marked secret are named, their examples show ***.`,
		Example: `  nova docs --schema schema.json --out public
  nova docs --schema ./events --out public               # of Go structs
  nova docs --schema schema.json --out public --check   # fails when the files are stale`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case cfg.Schema == "":
				return usagef("no schema given; write --schema FILE")
			case cfg.out == "":
				return usagef("no output given; write --out DIR")
			}
			return writeDocs(cmd.OutOrStdout(), cmd.ErrOrStderr(), cfg)
		},
	}
	f := cmd.Flags()
	f.StringVar(&cfg.Schema, "schema", "", "JSON Schema file, or the directory of Go structs")
	f.StringVar(&cfg.out, "out", "", "directory of asyncapi.json and index.html")
	f.StringVar(&cfg.Package, "package", "", "name instead of the schema's")
	f.BoolVar(&cfg.Check, "check", false, "write nothing; fail when a file is missing or stale")
	return cmd
}

func writeDocs(stdout, stderr io.Writer, cfg docsConfig) error {
	model, err := codegen.ReadSchema(cfg.Config)
	if err != nil {
		if _, missing := os.Stat(cfg.Schema); errors.Is(missing, fs.ErrNotExist) {
			return fmt.Errorf("schema file %s does not exist; write --schema FILE", cfg.Schema)
		}
		return err
	}
	for _, w := range model.Warnings {
		fmt.Fprintln(stderr, "warning:", w.Detail())
	}
	files, err := docs.Generate(model)
	if err != nil {
		return err
	}
	dirs := codegen.Dirs{docs.Target: cfg.out}
	if cfg.Check {
		if stale := files.Check(dirs); len(stale) > 0 {
			return fmt.Errorf("%d of %d files are not what the schema gives (%s); run the same command without --check",
				len(stale), len(files), strings.Join(stale, ", "))
		}
		_, err = fmt.Fprintf(stdout, "%s: %d files are up to date\n", model.Package, len(files))
		return err
	}
	written, err := files.Write(dirs)
	if err != nil {
		return err
	}
	for _, path := range written {
		fmt.Fprintln(stdout, "wrote", path)
	}
	_, err = fmt.Fprintf(stdout, "%s: %s, %s; %d of %d files changed\n", model.Package,
		count(len(model.Events), "event"), count(len(model.Calls), "call"), len(written), len(files))
	return err
}
