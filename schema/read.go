package schema

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ignex/nova/wire"
)

// Options change how a schema is read. The zero value works.
type Options struct {
	// Package overrides the document's "package". Default: the document's.
	Package string
	// Lock pins field ids and enum values. Default: first generation, numbers
	// in property order.
	Lock *Lock
	// Places tells, by JSON pointer, where in another file what the document says
	// was written, when the document was made from something else. What has no
	// place of its own has that of what it stands in. Default: in the document.
	Places map[string]Pos
	// AllowReserved permits the names of the protocol's own control events. It
	// is for the schema of those events alone. Default: false.
	AllowReserved bool
}

const maxProblems = 500 // of one run; nobody reads more

// Read reads a JSON Schema document as either TypeBox line emits it. file is
// the name shown in errors. The error is of type [Errors] and holds every
// problem of the run in document order; the model is nil then.
func Read(file string, data []byte, opts Options) (*Model, error) {
	model, err := read(file, data, opts)
	var problems Errors
	if errors.As(err, &problems) {
		excerpts(problems, file, data)
	}
	if model != nil {
		excerpts(model.Warnings, file, data)
	}
	return model, err
}

func read(file string, data []byte, opts Options) (*Model, error) {
	root, problems := parse(file, data)
	if root == nil {
		return nil, problems
	}
	relocate(root, opts.Places)
	r := &reader{opts: opts, model: &Model{}, problems: problems, tables: map[*node]*Table{}, enums: map[*node]*Enum{},
		wraps: map[wrap]*Table{}, unions: map[*node]*Union{}, ruled: map[*node]bool{},
		byName: map[string]*named{}, clashes: map[[2]Pos]bool{}, required: map[*Table]int{}}
	r.document = newDocument(file, root)
	r.places = opts.Places
	if root.kind != nodeObject {
		r.fail(root, root.describe()+" where the document should stand", `write {"package": …, "events": {…}}`)
		return nil, r.sorted()
	}
	r.candidates = r.namedForms()
	r.conflicts()
	r.top()
	r.events()
	r.calls()
	r.checkEmpty()
	r.finish()
	r.surveyUnused()
	if len(r.problems) > 0 {
		return nil, r.sorted()
	}
	sortProblems(r.model.Warnings)
	return r.model, nil
}

// reader turns a document into a model.
type reader struct {
	*document
	opts       Options
	model      *Model
	problems   Errors
	warnings   Errors
	candidates map[int]*candidates // by form
	tables     map[*node]*Table
	enums      map[*node]*Enum
	byName     map[string]*named // tables and enums
	unions     map[*node]*Union
	wraps      map[wrap]*Table // rows, boxes and entries
	ruled      map[*node]bool  // constraints that were told
	merges     []*merge        // those that were checked
	open       int             // objects being read, each inside the one before
	lists      []*node         // arrays and maps being read, since the last object
	clashes    map[[2]Pos]bool // places whose names clash, told once
	required   map[*Table]int  // tables in every value, the table included
}

// named remembers who took the name of a table or enum.
type named struct {
	form     int
	kind     coreKind
	presence wire.Presence // of a wrapper
	pos      Pos
	table    *Table
	enum     *Enum
	union    *Union
	given    bool // by $defs or $id, so that an equal schema may share it
}

func (r *reader) fail(n *node, found, fix string) {
	r.problems = append(r.problems, r.problem(n, found, fix))
}

func (r *reader) warn(n *node, found, fix string) {
	r.warnings = append(r.warnings, r.problem(n, found, fix))
}

// report adds what is wrong with a core, once, and tells whether it can be used.
func (r *reader) report(c *core) bool {
	if !c.reported {
		c.reported = true
		r.problems = append(r.problems, c.problems...)
		r.warnings = append(r.warnings, c.warnings...)
		for _, part := range c.parts {
			r.report(part)
		}
	}
	return c.kind != coreBad
}

func sortProblems(problems []Problem) {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(strings.Compare(a.Pos.File, b.Pos.File), cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Column, b.Pos.Column), strings.Compare(a.Found, b.Found))
	})
}

// sorted returns the problems in document order, those of the lock file last.
func (r *reader) sorted() Errors {
	var own, lock Errors
	for _, p := range r.problems {
		if p.Pos.File == r.file || r.places != nil && isGo(p.Pos.File) {
			own = append(own, p)
		} else {
			lock = append(lock, p)
		}
	}
	sortProblems(own)
	sortProblems(lock)
	all := slices.Compact(append(own, lock...))
	if n := len(all) - maxProblems; n > 0 {
		all = append(all[:maxProblems], Problem{Pos: all[maxProblems].Pos, Found: fmt.Sprintf("and %d more problems", n)})
	}
	return all
}

var (
	topKeys  = []string{"$schema", "$id", "title", "description", "package", "$defs", "definitions", "schemas", "events", "calls", "controlEvents", "presence"}
	callKeys = []string{"request", "response", "title", "description"}
)

// top checks the keys of the document and reads its package.
func (r *reader) top() {
	for _, m := range r.root.members {
		switch {
		case strings.HasPrefix(m.key, "~"):
		case !slices.Contains(topKeys, m.key):
			r.fail(m.value, "unknown key "+quote(m.key)+" at the top of the document", didYouMean(m.key, topKeys))
		case m.key == "presence":
			r.fail(m.value, "\"presence\" is not taken by this version of nova", "remove it")
		case slices.Contains([]string{"$defs", "definitions", "schemas", "events", "calls", "controlEvents"}, m.key):
			if m.value.kind != nodeObject {
				r.fail(m.value, fmt.Sprintf("%q is %s", m.key, m.value.describe()), "write an object of named schemas")
			}
		case m.value.kind != nodeString:
			r.fail(m.value, fmt.Sprintf("%q is %s", m.key, m.value.describe()), "write a string")
		}
	}
	r.model.Doc = docOf(r.root)
	at, name := r.root, r.opts.Package
	if name == "" {
		if p := r.root.get("package"); p == nil {
			r.fail(r.root, "\"package\" is missing", `add "package": "NAME", the name of the Go package`)
			return
		} else if p.kind != nodeString {
			return // reported above
		} else {
			at, name = p, p.text
		}
	}
	if !isPackage(name) {
		what := "the package name"
		if r.opts.Package != "" {
			what = "the package name given in place of the document's,"
		}
		r.fail(at, fmt.Sprintf("%s %s is not lower-case letters and digits, or is a Go keyword", what, quote(name)), "write "+quote(suggestPackage(name)))
	}
	r.model.Package = name
}

// checkEmpty refuses a document that describes nothing.
func (r *reader) checkEmpty() {
	for _, key := range []string{"events", "controlEvents", "calls"} {
		if v := r.root.get(key); v != nil && (v.kind != nodeObject || len(v.members) > 0) {
			return
		}
	}
	for _, m := range r.root.members {
		if near := nearest(m.key, topKeys); near == "events" || near == "calls" {
			if !slices.Contains(topKeys, m.key) {
				return // a typo, told by top
			}
		}
	}
	r.fail(r.root, "the document has no events and no calls", `add "events": {"NAME": {"$ref": "#/$defs/TYPE"}}`)
}

// docOf returns what people should read about a schema.
func docOf(n *node) string {
	title, text := n.str("title"), n.str("description")
	if title != "" && text != "" {
		return title + "\n\n" + text
	}
	return title + text
}

// candidates are the named schemas of one form, for an inline one to stand for.
type candidates struct {
	first     *core // in document order
	anonymous *core // the first without an $id
	byName    map[string]*core
	byID      map[string]*core
}

// namedForms indexes the named objects, enums and arrays by form.
func (r *reader) namedForms() map[int]*candidates {
	byForm := map[int]*candidates{}
	for _, def := range r.defs {
		if r.named[def.def][0] != def && r.named[def.def][0].def == def.def {
			continue // hoisted again
		}
		c := r.peel(def)
		if c.name != def.def || c.kind != coreObject && c.kind != coreEnum && c.kind != coreArray && c.kind != coreMap && c.kind != coreUnion {
			continue
		}
		f := r.form(c)
		same := byForm[f]
		if same == nil {
			same = &candidates{first: c, byName: map[string]*core{}, byID: map[string]*core{}}
			byForm[f] = same
		}
		if name := typeName(c.name); same.byName[name] == nil {
			same.byName[name] = c
		}
		if id := c.node.str("$id"); id == "" || isCounter(id) {
			same.anonymous = cmp.Or(same.anonymous, c)
		} else if same.byID[id] == nil {
			same.byID[id] = c
		}
	}
	return byForm
}

// match returns the named schema that an inline one stands for: of those equal
// in structure the one with the path's own name, else the first in the
// document. It returns c itself when there is none. An inline schema with an
// $id stands for no schema that has another.
func (r *reader) match(c *core, path, property string) *core {
	if c.fromDef {
		return c
	}
	same := r.candidates[r.form(c)]
	if same == nil {
		return c
	}
	if c.name != "" {
		return cmp.Or(same.byID[c.name], same.byName[typeName(c.name)], same.anonymous, c)
	}
	return cmp.Or(same.byName[path], same.byName[property], same.first)
}

// surveyUnused reads the definitions nobody uses, so that their problems are
// told, as warnings: they are not emitted.
func (r *reader) surveyUnused() {
	model, problems := *r.model, r.problems
	r.problems = nil
	for _, def := range r.defs {
		if def.get("$defs") != nil && len(def.members) == 1 {
			continue // a Module among the schemas: a list of definitions
		}
		c := r.peel(def)
		if r.report(c) {
			r.typed(&Field{Pos: r.pos(def)}, c, typeName(def.def), "", def)
		}
	}
	for _, p := range r.problems {
		p.Found = "in an unused definition: " + p.Found
		r.warnings = append(r.warnings, p)
	}
	*r.model, r.problems = model, problems
	r.model.Warnings = slices.CompactFunc(append(r.model.Warnings, r.warnings...), func(a, b Problem) bool { return a == b })
}
