// Package gostruct reads Go structs as an event schema: struct types marked
// //nova:event become the events, the types they hold its definitions. What it
// makes is the same document that a JSON Schema is, so that everything behind it
// (names, numbers, evolution, the bytes) is one for both.
package gostruct

import (
	"fmt"

	"github.com/ignex/nova/schema"
)

// Source is a package of marked structs, read.
type Source struct {
	Name string // of the package, as its files say
	// Schema is the JSON Schema document that says the same as the structs.
	Schema []byte
	// Places tells where what stands at a JSON pointer of Schema is written in Go.
	Places map[string]schema.Pos
	// Types are the Go types behind the definitions of Schema, by JSON pointer.
	Types map[string]Type
	// Values tell how Go holds what Schema describes, by JSON pointer.
	Values map[string]Value
	// Declared are the names of the package scope, without those of generated code.
	Declared map[string]schema.Pos
	// Methods are the methods that are written by hand, as Type.Method.
	Methods map[string]schema.Pos
	// Ints tells that the structs have an int somewhere, which must hold an int64.
	Ints bool
	// Imports are the packages that the types of Values need: path → name in code.
	Imports map[string]string
	// Dirs are the directories of the other packages whose types the structs name, but
	// for those that a version pins and those of Go itself.
	Dirs []string
}

// Type is the Go type of an object, an enum or a union.
type Type struct {
	Name string // as generated code writes it, e.g. "Quote" or "money.Amount"
}

// Value tells how Go holds one value: a field, what a map holds, or an array
// inside an array.
type Value struct {
	Path    string // of a field: from its struct, e.g. "Symbol" or "Base.Symbol"
	Type    string // as generated code writes it, e.g. "[]*Level"
	Single  string // type of one value: behind the pointer, or inside the slice or map
	Key     string // type of the keys of a map
	Cast    Cast   // from Single to what the wire has
	Pointer bool   // Type is a pointer
	Held    bool   // the elements of the slice are pointers
	ByZero  bool   // absent is the zero value, not nil
}

// Cast says how one value becomes what the wire has.
type Cast uint8

// The casts.
const (
	Same    Cast = iota // it is that type
	Convert             // by a conversion: a named type, or int
	Time                // time.Time: milliseconds since 1970
	Literal             // a named string type: the number of the literal
)

// build makes the Source of what was read, or tells all that is wrong.
func (p *pkg) build() (*Source, error) {
	p.directives()
	p.Places[""], p.Places["/package"] = p.clause, p.clause
	var events, calls, defs object
	for _, e := range p.events {
		events = append(events, pair{e.name, p.event(e)})
	}
	for _, c := range p.calls {
		if body, ok := p.call(c); ok {
			calls = append(calls, pair{c.name, body})
		}
	}
	// Definitions are read when something refers to them, and may refer to more.
	for i := 0; i < len(p.queue); i++ {
		d := p.queue[i]
		defs = append(defs, pair{d.name, p.definition(d)})
	}
	p.tagMembers(defs)
	if len(p.events)+len(p.calls) == 0 && len(p.problems) == 0 {
		p.problems = append(p.problems, schema.Problem{Pos: p.clause, Found: fmt.Sprintf("package %s has no struct marked //nova:event and no //nova:call", p.Name),
			Fix: "write //nova:event NAME above the struct of an event"})
	}
	if len(p.problems) > 0 {
		return nil, p.problems.Sorted()
	}
	doc := object{{"package", p.Name}}
	if p.doc != "" {
		doc = append(doc, pair{"description", p.doc})
	}
	doc = append(doc, pair{"$defs", defs}, pair{"events", events}, pair{"calls", calls})
	p.Schema = encode(doc)
	return &p.Source, nil
}

// fail notes a problem at a place in Go.
func (p *pkg) fail(at schema.Pos, found, fix string) {
	p.problems = append(p.problems, schema.Problem{Pos: at, Found: found, Fix: fix})
}
