package codegen

import (
	"slices"

	"github.com/ignex/nova/schema"
	"github.com/ignex/nova/wire"
)

// checkMethod writes CheckInt64 of a table that stands alone in a payload.
func (g *goFile) checkMethod(t *table) {
	g.line("\n// CheckInt64 returns a *wire.Int64Error for the first plain int64 that a browser cannot hold exactly.")
	if !t.int64s {
		g.line("func (m *%s) CheckInt64() error { return nil }", t.goStruct())
		return
	}
	if t.walk {
		g.line("func (m *%s) CheckInt64() error {\nif m.walk() != nil { // AppendNova says why\nreturn nil\n}", t.goStruct())
		g.line("if e := check%s(m); e != nil {\nreturn e\n}\nreturn nil\n}", t.Name)
		return
	}
	g.line("func (m *%s) CheckInt64() error {\nif e := check%s(m); e != nil {\nreturn e\n}\nreturn nil\n}", t.goStruct(), t.Name)
}

// check writes the function that looks through one table.
func (g *goFile) check(t *table) {
	g.line("\nfunc check%s(m *%s) *wire.Int64Error {", t.Name, t.goStruct())
	for _, f := range t.fields {
		switch {
		case f.union != nil:
			g.checkUnion(f)
		case f.target != nil && f.target.int64s && f.wraps():
			g.checkWrapped(f)
		case f.target != nil && f.target.int64s:
			g.checkTable(f)
		}
		if f.Kind == wire.Int64 && !f.BigInt {
			g.checkInt64(f)
		}
	}
	g.line("return nil\n}")
}

// label is what a field adds to a path: nothing inside tables of nova's own.
func (f field) label() string {
	if f.owner.Shape != schema.Plain {
		return ""
	}
	return f.JSON
}

// checkWrapped looks through arrays inside arrays, maps and boxes.
func (g *goFile) checkWrapped(f field) {
	e := f.target
	switch {
	case f.Map:
		g.line("for k, v := range m.%s {\nif e := check%s(&%s{Value: v}); e != nil {", f.GoName, e.Name, e.goStruct())
		g.line("e.Path = wire.JoinKey(%s, %s, e.Path)\nreturn e\n}\n}", quote(f.label()), f.key())
	case f.Vector:
		g.line("for i, v := range m.%s {\nif e := check%s(&%s{%s: v}); e != nil {", f.GoName, e.Name, e.goStruct(), e.last().GoName)
		g.line("e.Path = wire.JoinIndex(%s, i, e.Path)\nreturn e\n}\n}", quote(f.label()))
	default:
		g.line("if e := check%s(%s); e != nil {\ne.Path = wire.Join(%s, e.Path)\nreturn e\n}", e.Name, wrapped(e, "m."+f.GoName), quote(f.label()))
	}
}

func (g *goFile) checkUnion(f field) {
	if !slices.ContainsFunc(f.union.members, func(t *table) bool { return t.int64s }) {
		return
	}
	g.line("switch v := m.%s.(type) {", f.GoName)
	for _, t := range f.union.members {
		if t.int64s {
			g.line("case *%s:\nif e := check%s(v); e != nil {\ne.Path = wire.Join(%s, e.Path)\nreturn e\n}", t.goStruct(), t.Name, quote(f.label()))
		}
	}
	g.line("}")
}

func (g *goFile) checkInt64(f field) {
	if f.owner.Shape != schema.Plain {
		g.checkInt64Inside(f)
		return
	}
	switch {
	case f.Vector:
		g.line("for i, v := range m.%s {\nif !wire.SafeInt64(%s) {", f.GoName, f.cast("v"))
		g.line("return &wire.Int64Error{Path: %s + strconv.Itoa(i) + \"]\", Value: %s}\n}\n}", quote(f.JSON+"["), f.cast("v"))
	case f.absent() && !f.byZero():
		g.line("if v := m.%s; v != nil && !wire.SafeInt64(%s) {", f.GoName, f.cast("*v"))
		g.line("return &wire.Int64Error{Path: %s, Value: %s}\n}", quote(f.JSON), f.cast("*v"))
	default:
		g.line("if v := %s; !wire.SafeInt64(v) {", f.cast("m."+f.GoName))
		g.line("return &wire.Int64Error{Path: %s, Value: v}\n}", quote(f.JSON))
	}
}

func (g *goFile) checkTable(f field) {
	name := f.target.Name
	if f.owner.Shape != schema.Plain {
		g.checkTableInside(f)
		return
	}
	switch {
	case f.Vector:
		g.line("for i := range m.%s {\nif e := check%s(%s); e != nil {", f.GoName, name, f.element("m."+f.GoName))
		g.line("e.Path = %s + strconv.Itoa(i) + \"].\" + e.Path\nreturn e\n}\n}", quote(f.JSON+"["))
	case f.absent():
		g.line("if m.%s != nil {\nif e := check%s(m.%s); e != nil {", f.GoName, name, f.GoName)
		g.line("e.Path = %s + e.Path\nreturn e\n}\n}", quote(f.JSON+"."))
	default:
		g.line("if e := check%s(%s); e != nil {", name, f.pointer("m."+f.GoName))
		g.line("e.Path = %s + e.Path\nreturn e\n}", quote(f.JSON+"."))
	}
}

// checkInt64Inside checks an int64, or an array of them, in a table of nova's own.
func (g *goFile) checkInt64Inside(f field) {
	if f.Vector {
		g.line("for i, v := range m.%s {\nif !wire.SafeInt64(%s) {", f.GoName, f.cast("v"))
		g.line("return &wire.Int64Error{Path: wire.JoinIndex(\"\", i, \"\"), Value: %s}\n}\n}", f.cast("v"))
		return
	}
	value := "m." + f.GoName
	if f.absent() && !f.byZero() {
		g.line("if v := %s; v != nil && !wire.SafeInt64(*v) {\nreturn &wire.Int64Error{Value: *v}\n}", value)
		return
	}
	g.line("if v := %s; !wire.SafeInt64(v) {\nreturn &wire.Int64Error{Value: v}\n}", f.cast(value))
}

// checkTableInside looks through an object, or an array of them, in a table of
// nova's own.
func (g *goFile) checkTableInside(f field) {
	name := f.target.Name
	switch {
	case f.Vector:
		g.line("for i := range m.%s {\nif e := check%s(%s); e != nil {", f.GoName, name, f.element("m."+f.GoName))
		g.line("e.Path = wire.JoinIndex(\"\", i, e.Path)\nreturn e\n}\n}")
	case f.absent():
		g.line("if m.%s != nil {\nif e := check%s(m.%s); e != nil {\nreturn e\n}\n}", f.GoName, name, f.GoName)
	default:
		g.line("if e := check%s(%s); e != nil {\nreturn e\n}", name, f.pointer("m."+f.GoName))
	}
}
