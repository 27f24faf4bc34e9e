package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ignex/nova/codegen"
	"github.com/ignex/nova/schema"
)

// checkConfig is one run of nova check.
type checkConfig struct {
	older   string // file, or git:REV:PATH; "" = the lock file
	newer   string
	options schema.CompareOptions
	json    bool
}

func newCheck() *cobra.Command {
	var cfg checkConfig
	cmd := &cobra.Command{
		Use:   "check [OLD] NEW [--against git:REV:PATH]",
		Short: "Tell what a change of the schema does to older clients and servers",
		Long: `check compares two schemas and tells of each change whether it is safe, worth a note,
or breaks clients and servers that still have the older one. With one file it is
compared with the nova.lock.json beside it: with what was generated last.

With git:REV:PATH the older one is a file or a directory of Go structs as it was in
that revision; PATH is from where the command runs. Go structs need the go.mod and
whatever else of the module they name: the whole revision is written to a temporary
directory for it, and the repository stays as it is.

Numbers come from the lock file beside each schema. A NEW without one is read with the
numbers of OLD, as generate would give them.

Exit code: 0 when nothing breaks, 1 when something does, 2 for wrong usage.`,
		Example: `  nova check schema.json                                # against nova.lock.json
  nova check old/schema.json schema.json
  nova check ./events                                   # Go structs against their lock
  nova check schema.json --against git:main:schema.json # what a branch changes
  nova check ./events --against git:main:events         # the same for Go structs`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0 || len(args) > 2:
				return usagef("%d files given; write nova check NEW or nova check OLD NEW", len(args))
			case len(args) == 2 && cfg.older != "":
				return usagef("two files and --against given; write one of OLD and --against")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg.newer = args[len(args)-1]
			if len(args) == 2 {
				cfg.older = args[0]
			}
			return check(cmd.Context(), cmd.OutOrStdout(), cfg)
		},
	}
	f := cmd.Flags()
	f.StringVar(&cfg.older, "against", "", "older schema: a file or directory, or git:REV:PATH from the repository")
	f.BoolVar(&cfg.options.Strict, "strict", false, "a removed event or call breaks")
	f.BoolVar(&cfg.json, "json", false, "write a JSON array of changes")
	return cmd
}

func check(ctx context.Context, stdout io.Writer, cfg checkConfig) error {
	older, newer, err := readBoth(ctx, cfg)
	if err != nil {
		return err
	}
	changes := schema.Compare(older, newer, cfg.options)
	breaking := 0
	for _, c := range changes {
		if c.Severity == schema.Breaking {
			breaking++
		}
	}
	if cfg.json {
		enc := json.NewEncoder(stdout)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		if changes == nil {
			changes = []schema.Change{}
		}
		if err := enc.Encode(changes); err != nil {
			return err
		}
	} else {
		for _, c := range changes {
			if _, err := fmt.Fprintln(stdout, c); err != nil {
				return err
			}
		}
		if len(changes) == 0 {
			fmt.Fprintln(stdout, "nothing changed")
		}
	}
	if breaking > 0 {
		return fmt.Errorf("%s would break older clients or servers", count(breaking, "change"))
	}
	return nil
}

// readBoth reads the two schemas, each with its numbers.
func readBoth(ctx context.Context, cfg checkConfig) (older, newer *schema.Model, err error) {
	lock, err := readLock(cfg.newer)
	if err != nil {
		return nil, nil, err
	}
	if cfg.older == "" {
		switch {
		case lock == nil:
			return nil, nil, usagef("no %s beside %s to compare with; write nova check OLD NEW, or --against git:REV:PATH",
				codegen.LockName, cfg.newer)
		case lock.Model() == nil:
			return nil, nil, usagef("the %s beside %s was written by an older version and has no types; run nova generate on the schema as it was, or write nova check OLD NEW",
				codegen.LockName, cfg.newer)
		}
		older = lock.Model()
	} else if older, err = readOlder(ctx, cfg.older); err != nil {
		return nil, nil, err
	}
	if lock == nil {
		lock = schema.NewLock(older)
	}
	lock.Types = nil // a changed type is a finding here, not an error
	newer, err = readModel(cfg.newer, lock)
	return older, newer, err
}

// readOlder reads the older schema with the lock file beside it.
func readOlder(ctx context.Context, name string) (*schema.Model, error) {
	if !strings.HasPrefix(name, "git:") {
		lock, err := readLock(name)
		if err != nil {
			return nil, err
		}
		return readModel(name, lock)
	}
	return readRevision(ctx, name)
}

// readLock reads the lock file beside a schema; nil: there is none.
func readLock(file string) (*schema.Lock, error) {
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("schema file %s does not exist; write nova check NEW or nova check OLD NEW", file)
	}
	path := codegen.LockPath(file)
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return schema.ReadLock(path, data)
}

func readModel(file string, lock *schema.Lock) (*schema.Model, error) {
	model, _, err := codegen.Read(file, schema.Options{Lock: lock})
	return model, err
}
