package codegen

// walk writes the functions that look through a value before it is encoded: it
// may hold itself, or unions without a value.
func (g *goFile) walk(t *table) {
	if len(t.roots) > 0 {
		g.line("\n// walk finds what has no bytes.")
		g.line("func (m *%s) walk() error {\nvar w wire.Walk\nif w.Enter(\"\") {\nwalk%s(&w, m)\n}\nreturn w.Err()\n}", t.Name, t.Name)
	}
	g.line("\nfunc walk%s(w *wire.Walk, m *%s) {", t.Name, t.goStruct())
	for _, f := range t.fields {
		switch {
		case f.union != nil:
			g.walkUnion(f)
		case f.target != nil && f.target.walk:
			g.walkTable(f)
		}
	}
	g.line("}")
}

func (g *goFile) walkTable(f field) {
	e, label := f.target, quote(f.label())
	switch {
	case f.Map:
		g.line("for k, v := range m.%s {\nif !w.EnterKey(%s, k) {\nreturn\n}", f.GoName, label)
		g.line("walk%s(w, &%s{Value: v})\nw.LeaveKey(%s, k)\n}", e.Name, e.goStruct(), label)
	case f.Vector:
		element := "&m." + f.GoName + "[i]"
		if f.wraps() {
			element = wrapped(e, "m."+f.GoName+"[i]")
		}
		g.line("for i := range m.%s {\nif !w.EnterElem(%s, i) {\nreturn\n}", f.GoName, label)
		g.line("walk%s(w, %s)\nw.LeaveElem(%s, i)\n}", e.Name, element, label)
	case f.wraps():
		g.line("if m.%s != nil && w.Enter(%s) {\nwalk%s(w, %s)\nw.Leave(%s)\n}", f.GoName, label, e.Name, wrapped(e, "m."+f.GoName), label)
	case f.absent():
		g.line("if m.%s != nil && w.Enter(%s) {\nwalk%s(w, m.%s)\nw.Leave(%s)\n}", f.GoName, label, e.Name, f.GoName, label)
	default:
		g.line("if w.Enter(%s) {\nwalk%s(w, &m.%s)\nw.Leave(%s)\n}", label, e.Name, f.GoName, label)
	}
}

func (g *goFile) walkUnion(f field) {
	label, union := quote(f.label()), quote(f.union.Name)
	g.line("switch v := m.%s.(type) {", f.GoName)
	if f.absent() {
		g.line("case nil:")
	}
	for _, t := range f.union.members {
		g.line("case *%s:\nif v == nil {\nw.FailMember(%s, %s, v)\n} else if w.Enter(%s) {", t.Name, label, union, label)
		if t.walk {
			g.line("walk%s(w, v)", t.Name)
		}
		g.line("w.Leave(%s)\n}", label)
	}
	g.line("default:\nw.FailMember(%s, %s, v)\n}", label, union)
}
