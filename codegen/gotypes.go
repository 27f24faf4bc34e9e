package codegen

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/ignex/nova/schema"
	"github.com/ignex/nova/wire"
)

// goElem returns the Go type of one value of the field.
func goElem(f field) string {
	if f.held != nil && f.target == nil && f.union == nil {
		return f.held.Single
	}
	switch f.Kind {
	case wire.Bool:
		return "bool"
	case wire.Int64:
		return "int64"
	case wire.Float64:
		return "float64"
	case wire.Enum:
		return f.Enum.Name
	case wire.Bytes:
		return "[]byte"
	case wire.Struct:
		if f.wraps() {
			return goType(f.target.last())
		}
		return f.target.goStruct()
	case wire.Union:
		return f.union.goName
	case wire.String:
		return "string"
	}
	return goNumber(f.Kind)
}

// goNumber returns the Go type of a number besides int64 and float64.
func goNumber(k wire.Kind) string {
	if k == wire.Float32 {
		return "float32"
	}
	return k.String()
}

// isNarrow reports whether a kind is such a number.
func isNarrow(k wire.Kind) bool { return k >= wire.Int8 && k <= wire.Float32 }

// nilable reports whether the Go type of a field that can be absent is nil then
// without being a pointer.
func (f field) nilable() bool {
	return f.Vector || f.Kind == wire.Bytes || f.Kind == wire.Union || f.wraps()
}

// goStruct names the struct of a table; that of nova's own tables is private
// unless one is a payload.
func (t *table) goStruct() string {
	switch {
	case t.goName != "":
		return t.goName
	case t.Shape == schema.Plain || len(t.roots) > 0:
		return t.Name
	}
	return "wrap" + t.Name
}

// goType returns the Go type of the field.
func goType(f field) string {
	switch {
	case f.held != nil:
		return f.held.Type
	case f.Map:
		return "map[string]" + goElem(f)
	case f.Vector:
		return "[]" + goElem(f)
	case f.absent() && !f.nilable():
		return "*" + goElem(f)
	}
	return goElem(f)
}

// structType writes the struct of a table.
func (g *goFile) structType(t *table) {
	purpose := t.purpose()
	if purpose == "" {
		purpose = "an object of the schema"
	}
	g.line("")
	if name := t.goStruct(); t.Shape != schema.Plain && len(t.roots) == 0 {
		g.line("type %s struct {", name)
		for _, f := range t.fields {
			g.line("%s %s", f.GoName, goType(f))
		}
		g.line("}")
		return
	}
	if t.goName == "" {
		g.comment("", t.Name+" is "+purpose+".", t.Doc)
		g.line("type %s struct {", t.Name)
		for _, f := range t.fields {
			g.comment("", "", f.Doc)
			g.line("%s %s%s", f.GoName, goType(f), jsonTag(f))
		}
		g.line("}")
	}
	if t.member && !g.written(t, "NovaUnion") {
		g.line("\n// NovaUnion marks *%s as a member of unions.", t.goStruct())
		g.line("func (*%s) NovaUnion() {}", t.goStruct())
	}
}

// unionType writes the interface of a union.
func (g *goFile) unionType(u *union) {
	if g.structs != nil {
		return
	}
	var names []string
	for _, t := range u.members {
		names = append(names, "*"+t.Name)
	}
	g.line("")
	g.comment("", fmt.Sprintf("%s is %s. What a newer schema added is read as a wire.UnknownMember, which cannot be encoded.",
		u.Name, strings.Join(names, " or ")), u.Doc)
	g.line("type %s interface{ NovaUnion() }", u.Name)
}

// jsonTag returns the struct tag for encoding/json. Names that encoding/json
// cannot express have none.
func jsonTag(f field) string {
	for _, r := range f.JSON {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r) {
			return ""
		}
	}
	if f.JSON == "" {
		return ""
	}
	tag := f.JSON
	if f.Presence == wire.Optional || f.Presence == wire.OptionalNullable {
		tag += ",omitzero"
	}
	if f.BigInt && !f.Vector {
		tag += ",string"
	}
	if tag == "-" {
		tag = "-,"
	}
	return fmt.Sprintf(" `json:%q`", tag)
}

// enum writes the named type of an enum.
func (g *goFile) enum(e *schema.Enum) {
	if g.structs != nil {
		g.literalEnum(e)
		return
	}
	g.line("")
	g.comment("", fmt.Sprintf("%s is one of the literals %s. Numbers that a newer schema added are kept.", e.Name, literals(e)), e.Doc)
	g.line("type %s int32\n", e.Name)
	g.line("// The literals of %s.", e.Name)
	g.line("const (")
	for _, v := range e.Values {
		if v.Removed {
			g.line("// Deprecated: no longer in the schema.")
		}
		g.line("%s %s = %d", v.GoName, e.Name, v.Number)
	}
	g.line(")\n")

	g.line("// String returns the literal, or unknown:n for a number the schema does not have.")
	g.line("func (v %s) String() string {\nswitch v {", e.Name)
	for _, v := range e.Values {
		g.line("case %s:\nreturn %s", v.GoName, quote(v.Literal))
	}
	g.line("}\nreturn \"unknown:\" + strconv.Itoa(int(v))\n}\n")

	g.line("// Valid reports whether v is a literal of the schema.")
	var names []string
	for _, v := range e.Values {
		if !v.Removed {
			names = append(names, v.GoName)
		}
	}
	g.line("func (v %s) Valid() bool {\nswitch v {\ncase %s:\nreturn true\n}\nreturn false\n}\n", e.Name, strings.Join(names, ",\n"))

	g.line("// Parse%s is the inverse of String.", e.Name)
	g.line("func Parse%s(s string) (%s, error) {\nswitch s {", e.Name, e.Name)
	for _, v := range e.Values {
		g.line("case %s:\nreturn %s, nil", quote(v.Literal), v.GoName)
	}
	g.line("}")
	g.line("if digits, ok := strings.CutPrefix(s, \"unknown:\"); ok {")
	g.line("if n, err := strconv.ParseInt(digits, 10, 32); err == nil && strconv.FormatInt(n, 10) == digits {\nreturn %s(n), nil\n}\n}", e.Name)
	g.line("return 0, fmt.Errorf(\"%%q is no %s: want one of %%s\", s, %s)\n}\n", e.Name, quote(literals(e)))

	g.line("// MarshalText returns the literal.")
	g.line("func (v %s) MarshalText() ([]byte, error) { return []byte(v.String()), nil }\n", e.Name)
	g.line("// UnmarshalText reads a literal as Parse%s does.", e.Name)
	g.line("func (v *%s) UnmarshalText(text []byte) error {\nn, err := Parse%s(string(text))", e.Name, e.Name)
	g.line("if err == nil {\n*v = n\n}\nreturn err\n}")
}

// literals lists an enum's literals for people, the first ten of them.
func literals(e *schema.Enum) string {
	var list []string
	for _, v := range e.Values {
		if v.Removed {
			continue
		}
		if len(list) == 10 {
			list = append(list, "…")
			break
		}
		list = append(list, quote(v.Literal))
	}
	return strings.Join(list, ", ")
}
