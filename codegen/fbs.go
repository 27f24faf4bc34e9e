package codegen

import (
	"fmt"
	"strings"

	"github.com/ignex/nova/schema"
	"github.com/ignex/nova/wire"
)

// fileIdentifier is that of the original system; no encoder of ours writes it.
const fileIdentifier = "IGNX"

// fbsSource returns the FlatBuffers schema: enums before tables, as flatc wants
// them, an id on every field.
func (in *input) fbsSource() []byte {
	f := &out{}
	f.line("%s", header)
	fbsDoc(f, "", "", in.model.Doc)
	f.line("\nfile_identifier %q;", fileIdentifier)
	for _, e := range in.model.Enums {
		f.line("")
		fbsDoc(f, "", "", e.Doc)
		f.line("enum %s : int {", e.FbsName)
		for i, v := range e.Values {
			comma := ","
			if i == len(e.Values)-1 {
				comma = ""
			}
			f.line("  %s = %d%s", v.FbsName, v.Number, comma)
		}
		f.line("}")
	}
	for _, u := range in.model.Unions {
		var members []string
		for _, m := range u.Members {
			members = append(members, fmt.Sprintf("%s = %d", m.Table.FbsName, m.Number))
		}
		f.line("")
		fbsDoc(f, "", "", u.Doc)
		f.line("union %s { %s }", u.FbsName, strings.Join(members, ", "))
	}
	for _, t := range in.tables {
		f.line("")
		fbsDoc(f, "", t.purpose(), t.Doc)
		f.line("table %s {", t.FbsName)
		for i, x := range t.Fields {
			if x.Deprecated {
				f.line("  %s: ubyte (id: %d, deprecated);", x.FbsName, x.ID)
				continue
			}
			if x.Kind == wire.UnionType {
				continue // FlatBuffers adds it
			}
			key := ""
			if t.Shape == schema.Entry && i == 0 {
				key = ", key"
			}
			fbsDoc(f, "  ", "", x.Doc)
			f.line("  %s: %s (id: %d%s);", x.FbsName, in.fbsType(field{Field: x, wire: &t.wire.Fields[i]}), x.ID, key)
		}
		f.line("}")
	}
	return f.Bytes()
}

// fbsDoc writes a doc comment; each line stands alone, as flatc demands.
func fbsDoc(f *out, indent, purpose, doc string) {
	lines := docLines(strings.ReplaceAll(doc, "*/", "* /")) // flatc copies them into block comments
	if purpose != "" {
		f.line("%s/// %s.", indent, strings.ToUpper(purpose[:1])+purpose[1:])
	}
	for _, l := range lines {
		f.line("%s", strings.TrimRight(indent+"/// "+l, " "))
	}
}

func (in *input) fbsType(x field) string {
	name := ""
	switch x.Kind {
	case wire.Bool:
		name = "bool"
	case wire.Int64:
		name = "int64"
	case wire.Float64:
		name = "double"
	case wire.Enum:
		name = x.Enum.FbsName
	case wire.Bytes:
		return "[ubyte]"
	case wire.Struct:
		name = x.Table.FbsName
	case wire.Union:
		return x.Union.FbsName
	case wire.String:
		name = "string"
	default:
		name = x.Kind.String()
	}
	switch {
	case x.Vector:
		return "[" + name + "]"
	case x.absent() && !x.wire.IsRef():
		return name + " = null"
	}
	return name
}
