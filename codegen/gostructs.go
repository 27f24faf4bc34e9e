package codegen

import (
	"fmt"
	"strings"

	"github.com/ignex/nova/schema"
	"github.com/ignex/nova/schema/gostruct"
	"github.com/ignex/nova/wire"
)

// When the schema was read from Go structs, codecs are written for those: the
// fields are where the user put them, and of the types the user chose. A field
// then has held, which says how; everything else is as in generated types.

// typeOf returns the Go type that a definition was read from, "" for none.
func (in *input) typeOf(at schema.Pos) string {
	if in.structs == nil {
		return ""
	}
	return in.structs.Types[at.Pointer].Name
}

// bind finds the Go field behind a field.
func (in *input) bind(f field) field {
	if in.structs == nil || f.owner.Shape == schema.Box || f.owner.Shape == schema.Entry && f.ID == 0 {
		return f
	}
	if held, ok := in.structs.Values[f.Pos.Pointer]; ok {
		f.held = &held
		if held.Path != "" && f.owner.Shape == schema.Plain {
			own := *f.Field
			own.GoName = held.Path
			f.Field = &own
		}
	}
	return f
}

// written reports whether a type has a method that was written by hand.
func (in *input) written(t *table, method string) bool {
	if in.structs == nil {
		return false
	}
	_, ok := in.structs.Methods[t.goStruct()+"."+method]
	return ok
}

// byZero reports whether the zero value means absent.
func (f field) byZero() bool { return f.held != nil && f.held.ByZero }

// byPointer reports whether a pointer holds what is always there.
func (f field) byPointer() bool { return f.held != nil && f.held.Pointer && !f.absent() }

// mayBeNil reports whether Go can hold nil where a table must be.
func (f field) mayBeNil() bool {
	return f.held != nil && f.target != nil && (f.held.Held && !f.wraps() || f.byPointer())
}

// literal reports whether a string holds an enum.
func (f field) literal() bool { return f.held != nil && f.held.Cast == gostruct.Literal }

// there is the condition that a field that can be absent is there.
func (f field) there(value string) string {
	switch {
	case !f.byZero():
		return value + " != nil"
	case f.held.Cast == gostruct.Time:
		return "!" + value + ".IsZero()"
	case f.Kind == wire.Bool:
		return value
	case f.Kind == wire.String || f.Kind == wire.Enum:
		return value + ` != ""`
	}
	return value + " != 0"
}

// sent is the value on the wire of a field that is there and no list or table.
func (f field) sent(value string) string {
	if f.absent() && !f.byZero() {
		value = "*" + value
	}
	return f.cast(value)
}

// cast turns one value into its type on the wire.
func (f field) cast(value string) string {
	if f.held == nil {
		return value
	}
	switch f.held.Cast {
	case gostruct.Convert:
		return f.wireType() + "(" + value + ")"
	case gostruct.Time:
		if value[0] == '*' {
			value = "(" + value + ")"
		}
		return value + ".UnixMilli()"
	case gostruct.Literal:
		return "number" + f.Enum.Name + "(" + value + ")"
	}
	return value
}

// received turns one value on the wire into its type in Go.
func (f field) received(value string) string {
	if f.held == nil {
		return value
	}
	switch f.held.Cast {
	case gostruct.Convert:
		return f.held.Single + "(" + value + ")"
	case gostruct.Time:
		return strings.TrimSuffix(f.held.Single, "Time") + "UnixMilli(" + value + ").UTC()"
	case gostruct.Literal:
		return "literal" + f.Enum.Name + "(" + value + ")"
	}
	return value
}

// sentList and receivedList are sent and received of lists without tables.
func (f field) sentList(value string) string {
	if f.held == nil || f.held.Cast == gostruct.Same {
		return value
	}
	return fmt.Sprintf("wire.Convert(%s, func(v %s) %s { return %s })", value, f.held.Single, f.wireType(), f.cast("v"))
}

func (f field) receivedList(value string) string {
	if f.held == nil || f.held.Cast == gostruct.Same {
		return value
	}
	return fmt.Sprintf("wire.Convert(%s, func(v %s) %s { return %s })", value, f.wireType(), f.held.Single, f.received("v"))
}

// wireType is the Go type of one value as the runtime takes it.
func (f field) wireType() string {
	switch f.Kind {
	case wire.Enum:
		return "int32"
	case wire.Bool, wire.Int64, wire.Float64, wire.String:
		return map[wire.Kind]string{wire.Bool: "bool", wire.Int64: "int64", wire.Float64: "float64", wire.String: "string"}[f.Kind]
	}
	return goNumber(f.Kind)
}

// enumType is what the number of an enum is read as.
func (f field) enumType() string {
	if f.literal() {
		return "int32"
	}
	return f.Enum.Name
}

// pointer points to the table that a field holds.
func (f field) pointer(value string) string {
	switch {
	case f.wraps():
		return wrapped(f.target, value)
	case f.absent() || f.byPointer():
		return value
	}
	return "&" + value
}

// element points to the table that element i of a list holds.
func (f field) element(value string) string {
	switch {
	case f.wraps():
		return wrapped(f.target, value+"[i]")
	case f.held != nil && f.held.Held:
		return value + "[i]"
	}
	return "&" + value + "[i]"
}

// key is k, a key of the map, as a string.
func (f field) key() string {
	if f.held != nil && f.held.Key != "string" {
		return "string(k)"
	}
	return "k"
}

// keyOf is a string as a key of the map.
func (f field) keyOf(value string) string {
	if f.held != nil && f.held.Key != "string" {
		return f.held.Key + "(" + value + ")"
	}
	return value
}

// readByZero reads a field whose zero value means absent.
func (g *goFile) readByZero(f field, call string) {
	zero := ""
	switch f.held.Cast {
	case gostruct.Time:
		zero = f.held.Single + "{}"
	case gostruct.Literal:
		zero = `""`
	default: // what is missing reads as zero
		g.line("m.%s = %s", f.GoName, call)
		return
	}
	g.line("if v := wire.Opt(r, t, %d, %s); v != nil {\nm.%s = *v\n} else {\nm.%s = %s\n}", f.ID, call, f.GoName, f.GoName, zero)
}

// zeroField sets a required table that is missing, as zero does.
func (g *goFile) zeroField(f field, owner string) {
	at := owner + "." + f.GoName
	if f.byPointer() {
		g.line("%s = new(%s)", at, f.target.goStruct())
	} else {
		g.line("%s = %s{}", at, goType(f))
	}
	g.zeroInside(f.target, at)
}

// zeroInside sets what is not the zero value in a table without any field.
func (g *goFile) zeroInside(t *table, at string) {
	for _, f := range t.fields {
		inner := at + "." + f.GoName
		switch {
		case f.absent():
		case f.Vector || f.Kind == wire.Bytes:
			g.line("%s = %s{}", inner, goType(f))
		case f.union != nil:
			g.line("%s = %s", inner, g.zeroMember(f.union))
		case f.target != nil && f.byPointer():
			g.zeroField(f, at)
		case f.target != nil:
			g.zeroInside(f.target, inner)
		case f.held.Cast == gostruct.Time || f.held.Cast == gostruct.Literal:
			g.line("%s = %s", inner, f.received("0"))
		}
	}
}

// zeroMember is what a missing required union reads as.
func (g *goFile) zeroMember(u *union) string {
	t := u.members[u.zero]
	if g.structs == nil {
		return "&" + g.zero(t)
	}
	part := &goFile{input: g.input}
	part.zeroInside(t, "v")
	if part.Len() == 0 {
		return "new(" + t.goStruct() + ")"
	}
	return fmt.Sprintf("func() *%s {\nv := new(%s)\n%sreturn v\n}()", t.goStruct(), t.goStruct(), part.String())
}

// walkLiteral finds strings that are no literals.
func (g *goFile) walkLiteral(f field) {
	name, value := f.Enum.Name, "m."+f.GoName
	told := func(at, v string) string {
		return fmt.Sprintf("if _, ok := find%s(%s); !ok {\nw.FailLiteral(%s, %s, string(%s), %s)\n}", name, v, at, quote(name), v, quote(literals(f.Enum)))
	}
	label := quote(f.label())
	switch {
	case f.Vector:
		g.line("for i, v := range %s {\n%s\n}", value, told("wire.JoinIndex("+label+", i, \"\")", "v"))
	case f.absent():
		condition := f.there(value)
		if !f.byZero() {
			value = "*" + value
		}
		g.line("if %s {\n%s\n}", condition, told(label, value))
	default:
		g.line("%s", told(label, value))
	}
}

// literalEnum writes the numbers of an enum that Go holds as strings.
func (g *goFile) literalEnum(e *schema.Enum) {
	typ := g.typeOf(e.Pos)
	g.line("\n// The number of a literal of %s, also of unknown:7, as a number is read that the schema does not have.", e.Name)
	g.line("func find%s(v %s) (int32, bool) {\nswitch v {", e.Name, typ)
	for _, v := range e.Values {
		g.line("case %s:\nreturn %d, true", quote(v.Literal), v.Number)
	}
	g.line("}\nreturn wire.UnknownLiteral(string(v))\n}\n")
	g.line("func number%s(v %s) int32 {\nn, _ := find%s(v)\nreturn n\n}\n", e.Name, typ, e.Name)
	g.line("// The literal of a number of %s, or unknown:n when the schema has none.", e.Name)
	g.line("func literal%s(n int32) %s {\nswitch n {", e.Name, typ)
	for _, v := range e.Values {
		g.line("case %d:\nreturn %s", v.Number, quote(v.Literal))
	}
	g.line("}\nreturn %s(\"unknown:\" + strconv.Itoa(int(n)))\n}\n", typ)
	if !g.valid {
		return
	}
	g.line("func valid%s(v %s) bool {\nswitch v {", e.Name, typ)
	var live []string
	for _, v := range e.Values {
		if !v.Removed {
			live = append(live, quote(v.Literal))
		}
	}
	g.line("case %s:\nreturn true\n}\nreturn false\n}", strings.Join(live, ", "))
}
