package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"

	"github.com/ignex/nova/codegen"
	"github.com/ignex/nova/schema"
	"github.com/ignex/nova/wire"
)

// maxSchema bounds a schema file and the answer of /schema, in bytes.
const maxSchema = 16 << 20

// loadLayout reads a schema file, with the lock file beside it when there is
// one: the same numbers as in code generated from it.
func loadLayout(path string) (*wire.Layout, error) {
	data, err := readBounded(path)
	if err != nil {
		return nil, err
	}
	var opts schema.Options
	lockPath := filepath.Join(filepath.Dir(path), codegen.LockName)
	lock, err := os.ReadFile(lockPath)
	switch {
	case err == nil:
		if opts.Lock, err = schema.ReadLock(lockPath, lock); err != nil {
			return nil, err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("read lock file: %w", err)
	}
	model, err := schema.Read(path, data, opts)
	if err != nil {
		return nil, err
	}
	layout, err := model.Layout()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return layout, layout.Init()
}

func readBounded(path string) ([]byte, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("schema file %s does not exist; pass the path with --schema", path)
	}
	if err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSchema+1))
	if err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	if len(data) > maxSchema {
		return nil, fmt.Errorf("schema file %s is longer than %d MiB", path, maxSchema>>20)
	}
	return data, nil
}

// layout returns the schema of the file, or of the running server when none is
// given.
func (s *serverFlags) layout(ctx context.Context) (*wire.Layout, error) {
	if s.schema != "" {
		return loadLayout(s.schema)
	}
	resp, err := s.do(ctx, http.MethodGet, "/schema", "", nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s/schema answered %s; give the schema with --schema FILE", s.url, resp.Status)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxSchema))
	if err != nil {
		return nil, fmt.Errorf("read %s/schema: %w", s.url, err)
	}
	var l wire.Layout
	if err := json.Unmarshal(data, &l); err != nil {
		return nil, fmt.Errorf("%s/schema is no schema (%w); give it with --schema FILE", s.url, err)
	}
	return &l, nil
}
