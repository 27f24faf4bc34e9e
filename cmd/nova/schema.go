package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"

	"github.com/ignex/nova/codegen"
	"github.com/ignex/nova/wire"
)

// maxSchema bounds the answer of /schema, in bytes.
const maxSchema = 16 << 20

// loadLayout reads a schema file, with the lock file beside it.
func loadLayout(path string) (*wire.Layout, error) {
	model, err := codegen.ReadSchema(codegen.Config{Schema: path})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("schema file %s does not exist; pass the path with --schema", path)
	}
	if err != nil {
		return nil, err
	}
	return model.Layout()
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
		return nil, fmt.Errorf("%s/schema answered %s; give the schema with --schema FILE, or the server's admin token", s.url, resp.Status)
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
