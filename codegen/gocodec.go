package codegen

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/ignex/nova/wire"
)

// codec writes the templates and functions of one table.
func (g *goFile) codec(t *table) {
	g.templates(t)
	if len(t.roots) > 0 {
		g.rootMethods(t)
	}
	g.fill(t)
	g.read(t)
	if t.walk {
		g.walk(t)
	}
	if g.bare {
		return
	}
	if len(t.roots) > 0 {
		g.checkMethod(t)
	}
	if t.int64s {
		g.check(t)
	}
}

// rootAt returns where the root table stands behind the size prefix, the root
// offset and its vtable.
func (t *table) rootAt() int {
	align := t.wire.Align()
	return (2*wire.PrefixLen + len(t.wire.VTable()) + align - 1) &^ (align - 1)
}

// templates writes the constant bytes that encoding a table starts from.
// The names cannot collide: a fixed lower-case word, then an exported name.
func (g *goFile) templates(t *table) {
	vtable := t.wire.VTable()
	own := binary.LittleEndian.AppendUint32(nil, uint32(len(vtable)))
	g.line("\n// Bytes that encoding a %s starts from.", t.Name)
	g.line("const (")
	g.line("vtable%s = %s", t.Name, goBytes(vtable))
	g.line("zeros%s = %s", t.Name, goBytes(make([]byte, t.wire.Inline()-4)))
	if t.nested || len(t.roots) > 0 {
		g.line("table%s = vtable%s + %s + zeros%s", t.Name, t.Name, goBytes(own), t.Name)
	}
	if t.element {
		g.line("inline%s = %s + zeros%s", t.Name, goBytes(make([]byte, 4)), t.Name)
	}
	if len(t.roots) > 0 {
		at := t.rootAt()
		prefix := make([]byte, at-len(vtable))
		binary.LittleEndian.PutUint32(prefix[wire.PrefixLen:], uint32(at-wire.PrefixLen))
		g.line("root%s = %s + table%s", t.Name, goBytes(prefix), t.Name)
	}
	g.line(")")
}

// rootMethods writes the methods of a table that stands alone in a payload.
func (g *goFile) rootMethods(t *table) {
	if t.walk {
		g.line("\n// AppendNova appends m as a size-prefixed FlatBuffer. It fails with wire.ErrTooBig, or with a")
		g.line("// *wire.EncodeError for a union without a value and for more than 64 objects inside each other.")
		g.line("func (m *%s) AppendNova(dst []byte) ([]byte, error) {", t.goStruct())
		g.line("if err := m.walk(); err != nil {\nreturn dst, err\n}\nbase := len(dst)")
	} else {
		g.line("\n// AppendNova appends m as a size-prefixed FlatBuffer. It fails with wire.ErrTooBig only.")
		g.line("func (m *%s) AppendNova(dst []byte) ([]byte, error) {\nbase := len(dst)", t.goStruct())
	}
	g.line("b := append(dst, root%s...)", t.Name)
	g.line("return wire.Finish(fill%s(b, base, base+%d, m), base)\n}", t.Name, t.rootAt())
	if g.bare {
		if id := g.eventID(t); id != "" {
			g.line("\n// AppendFrame appends the unnumbered frame of m: envelope and payload.")
			g.line("func (m *%s) AppendFrame(dst []byte) ([]byte, error) {\nreturn m.AppendNova(wire.AppendHeader(dst, %s))\n}", t.Name, id)
		}
	}
	g.line("\n// UnmarshalNova verifies and reads a size-prefixed FlatBuffer. Its errors are *wire.DecodeError.")
	g.line("func (m *%s) UnmarshalNova(payload []byte) error {\nvar r wire.Reader", t.goStruct())
	g.line("if t := r.Root(payload); !r.Failed() {\nread%s(&r, t, m)\n}\nreturn r.Err()\n}", t.Name)
}

// fill writes the function that completes a table whose template stands at t:
// scalars in place, then its children in the order of ids.
func (g *goFile) fill(t *table) {
	g.line("\nfunc fill%s(b []byte, base, t int, m *%s) []byte {", t.Name, t.goStruct())
	locals := map[string]bool{}
	for _, f := range t.fields {
		if !f.wire.IsRef() {
			locals["p"] = true
		}
		locals["c"] = locals["c"] || f.union != nil
		if f.target != nil {
			locals["c"] = true
			locals["at"] = locals["at"] || f.Vector
			locals["vt"] = locals["vt"] || f.Vector && !f.target.wire.CanBeAbsent()
		}
	}
	if locals["p"] {
		g.line("p := b[t : t+%d : t+%d]", t.wire.Inline(), t.wire.Inline())
	}
	for _, name := range []string{"at", "vt", "c"} {
		if locals[name] {
			g.line("var %s int", name)
		}
	}
	for _, f := range t.fields {
		if !f.wire.IsRef() {
			g.fillScalar(t, f)
		}
	}
	for _, f := range t.fields {
		if f.wire.IsRef() {
			g.fillChild(t, f)
		}
	}
	g.line("%s\n}", g.returnLast())
}

// returnLast turns an assignment to b that stands last into the return.
func (g *goFile) returnLast() string {
	src := bytes.TrimSuffix(g.Bytes(), []byte("\n"))
	start := bytes.LastIndexByte(src, '\n') + 1
	expression, ok := strings.CutPrefix(string(src[start:]), "b = ")
	if !ok {
		return "return b"
	}
	g.Truncate(start)
	return "return " + expression
}

// orAbsent wraps the writing of a field that can be absent: then its vtable
// entry becomes 0.
func (g *goFile) orAbsent(t *table, f field, write func()) {
	if !f.absent() {
		write()
		return
	}
	g.line("if %s {", f.there("m."+f.GoName))
	write()
	if f.union != nil { // its type, and the value right behind it
		g.line("} else {\nbinary.LittleEndian.PutUint32(b[t-%d:], 0)\n}", len(t.wire.VTable())-4-2*(f.ID-1))
		return
	}
	g.line("} else {\nbinary.LittleEndian.PutUint16(b[t-%d:], 0)\n}", len(t.wire.VTable())-4-2*f.ID)
}

func (g *goFile) fillScalar(t *table, f field) {
	value := f.sent("m." + f.GoName)
	at := f.wire.Offset()
	g.orAbsent(t, f, func() {
		switch f.Kind {
		case wire.Bool:
			g.line("p[%d] = wire.BoolByte(%s)", at, value)
		case wire.Int64:
			g.line("binary.LittleEndian.PutUint64(p[%d:], uint64(%s))", at, value)
		case wire.Float64:
			g.line("binary.LittleEndian.PutUint64(p[%d:], math.Float64bits(%s))", at, value)
		case wire.Enum, wire.Int32, wire.Uint32:
			g.line("binary.LittleEndian.PutUint32(p[%d:], uint32(%s))", at, value)
		case wire.Int8, wire.Uint8:
			g.line("p[%d] = byte(%s)", at, value)
		case wire.Int16, wire.Uint16:
			g.line("binary.LittleEndian.PutUint16(p[%d:], uint16(%s))", at, value)
		case wire.Uint64:
			g.line("binary.LittleEndian.PutUint64(p[%d:], %s)", at, value)
		case wire.Float32:
			g.line("binary.LittleEndian.PutUint32(p[%d:], math.Float32bits(%s))", at, value)
		}
	})
}

func (g *goFile) fillChild(t *table, f field) {
	value, slot := "m."+f.GoName, fmt.Sprintf("t+%d", f.wire.Offset())
	g.orAbsent(t, f, func() {
		switch {
		case f.Map:
			g.fillMap(f, value, slot)
		case f.target != nil && f.Vector:
			g.fillTables(f, value, slot)
		case f.union != nil:
			g.fillUnion(t, f, value, slot)
		case f.target != nil:
			pointer := f.pointer(value)
			g.line("b, c = wire.AppendTable(b, base, %s, table%s, %d, %d)", slot, f.target.Name, len(f.target.wire.VTable()), f.target.wire.Align())
			g.line("b = fill%s(b, base, c, %s)", f.target.Name, pointer)
		default:
			if f.Vector {
				value = f.sentList(value)
			} else if f.Kind != wire.Bytes {
				value = f.sent(value)
			}
			g.line("b = wire.%s(b, base, %s, %s)", goAppender(f), slot, value)
		}
	})
}

// goAppender names the runtime function that appends a field without tables.
func goAppender(f field) string {
	switch {
	case f.Kind == wire.Bytes:
		return "AppendBytes"
	case !f.Vector:
		return "AppendString"
	}
	switch f.Kind {
	case wire.Bool:
		return "AppendBools"
	case wire.Int64:
		return "AppendInt64s"
	case wire.Float64:
		return "AppendFloat64s"
	case wire.Enum:
		return "AppendEnums"
	case wire.String:
		return "AppendStrings"
	}
	return "AppendNumbers"
}

// fillTables writes a vector of tables. Elements that are always complete share
// one vtable; others bring their own.
func (g *goFile) fillTables(f field, value, slot string) {
	e := f.target
	element := f.element(value)
	g.line("b, at = wire.AppendVector(b, base, %s, len(%s), 4)", slot, value)
	if e.wire.CanBeAbsent() {
		g.line("for i := range %s {", value)
		g.line("b, c = wire.AppendTable(b, base, at+4*i, table%s, %d, %d)", e.Name, len(e.wire.VTable()), e.wire.Align())
		g.line("b = fill%s(b, base, c, %s)\n}", e.Name, element)
		return
	}
	g.sharedElements(e, value, "i := range "+value, element)
}

// sharedElements writes the tables of a vector behind one vtable.
func (g *goFile) sharedElements(e *table, value, loop, element string) {
	g.line("if len(%s) > 0 {", value)
	g.line("b, vt = wire.AppendVTable(b, base, vtable%s)", e.Name)
	g.line("for %s {", loop)
	// Written out: a constant is appended by two stores, through a call it costs a copy.
	g.line("b = append(wire.Align(b, base, %d), inline%s...)", e.wire.Align(), e.Name)
	g.line("c = len(b) - len(inline%s)", e.Name)
	g.line("wire.LinkElement(b, at+4*i, c, vt)")
	g.line("b = fill%s(b, base, c, %s)\n}\n}", e.Name, element)
}

// wrapped returns a pointer to a table of nova's own that holds value.
func wrapped(t *table, value string) string {
	return fmt.Sprintf("&%s{%s: %s}", t.goStruct(), t.last().GoName, value)
}

// fillMap writes the entries of a map in the order of their keys.
func (g *goFile) fillMap(f field, value, slot string) {
	e := f.target
	g.line("b, at = wire.AppendVector(b, base, %s, len(%s), 4)", slot, value)
	g.sharedElements(e, value, fmt.Sprintf("i, k := range wire.SortedKeys(%s)", value),
		fmt.Sprintf("&%s{Key: %s, Value: %s[k]}", e.goStruct(), f.key(), value))
}

// fillUnion writes the member that is there and its number.
func (g *goFile) fillUnion(t *table, f field, value, slot string) {
	g.line("switch v := %s.(type) {", value)
	for i, m := range f.union.members {
		g.line("case *%s:\nb[t+%d] = %d", m.goStruct(), t.wire.Fields[f.ID-1].Offset(), f.union.Members[i].Number)
		g.line("b, c = wire.AppendTable(b, base, %s, table%s, %d, %d)", slot, m.Name, len(m.wire.VTable()), m.wire.Align())
		g.line("b = fill%s(b, base, c, v)", m.Name)
	}
	g.line("}")
}
