// Package codegen turns a schema into source: Go types with their codecs, a
// TypeScript module, a FlatBuffers schema for everyone else, and the registry of
// event ids. The same model gives the same bytes, on every machine and run.
package codegen

import (
	"fmt"
	"strings"

	"github.com/ignex/nova/schema"
	"github.com/ignex/nova/wire"
)

// Target is one kind of output; each has a directory of its own.
type Target string

// The targets.
const (
	Go         Target = "go"
	TypeScript Target = "ts"
	FBS        Target = "fbs" // backend.fbs and wire-registry.json
)

// DefaultRuntime is what the generated TypeScript imports.
const DefaultRuntime = "@ignex/nova-client/wire"

// Options chooses what Generate makes. The zero value makes everything.
type Options struct {
	// Targets are the outputs wanted; default all.
	Targets []Target
	// GoBare makes the Go package import package wire alone: types, codecs, event
	// ids and Layout, without descriptors. The control events need it. Default false.
	GoBare bool
	// TSCompact writes the tables of the TypeScript output as text that is read at
	// run time, where no field can be absent or is an enum: a fraction of the size,
	// and slower. The control events need it. Default false.
	TSCompact bool
	// Runtime is the module that the TypeScript output imports; default DefaultRuntime.
	Runtime string
}

func (o Options) wants(t Target) bool {
	for _, w := range o.Targets {
		if w == t {
			return true
		}
	}
	return len(o.Targets) == 0
}

// Generate makes the files of a model. It fails when the model cannot become
// code: values nested deeper than any reader accepts, or a model that
// contradicts itself.
func Generate(m *schema.Model, opts Options) (Files, error) {
	in, err := newInput(m)
	if err != nil {
		return nil, err
	}
	if opts.Runtime == "" {
		opts.Runtime = DefaultRuntime
	}
	var files Files
	if opts.wants(Go) {
		src, err := in.goSource(opts.GoBare)
		if err != nil {
			return nil, err
		}
		files = append(files, File{Go, m.Package + "_nova.go", src})
	}
	if opts.wants(TypeScript) {
		files = append(files, File{TypeScript, "index.ts", in.tsSource(opts.Runtime, opts.TSCompact)})
	}
	if opts.wants(FBS) {
		files = append(files, File{FBS, "backend.fbs", in.fbsSource()})
		if !opts.GoBare {
			files = append(files, File{FBS, "wire-registry.json", in.registry()})
		}
	}
	return files, nil
}

// input is a model together with where its bytes stand and who uses what.
type input struct {
	model  *schema.Model
	layout *wire.Layout
	tables []*table // as model.Tables
	byName map[*schema.Table]*table
}

// table is one table of the model with what the emitters ask about it.
type table struct {
	*schema.Table
	wire   *wire.Table
	index  int
	fields []field // those that are not deprecated, by id

	roots   []string // what it stands alone for: "the payload of event quote"
	nested  bool     // written with a vtable of its own inside another table
	element bool     // written as element of a vector that shares one vtable
	int64s  bool     // it, or what it holds, has a plain int64
	height  int      // tables on the longest path below and with it
}

// field is one live field of a table.
type field struct {
	*schema.Field
	wire   *wire.Field
	target *table // of a struct field
}

// purpose tells in words what the table is the root of, "" for nothing.
func (t *table) purpose() string { return strings.Join(t.roots, ", ") }

// absent reports whether the field can be missing.
func (f field) absent() bool { return f.Presence.CanBeAbsent() }

func newInput(m *schema.Model) (*input, error) {
	if m.Package == "main" {
		return nil, fmt.Errorf("schema %s: a package called main is a program; name it after what its events are about", m.Package)
	}
	layout, err := m.Layout()
	if err != nil {
		return nil, fmt.Errorf("lay out schema %s: %w", m.Package, err)
	}
	if len(layout.Tables) != len(m.Tables) || len(layout.Enums) != len(m.Enums) {
		return nil, fmt.Errorf("lay out schema %s: layout and model differ", m.Package)
	}
	in := &input{model: m, layout: layout, byName: map[*schema.Table]*table{}}
	for i, t := range m.Tables {
		nt := &table{Table: t, wire: &layout.Tables[i], index: i}
		in.tables = append(in.tables, nt)
		in.byName[t] = nt
	}
	for _, t := range in.tables {
		in.connect(t)
	}
	for _, e := range m.Events {
		t := in.byName[e.Table]
		t.roots = append(t.roots, "the payload of event "+e.Name)
	}
	for _, c := range m.Calls {
		req, res := in.byName[c.Request], in.byName[c.Response]
		req.roots = append(req.roots, "the request of call "+c.Name)
		res.roots = append(res.roots, "the response of call "+c.Name)
	}
	for _, t := range in.tables {
		if err := t.measure(nil); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// connect fills in a table's live fields and how others are written inside it.
func (in *input) connect(t *table) {
	for j, f := range t.Fields {
		if f.Deprecated {
			continue
		}
		nf := field{Field: f, wire: &t.wire.Fields[j]}
		if f.Kind == wire.Struct {
			nf.target = in.byName[f.Table]
			if f.Vector && !nf.target.wire.CanBeAbsent() {
				nf.target.element = true
			} else {
				nf.target.nested = true
			}
		}
		t.fields = append(t.fields, nf)
	}
}

// measure computes height and int64s, and refuses what no reader would accept.
func (t *table) measure(path []*table) error {
	if t.height > 0 {
		return nil
	}
	for _, p := range path {
		if p == t {
			return fmt.Errorf("%s: %s contains itself", t.Pos, t.Name)
		}
	}
	height := 1
	for _, f := range t.fields {
		if f.target == nil {
			t.int64s = t.int64s || f.Kind == wire.Int64 && !f.BigInt
			continue
		}
		if err := f.target.measure(append(path, t)); err != nil {
			return err
		}
		t.int64s = t.int64s || f.target.int64s
		height = max(height, 1+f.target.height)
	}
	if height > wire.MaxDepth {
		return fmt.Errorf("%s: %s nests objects deeper than %d, which no reader accepts; flatten it", t.Pos, t.Name, wire.MaxDepth)
	}
	t.height = height
	return nil
}
