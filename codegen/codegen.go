// Package codegen turns a schema into source: Go types with their codecs, a
// TypeScript module, a FlatBuffers schema for everyone else, and the registry of
// event ids. The same model gives the same bytes, on every machine and run.
package codegen

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/ignex/nova/schema"
	"github.com/ignex/nova/schema/gostruct"
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
	// GoTests adds a file of tests, fuzz targets and benchmarks to the Go package.
	// Default false; a bare package has none.
	GoTests bool
	// TSCompact writes the tables of the TypeScript output as text that is read at
	// run time, where no field can be absent or is an enum: a fraction of the size,
	// and slower. The control events need it. Default false.
	TSCompact bool
	// Runtime is the module that the TypeScript output imports; default DefaultRuntime.
	Runtime string
	// Structs are the Go structs that the model was made of. The Go output is then
	// codecs for them, in their own package, instead of types. Default: none.
	Structs *gostruct.Source
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
	in, err := newInput(m, nil)
	if err != nil {
		return nil, err
	}
	if opts.Runtime == "" {
		opts.Runtime = DefaultRuntime
	}
	var files Files
	if opts.wants(Go) {
		output, err := goOutput(m, in, opts)
		if err != nil {
			return nil, err
		}
		files = append(files, output...)
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

// goOutput makes the Go files: types with their codecs, or codecs alone, and
// tests of them.
func goOutput(m *schema.Model, in *input, opts Options) (Files, error) {
	name := m.Package
	if opts.Structs != nil {
		name = opts.Structs.Name
		var err error
		if in, err = newInput(m, opts.Structs); err != nil {
			return nil, err
		}
	}
	src, err := in.goSource(opts.GoBare)
	if err != nil {
		return nil, err
	}
	files := Files{{Go, name + "_nova.go", src}}
	if opts.GoTests && !opts.GoBare {
		tests, err := in.goTests(name)
		if err != nil {
			return nil, err
		}
		files = append(files, File{Go, name + "_nova_test.go", tests})
	}
	return files, nil
}

// input is a model together with where its bytes stand and who uses what.
type input struct {
	model  *schema.Model
	layout *wire.Layout
	tables []*table // as model.Tables
	unions []*union // as model.Unions
	valid  bool     // the schema has constraints: Validate is written
	byName map[*schema.Table]*table

	structs *gostruct.Source // of the model, when Go has the types already
}

// union is one union of the model.
type union struct {
	*schema.Union
	goName  string   // the interface in Go
	members []*table // as Members
	zero    int      // of members: what a missing required union reads as
}

// table is one table of the model with what the emitters ask about it.
type table struct {
	*schema.Table
	wire   *wire.Table
	index  int
	fields []field // those that have a property, by id

	goName  string   // the Go type, when it is not generated
	roots   []string // what it stands alone for: "the payload of event quote"
	nested  bool     // written with a vtable of its own inside another table
	element bool     // written as element of a vector that shares one vtable
	int64s  bool     // it, or what it holds, has a plain int64
	height  int      // tables on the longest path below and with it; of recursive types without meaning
	circle  bool     // it can hold itself, or something that can
	walk    bool     // a value may have no bytes: it is looked through before it is encoded
	member  bool     // of a union
	checked bool     // it, or what it holds, has constraints
}

// field is one live field of a table.
type field struct {
	*schema.Field
	wire   *wire.Field
	target *table // of a struct field
	union  *union // of a union field
	owner  *table
	held   *gostruct.Value // how Go holds it, when its type is not generated

	match    bool     // its conditions are those of a match, see matched
	literals []string // of the match
}

// targets are the tables that the field holds.
func (f field) targets() []*table {
	switch {
	case f.target != nil:
		return []*table{f.target}
	case f.union != nil:
		return f.union.members
	}
	return nil
}

// last returns the field that a table of nova's own stands for.
func (t *table) last() field { return t.fields[len(t.fields)-1] }

// wraps reports whether the field holds a table of nova's own, which stands for
// a value that is no object.
func (f field) wraps() bool { return f.target != nil && f.target.Shape != schema.Plain }

// purpose tells in words what the table is the root of, "" for nothing.
func (t *table) purpose() string { return strings.Join(t.roots, ", ") }

// absent reports whether the field can be missing.
func (f field) absent() bool { return f.Presence.CanBeAbsent() }

func newInput(m *schema.Model, structs *gostruct.Source) (*input, error) {
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
	in := &input{model: m, layout: layout, byName: map[*schema.Table]*table{}, structs: structs}
	for i, t := range m.Tables {
		nt := &table{Table: t, wire: &layout.Tables[i], index: i}
		if t.Shape == schema.Plain {
			nt.goName = in.typeOf(t.Pos)
		}
		in.tables = append(in.tables, nt)
		in.byName[t] = nt
	}
	byUnion := map[*schema.Union]*union{}
	for i, u := range m.Unions {
		nu := &union{Union: u, goName: cmp.Or(in.typeOf(u.Pos), u.Name), zero: layout.Unions[i].Zero()}
		for _, member := range u.Members {
			t := in.byName[member.Table]
			t.nested, t.member = true, true
			nu.members = append(nu.members, t)
		}
		in.unions = append(in.unions, nu)
		byUnion[u] = nu
	}
	for _, t := range in.tables {
		in.connect(t, byUnion)
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
	if err := in.measure(); err != nil {
		return nil, err
	}
	in.constraints()
	return in, nil
}

// connect fills in a table's live fields and how others are written inside it.
func (in *input) connect(t *table, unions map[*schema.Union]*union) {
	for j, f := range t.Fields {
		if f.Deprecated || f.Kind == wire.UnionType {
			continue
		}
		nf := in.bind(field{Field: f, wire: &t.wire.Fields[j], owner: t})
		if f.Kind == wire.Union {
			nf.union = unions[f.Union]
		}
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
