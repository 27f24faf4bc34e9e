package codegen

import (
	"fmt"

	"github.com/ignex/nova/wire"
)

// read writes the function that reads a verified table into its struct.
// Every field is assigned, so that a struct can be reused. Scalars of a table
// that stands as our encoders write it are read at known places; of any other,
// one by one, in the order of ids, so that errors are the same for all readers.
func (g *goFile) read(t *table) {
	g.line("\nfunc read%s(r *wire.Reader, t wire.TableRef, m *%s) {", t.Name, t.goStruct())
	row := g.readRow(t)
	for i, f := range t.fields {
		scalar := row && !f.wire.IsRef()
		if scalar && (i == 0 || t.fields[i-1].wire.IsRef()) {
			g.line("if p == nil {")
		}
		switch {
		case f.Map:
			g.readMap(f)
		case f.union != nil:
			g.readUnion(f)
		case f.target != nil && f.Vector:
			g.readTables(f)
		case f.target != nil:
			g.readTable(f)
		default:
			g.readValue(f)
		}
		if scalar && (i+1 == len(t.fields) || t.fields[i+1].wire.IsRef()) {
			g.line("}")
		}
	}
	g.line("}")
}

// readRow reads all scalars of a table whose fields are always present; it
// reports whether that is worth while.
func (g *goFile) readRow(t *table) bool {
	var scalars []field
	for _, f := range t.fields {
		if !f.wire.IsRef() {
			scalars = append(scalars, f)
		}
	}
	if t.wire.CanBeAbsent() || len(scalars) < 2 {
		return false
	}
	g.line("p := r.Row(t, vtable%s, %d)", t.Name, t.wire.Inline())
	g.line("if len(p) == %d {", t.wire.Inline())
	for _, f := range scalars {
		at := f.wire.Offset()
		switch f.Kind {
		case wire.Bool:
			g.line("m.%s = %s", f.GoName, f.received(fmt.Sprintf("p[%d] != 0", at)))
		case wire.Int64:
			g.line("m.%s = %s", f.GoName, f.received(fmt.Sprintf("int64(binary.LittleEndian.Uint64(p[%d:]))", at)))
		case wire.Float64:
			g.line("m.%s = %s", f.GoName, f.received(fmt.Sprintf("math.Float64frombits(binary.LittleEndian.Uint64(p[%d:]))", at)))
		case wire.Enum:
			g.line("m.%s = %s", f.GoName, f.received(fmt.Sprintf("%s(binary.LittleEndian.Uint32(p[%d:]))", f.enumType(), at)))
		case wire.Int8, wire.Uint8:
			g.line("m.%s = %s(p[%d])", f.GoName, goElem(f), at)
		case wire.Int16, wire.Uint16:
			g.line("m.%s = %s(binary.LittleEndian.Uint16(p[%d:]))", f.GoName, goElem(f), at)
		case wire.Int32, wire.Uint32:
			g.line("m.%s = %s(binary.LittleEndian.Uint32(p[%d:]))", f.GoName, goElem(f), at)
		case wire.Uint64:
			g.line("m.%s = %s", f.GoName, f.received(fmt.Sprintf("binary.LittleEndian.Uint64(p[%d:])", at)))
		case wire.Float32:
			g.line("m.%s = %s", f.GoName, f.received(fmt.Sprintf("math.Float32frombits(binary.LittleEndian.Uint32(p[%d:]))", at)))
		}
	}
	g.line("}")
	return true
}

// readValue reads a field without tables.
func (g *goFile) readValue(f field) {
	args := fmt.Sprintf("t, %d, %s", f.ID, quote(f.JSON))
	call := fmt.Sprintf("r.%s(%s)", goReader(f), args)
	if f.Kind == wire.Enum {
		call = fmt.Sprintf("%s(r.Enum(%s))", f.enumType(), args)
		if f.Vector {
			call = fmt.Sprintf("wire.Enums[%s](r, %s)", f.enumType(), args)
		}
	}
	if isNarrow(f.Kind) {
		call = fmt.Sprintf("wire.Number%s[%s](r, %s)", plural(f), goNumber(f.Kind), args)
	}
	list := f.Vector || f.Kind == wire.Bytes
	switch {
	case f.Vector:
		call = f.receivedList(call)
	case f.Kind != wire.Bytes:
		call = f.received(call)
	}
	if f.held != nil && f.held.ByZero {
		g.readByZero(f, call)
		return
	}
	if f.absent() && !list {
		call = fmt.Sprintf("wire.Opt(r, t, %d, %s)", f.ID, call)
	}
	g.line("m.%s = %s", f.GoName, call)
	if list && !f.absent() {
		g.line("if m.%s == nil {\nm.%s = %s{}\n}", f.GoName, f.GoName, goType(f))
	}
}

// goReader names the Reader method of a field without tables and enums.
func goReader(f field) string {
	switch f.Kind {
	case wire.Bytes:
		return "Bytes"
	case wire.Bool:
		return "Bool" + plural(f)
	case wire.Int64:
		return "Int64" + plural(f)
	case wire.Float64:
		return "Float64" + plural(f)
	}
	return "String" + plural(f)
}

func plural(f field) string {
	if f.Vector {
		return "s"
	}
	return ""
}

func (g *goFile) readTable(f field) {
	name := f.target.Name
	g.line("if c, ok := r.Struct(t, %d, %s); ok {", f.ID, quote(f.JSON))
	switch {
	case f.wraps():
		g.line("var w %s\nread%s(r, c, &w)\nm.%s = w.%s", f.target.goStruct(), name, f.GoName, f.target.last().GoName)
	case f.absent() || f.byPointer():
		g.line("m.%s = new(%s)", f.GoName, f.target.goStruct())
		g.line("read%s(r, c, m.%s)", name, f.GoName)
	default:
		g.line("read%s(r, c, &m.%s)", name, f.GoName)
	}
	g.line("r.Leave(%s)\n} else {", quote(f.JSON))
	if f.absent() {
		g.line("m.%s = nil\n}", f.GoName)
	} else if g.structs != nil {
		g.zeroField(f, "m")
		g.line("}")
	} else {
		g.line("m.%s = %s\n}", f.GoName, g.zero(f.target))
	}
}

// zero returns the value of a required table that is missing: its vectors are
// empty, not nil, as they are in a table that is there.
func (g *goFile) zero(t *table) string {
	s := t.goStruct() + "{"
	for _, f := range t.fields {
		if f.absent() {
			continue
		}
		switch {
		case f.Vector || f.Kind == wire.Bytes:
			s += fmt.Sprintf("%s: %s{}, ", f.GoName, goType(f))
		case f.union != nil:
			s += fmt.Sprintf("%s: &%s, ", f.GoName, g.zero(f.union.members[f.union.zero]))
		case f.target != nil:
			if z := g.zero(f.target); z != f.target.Name+"{}" {
				s += fmt.Sprintf("%s: %s, ", f.GoName, z)
			}
		}
	}
	if n := len(s); s[n-1] == ' ' {
		s = s[:n-2]
	}
	return s + "}"
}

// readUnion reads the member that is there, an unknown one by its number.
func (g *goFile) readUnion(f field) {
	g.line("switch kind, at := r.Union(t, %d, %s); kind {", f.ID, quote(f.JSON))
	if f.absent() {
		g.line("case 0:\nm.%s = nil", f.GoName)
	} else {
		g.line("case 0:\nm.%s = %s", f.GoName, g.zeroMember(f.union))
	}
	for i, t := range f.union.members {
		g.line("case %d:\nv := new(%s)\nm.%s = v", f.union.Members[i].Number, t.goStruct(), f.GoName)
		g.line("if c, ok := r.Member(at, %s); ok {\nread%s(r, c, v)\nr.Leave(%s)\n}", quote(f.JSON), t.Name, quote(f.JSON))
	}
	g.line("default:\nm.%s = wire.UnknownMember{ID: kind}\n}", f.GoName)
}

// readMap reads entries; of equal keys the last counts.
func (g *goFile) readMap(f field) {
	g.line("if at, n, ok := r.Structs(t, %d, %s); ok {", f.ID, quote(f.JSON))
	g.line("m.%s = make(%s, n)", f.GoName, goType(f))
	g.line("for i := range n {")
	g.line("c, ok := r.Elem(at, i, %s)\nif !ok {\nreturn\n}", quote(f.JSON))
	g.line("var w %s\nread%s(r, c, &w)", f.target.goStruct(), f.target.Name)
	g.line("m.%s[%s] = w.Value", f.GoName, f.keyOf("w.Key"))
	g.line("r.LeaveElem(%s, i)\nif r.Failed() {\nreturn\n}\n}", quote(f.JSON))
	if f.absent() {
		g.line("} else {\nm.%s = nil\n}", f.GoName)
	} else {
		g.line("} else {\nm.%s = %s{}\n}", f.GoName, goType(f))
	}
}

func (g *goFile) readTables(f field) {
	name := f.target.Name
	g.line("if at, n, ok := r.Structs(t, %d, %s); ok {", f.ID, quote(f.JSON))
	g.line("m.%s = make(%s, n)", f.GoName, goType(f))
	g.line("for i := range m.%s {", f.GoName)
	g.line("c, ok := r.Elem(at, i, %s)\nif !ok {\nreturn\n}", quote(f.JSON))
	if f.wraps() {
		g.line("var w %s\nread%s(r, c, &w)\nm.%s[i] = w.%s", f.target.goStruct(), name, f.GoName, f.target.last().GoName)
	} else {
		if f.held != nil && f.held.Held {
			g.line("m.%s[i] = new(%s)", f.GoName, f.target.goStruct())
		}
		g.line("read%s(r, c, %s)", name, f.element("m."+f.GoName))
	}
	g.line("r.LeaveElem(%s, i)\nif r.Failed() {\nreturn\n}\n}", quote(f.JSON))
	if f.absent() {
		g.line("} else {\nm.%s = nil\n}", f.GoName)
	} else {
		g.line("} else {\nm.%s = %s{}\n}", f.GoName, goType(f))
	}
}
