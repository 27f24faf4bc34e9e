package codegen

import (
	"fmt"
	"strings"

	"github.com/ignex/nova/schema"
	"github.com/ignex/nova/wire"
)

func (f *tsFile) table(t *table) {
	offsets := make([]string, len(t.wire.Fields))
	for i := range t.wire.Fields {
		offsets[i] = fmt.Sprint(t.wire.Fields[i].Offset())
	}
	typ := f.tableType(t)
	box := ""
	if t.Shape == schema.Box || t.Shape == schema.Row {
		box = ", box: true"
	}
	f.line("\nconst $%s: %s<%s> = /* #__PURE__ */ %s<%s>({", t.Name, f.name("Table"), typ, f.name("defineTable"), typ)
	f.line("  name: %s, align: %d, inline: %d, offsets: [%s], absent: %t%s,", tsString(t.Name),
		t.wire.Align(), t.wire.Inline(), strings.Join(offsets, ", "), t.wire.CanBeAbsent(), box)
	if len(t.fields)+len(t.Consts) == 0 {
		f.line("  encode() {},\n  decode: () => ({}),\n});")
		return
	}
	f.encode(t)
	switch t.Shape {
	case schema.Entry:
		f.line("  decode: (r) => [%s, %s],\n});", f.read(t.fields[0]), f.read(t.last()))
		return
	case schema.Box, schema.Row:
		f.line("  decode: (r) => %s,\n});", f.read(t.last()))
		return
	}
	if len(t.fields) == 0 {
		f.line("  decode: () => ({")
	} else {
		f.line("  decode: (r) => ({")
	}
	for _, c := range t.Consts {
		f.line("    %s: %s,", tsKey(c.JSON), c.Text)
	}
	for _, x := range t.fields {
		f.line("    %s: %s,", tsKey(x.JSON), f.read(x))
	}
	f.line("  }),\n});")
}

// encode writes the function that encodes a table.
func (f *tsFile) encode(t *table) {
	if len(t.fields) == 0 {
		f.line("  encode(w, _t, v) {")
	} else {
		f.line("  encode(w, t, v) {")
	}
	for _, c := range t.Consts {
		value := tsAccess("v", c.JSON)
		f.line("    if (%s !== %s) w.wrong(%s, %s, %s);", value, c.Text, tsString(c.JSON), tsString(c.Text), value)
	}
	for _, x := range t.fields {
		value := tsAccess("v", x.JSON)
		switch t.Shape {
		case schema.Box, schema.Row:
			value = "v"
		case schema.Entry:
			value = map[string]string{"key": "v[0]", "value": "v[1]"}[x.JSON]
		}
		at := fmt.Sprintf("t + %d, %s", x.wire.Offset(), value)
		if x.union != nil {
			at = fmt.Sprintf("t + %d, %s", t.wire.Fields[x.ID-1].Offset(), at)
		}
		write := f.call("w", x, at) + ";"
		if x.absent() {
			absent := fmt.Sprintf("w.absent(t, $%s, %d);", t.Name, x.ID)
			if x.union != nil {
				absent = fmt.Sprintf("w.absent(t, $%s, %d), %s", t.Name, x.ID-1, absent)
			}
			f.line("    if (%s == null) %s", value, absent)
			write = "else " + write
		}
		f.line("    %s", write)
	}
	f.line("  },")
}

// plainType returns the type of a field that is there.
func (f *tsFile) plainType(x field) string {
	switch {
	case x.Map && f.taken["Record"]:
		return "globalThis.Record<string, " + f.element(x) + ">"
	case x.Map:
		return "Record<string, " + f.element(x) + ">"
	case x.Vector:
		return f.element(x) + "[]"
	}
	return f.element(x)
}

// tableType returns the type of the values that a table stands for.
func (f *tsFile) tableType(t *table) string {
	if t.Shape == schema.Plain {
		return t.Name
	}
	x := t.last()
	s := f.plainType(x)
	switch {
	case t.Shape == schema.Entry:
		return "[key: string, value: " + s + "]"
	case x.Presence == wire.Nullable:
		return s + " | null"
	case x.Presence == wire.Optional:
		return s + " | undefined"
	case x.Presence == wire.OptionalNullable:
		return s + " | null | undefined"
	}
	return s
}

func (f *tsFile) element(x field) string {
	switch x.Kind {
	case wire.Bool:
		return "boolean"
	case wire.Int64:
		if x.BigInt {
			return "bigint"
		}
		return "number"
	case wire.Float64:
		return "number"
	case wire.Enum:
		return x.Enum.Name
	case wire.Bytes:
		if f.taken["Uint8Array"] {
			return "globalThis.Uint8Array"
		}
		return "Uint8Array"
	case wire.Struct:
		if x.wraps() {
			return f.plainType(x.target.last())
		}
		return x.Table.Name
	case wire.Union:
		return x.Union.Name
	case wire.String:
		return "string"
	case wire.Uint64:
		return "bigint"
	}
	return "number"
}

func (f *tsFile) read(x field) string {
	read := f.call("r", x, fmt.Sprint(x.ID))
	switch {
	case x.absent() && x.union != nil: // it looks at two fields
		absent := map[bool]string{true: "null", false: "undefined"}[x.Presence == wire.Nullable]
		return strings.TrimSuffix(read, ")") + ", " + absent + ")"
	case !x.absent():
		return read
	case x.Presence == wire.Nullable:
		return fmt.Sprintf("r.has(%d) ? %s : null", x.ID, read)
	}
	return fmt.Sprintf("r.has(%d) ? %s : undefined", x.ID, read)
}

// call writes or reads a field: a method of the Writer w or the Reader r, or for
// the rarer kinds a function of its own, so that a bundle holds only those in use.
func (f *tsFile) call(object string, x field, args string) string {
	args += ", " + tsArgs(x)
	if suffix := tsFunction(x); suffix != "" {
		verb := map[string]string{"w": "write", "r": "read"}[object]
		return fmt.Sprintf("%s(%s, %s)", f.name(verb+suffix), object, args)
	}
	return fmt.Sprintf("%s.%s(%s)", object, tsMethod(x), args)
}

// tsFunction names the functions for a field after their verb, "" = it has methods.
func tsFunction(x field) string {
	if x.Map {
		return "Map"
	}
	names := map[wire.Kind]string{wire.Enum: "Enum", wire.Bytes: "Bytes", wire.Union: "Union", wire.Int8: "Int8", wire.Int16: "Int16",
		wire.Int32: "Int32", wire.Uint8: "Uint8", wire.Uint16: "Uint16", wire.Uint32: "Uint32", wire.Uint64: "Uint64", wire.Float32: "Float32"}
	if x.Vector {
		names[wire.Bool], names[wire.Int64], names[wire.Float64] = "Bool", "Int64", "Float64"
	}
	if x.BigInt {
		names[wire.Int64] = "BigInt"
	}
	if name := names[x.Kind]; name != "" {
		return name + plural(x)
	}
	return ""
}
