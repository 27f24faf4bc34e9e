package codegen

import "github.com/ignex/nova/wire"

// checkMethod writes CheckInt64 of a table that stands alone in a payload.
func (g *goFile) checkMethod(t *table) {
	g.line("\n// CheckInt64 returns a *wire.Int64Error for the first plain int64 that a browser cannot hold exactly.")
	if !t.int64s {
		g.line("func (m *%s) CheckInt64() error { return nil }", t.Name)
		return
	}
	g.line("func (m *%s) CheckInt64() error {\nif e := check%s(m); e != nil {\nreturn e\n}\nreturn nil\n}", t.Name, t.Name)
}

// check writes the function that looks through one table.
func (g *goFile) check(t *table) {
	g.line("\nfunc check%s(m *%s) *wire.Int64Error {", t.Name, t.Name)
	for _, f := range t.fields {
		if f.target != nil && f.target.int64s {
			g.checkTable(f)
		}
		if f.Kind == wire.Int64 && !f.BigInt {
			g.checkInt64(f)
		}
	}
	g.line("return nil\n}")
}

func (g *goFile) checkInt64(f field) {
	switch {
	case f.Vector:
		g.line("for i, v := range m.%s {\nif !wire.SafeInt64(v) {", f.GoName)
		g.line("return &wire.Int64Error{Path: %s + strconv.Itoa(i) + \"]\", Value: v}\n}\n}", quote(f.JSON+"["))
	case f.absent():
		g.line("if v := m.%s; v != nil && !wire.SafeInt64(*v) {", f.GoName)
		g.line("return &wire.Int64Error{Path: %s, Value: *v}\n}", quote(f.JSON))
	default:
		g.line("if v := m.%s; !wire.SafeInt64(v) {", f.GoName)
		g.line("return &wire.Int64Error{Path: %s, Value: v}\n}", quote(f.JSON))
	}
}

func (g *goFile) checkTable(f field) {
	name := f.target.Name
	switch {
	case f.Vector:
		g.line("for i := range m.%s {\nif e := check%s(&m.%s[i]); e != nil {", f.GoName, name, f.GoName)
		g.line("e.Path = %s + strconv.Itoa(i) + \"].\" + e.Path\nreturn e\n}\n}", quote(f.JSON+"["))
	case f.absent():
		g.line("if m.%s != nil {\nif e := check%s(m.%s); e != nil {", f.GoName, name, f.GoName)
		g.line("e.Path = %s + e.Path\nreturn e\n}\n}", quote(f.JSON+"."))
	default:
		g.line("if e := check%s(&m.%s); e != nil {", name, f.GoName)
		g.line("e.Path = %s + e.Path\nreturn e\n}", quote(f.JSON+"."))
	}
}
