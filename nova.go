// Package nova gives typed, binary, real-time events between Go servers and
// browsers. This package holds what generated code and applications import: the
// descriptors of events and calls, targets, errors, and the interfaces that a
// hub and a client implement. The parts that do the work are packages hub,
// server and client.
package nova

import (
	"fmt"

	"github.com/ignex/nova/wire"
)

// Schema is the value generated code exports as Schema: the name and
// fingerprint of one schema, its events and calls, and their layout.
// It is immutable and safe for concurrent use.
type Schema struct {
	layout *wire.Layout
}

// NewSchema wraps a layout. Generated code calls it; it panics when the layout
// contradicts itself, which the generator never writes.
func NewSchema(layout *wire.Layout) *Schema {
	s, err := SchemaOf(layout)
	if err != nil {
		panic(err)
	}
	return s
}

// SchemaOf wraps a layout that was made at run time, for programs without
// generated code.
func SchemaOf(layout *wire.Layout) (*Schema, error) {
	if err := layout.Init(); err != nil {
		return nil, fmt.Errorf("schema %s: %w", layout.Package, err)
	}
	return &Schema{layout: layout}, nil
}

// Name returns the package name the schema declares.
func (s *Schema) Name() string { return s.layout.Package }

// Fingerprint returns 16 hex digits that name the wire format: schemas of one
// fingerprint read each other's frames exactly. Options and constraints are not
// part of it, names of tables are.
func (s *Schema) Fingerprint() string { return s.layout.Fingerprint }

// Layout returns the schema as plain tables. The caller must not change it.
func (s *Schema) Layout() *wire.Layout { return s.layout }
