package codegen

// walk writes the functions that look through a value before it is encoded: it
// may hold itself, or unions without a value.
func (g *goFile) walk(t *table) {
	if len(t.roots) > 0 {
		g.line("\n// walk finds what has no bytes.")
		g.line("func (m *%s) walk() error {\nvar w wire.Walk\nif w.Enter(\"\") {\nwalk%s(&w, m)\n}\nreturn w.Err()\n}", t.goStruct(), t.Name)
	}
	g.line("\nfunc walk%s(w *wire.Walk, m *%s) {", t.Name, t.goStruct())
	for _, f := range t.fields {
		switch {
		case f.union != nil:
			g.walkUnion(f)
		case f.target != nil && f.target.walk:
			g.walkTable(f)
		case f.literal():
			g.walkLiteral(f)
		}
	}
	g.line("}")
}

func (g *goFile) walkTable(f field) {
	e, label := f.target, quote(f.label())
	switch {
	case f.Map:
		g.line("for k, v := range m.%s {\nif !w.EnterKey(%s, %s) {\nreturn\n}", f.GoName, label, f.key())
		g.line("walk%s(w, &%s{Value: v})\nw.LeaveKey(%s, %s)\n}", e.Name, e.goStruct(), label, f.key())
	case f.Vector:
		element := f.element("m." + f.GoName)
		g.line("for i := range m.%s {", f.GoName)
		if f.held != nil && f.held.Held {
			g.line("if m.%s[i] == nil {\nw.Fail(wire.JoinIndex(%s, i, \"\"), \"no value; an element has no null\")\nreturn\n}", f.GoName, label)
		}
		g.line("if !w.EnterElem(%s, i) {\nreturn\n}", label)
		g.line("walk%s(w, %s)\nw.LeaveElem(%s, i)\n}", e.Name, element, label)
	case f.wraps():
		g.line("if m.%s != nil && w.Enter(%s) {\nwalk%s(w, %s)\nw.Leave(%s)\n}", f.GoName, label, e.Name, wrapped(e, "m."+f.GoName), label)
	case f.absent():
		g.line("if m.%s != nil && w.Enter(%s) {\nwalk%s(w, m.%s)\nw.Leave(%s)\n}", f.GoName, label, e.Name, f.GoName, label)
	case f.byPointer():
		g.line("if m.%s == nil {\nw.Fail(%s, \"no value; what a map holds has no null\")\n} else if w.Enter(%s) {\nwalk%s(w, m.%s)\nw.Leave(%s)\n}", f.GoName, label, label, e.Name, f.GoName, label)
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
		g.line("case *%s:\nif v == nil {\nw.FailMember(%s, %s, v)\n} else if w.Enter(%s) {", t.goStruct(), label, union, label)
		if t.walk {
			g.line("walk%s(w, v)", t.Name)
		}
		g.line("w.Leave(%s)\n}", label)
	}
	g.line("default:\nw.FailMember(%s, %s, v)\n}", label, union)
}
