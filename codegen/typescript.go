package codegen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ignex/nova/schema"
	"github.com/ignex/nova/wire"
)

// tsFile is the TypeScript output while it is written. Names of ours begin
// with $, which no name of a schema holds: $Quote is the table of Quote, $$Table
// an import whose plain name the schema took.
type tsFile struct {
	out
	*input
	taken    map[string]bool
	compact  bool
	patterns map[string]int  // number of the constant of each
	used     map[string]bool // names of imports
}

// tsSource returns the TypeScript module.
func (in *input) tsSource(runtime string, compact bool) []byte {
	f := &tsFile{input: in, taken: map[string]bool{}, compact: compact, patterns: map[string]int{}, used: map[string]bool{}}
	for _, e := range in.model.Enums {
		f.taken[e.Name] = true
	}
	for _, u := range in.unions {
		f.taken[u.Name] = true
	}
	for _, t := range in.tables {
		f.taken[t.Name] = true
	}
	for _, e := range in.model.Events {
		f.taken[e.TSName] = true
	}
	for _, c := range in.model.Calls {
		f.taken[c.TSName] = true
	}
	f.line("%s", header)
	f.imports(runtime)
	f.types()
	for _, e := range in.model.Enums {
		f.enum(e)
	}
	f.codecs()
	for _, u := range in.unions {
		f.union(u)
	}
	f.validators()
	f.descriptors()
	return f.Bytes()
}

// name returns the local name of an import.
func (f *tsFile) name(imported string) string {
	f.used[imported] = true
	if f.taken[imported] {
		return "$$" + imported
	}
	return imported
}

func (f *tsFile) imports(runtime string) {
	values, types := []string{"GENERATED_V1"}, []string{}
	if len(f.model.Calls) > 0 {
		values, types = append(values, "defineCall"), append(types, "CallDescriptor")
	}
	if len(f.model.Enums) > 0 {
		values, types = append(values, "defineEnum"), append(types, "EnumCodec")
	}
	if len(f.model.Events) > 0 {
		types = append(types, "EventDescriptor")
	}
	if slices.ContainsFunc(f.model.Events, func(e *schema.Event) bool { return !f.isTextEvent(e) }) {
		values = append(values, "defineEvent")
	}
	if slices.ContainsFunc(f.model.Events, f.isTextEvent) {
		values = append(values, "defineTextEvent")
	}
	types = append(types, "Schema")
	if slices.ContainsFunc(f.tables, func(t *table) bool { return f.isText(t) && !f.isTextEventTable(t) }) {
		values = append(values, "defineFields")
	}
	if slices.ContainsFunc(f.tables, func(t *table) bool { return !f.isText(t) }) {
		values = append(values, "defineTable")
	}
	if len(f.unions) > 0 {
		values, types = append(values, "defineUnion"), append(types, "UnionCodec")
	}
	if slices.ContainsFunc(f.tables, func(t *table) bool { return !f.isInline(t) }) {
		types = append(types, "Table")
	}
	values = append(values, f.functions()...)
	if f.valid {
		values, types = append(values, f.validImports()...), append(types, "Invalid")
	}
	for _, list := range [][]string{values, types} {
		slices.Sort(list)
		for i, n := range list {
			if f.taken[n] {
				list[i] = n + " as $$" + n
			}
		}
	}
	f.line("")
	f.doc("", f.model.Doc)
	f.line("import { %s } from %s;", strings.Join(values, ", "), tsString(runtime))
	f.line("import type { %s } from %s;", strings.Join(types, ", "), tsString(runtime))
	f.line("\n// Fails to compile against a runtime of another generation.")
	f.line("%s satisfies 1;", f.name("GENERATED_V1"))
}

// doc writes a JSDoc comment, nothing for an empty text. A line that begins
// with @ts- would steer the compiler on the last line of a comment.
func (f *tsFile) doc(indent, text string) {
	lines := docLines(strings.ReplaceAll(text, "*/", `*\/`))
	switch {
	case len(lines) == 0:
	case len(lines) == 1 && !strings.Contains(lines[0], "@ts-"):
		f.line("%s/** %s */", indent, lines[0])
	default:
		f.line("%s/**", indent)
		for _, l := range lines {
			f.line("%s", strings.TrimRight(indent+" * "+l, " "))
		}
		f.line("%s */", indent)
	}
}

// types writes the union types of the enums and the interfaces of the tables.
func (f *tsFile) types() {
	for _, e := range f.model.Enums {
		var literals []string
		for _, v := range e.Values {
			if !v.Removed {
				literals = append(literals, tsString(v.Literal))
			}
		}
		if len(literals) == 0 {
			literals = []string{"never"}
		}
		f.line("")
		f.doc("", e.Doc)
		f.line("export type %s = %s;", e.Name, strings.Join(literals, " | "))
	}
	for _, u := range f.unions {
		var names []string
		for _, t := range u.members {
			names = append(names, t.Name)
		}
		f.line("")
		f.doc("", u.Doc)
		f.line("export type %s = %s;", u.Name, strings.Join(names, " | "))
	}
	for _, t := range f.tables {
		if t.Shape != schema.Plain {
			continue // nova's own
		}
		f.line("")
		f.doc("", t.Doc)
		f.line("export interface %s {", t.Name)
		for _, c := range t.Consts {
			f.line("  %s: %s;", tsKey(c.JSON), c.Text)
		}
		for _, x := range t.fields {
			f.doc("  ", x.Doc)
			f.line("  %s%s;", tsKey(x.JSON), f.member(x))
		}
		f.line("}")
	}
}

// member returns what follows a property's name: "?: number | undefined".
func (f *tsFile) member(x field) string {
	t := f.plainType(x)
	switch x.Presence {
	case wire.Optional:
		return "?: " + t + " | undefined" // right under exactOptionalPropertyTypes too
	case wire.Nullable:
		return ": " + t + " | null"
	case wire.OptionalNullable:
		return "?: " + t + " | null | undefined"
	}
	return ": " + t
}

// union writes the codec of a union. It stands behind all tables, which refer to
// it inside functions only.
func (f *tsFile) union(u *union) {
	var members []string
	for i, t := range u.members {
		members = append(members, fmt.Sprintf("[%d, %s, $%s]", u.Members[i].Number, u.Members[i].Value.Text, t.Name))
	}
	f.line("\nconst $%s: %s<%s> = /* #__PURE__ */ %s<%s>(%s, %s, [%s], %d);", u.Name, f.name("UnionCodec"), u.Name,
		f.name("defineUnion"), u.Name, tsString(u.Name), tsString(u.Tag), strings.Join(members, ", "), u.zero)
}

func (f *tsFile) enum(e *schema.Enum) {
	var pairs []string
	for _, v := range e.Values {
		pairs = append(pairs, fmt.Sprintf("[%s, %d]", tsString(v.Literal), v.Number))
	}
	f.line("\nconst $%s: %s<%s> = /* #__PURE__ */ %s<%s>(%s, [%s]);", e.Name, f.name("EnumCodec"), e.Name,
		f.name("defineEnum"), e.Name, tsString(e.Name), strings.Join(pairs, ", "))
}

// functions returns the functions that the tables need, sorted.
func (f *tsFile) functions() []string {
	var names []string
	for _, t := range f.tables {
		for _, x := range t.fields {
			if suffix := tsFunction(x); suffix != "" {
				names = append(names, "read"+suffix, "write"+suffix)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// tsMethod names the method of Reader and Writer for a field.
func tsMethod(x field) string {
	names := map[wire.Kind]string{wire.Bool: "bool", wire.Int64: "int64", wire.Float64: "float64",
		wire.String: "string", wire.Struct: "struct"}
	return names[x.Kind] + plural(x)
}

// tsArgs returns the last arguments of a method: the codec, if any, and the name.
func tsArgs(x field) string {
	switch x.Kind {
	case wire.Enum:
		return "$" + x.Enum.Name + ", " + tsString(x.JSON)
	case wire.Struct:
		return "$" + x.Table.Name + ", " + tsString(x.JSON)
	case wire.Union:
		return "$" + x.Union.Name + ", " + tsString(x.JSON)
	}
	return tsString(x.JSON)
}

func (f *tsFile) descriptors() {
	var events, calls []string
	for _, e := range f.model.Events {
		events = append(events, e.TSName)
		typ := f.tableType(f.byName[e.Table])
		f.line("")
		f.doc("", e.Doc)
		if f.isTextEvent(e) {
			f.line("export const %s: %s<%s> = /* #__PURE__ */ %s<%s>(%s, %s);", e.TSName, f.name("EventDescriptor"), e.Table.Name,
				f.name("defineTextEvent"), e.Table.Name, tsString(e.Name), textOf(f.byName[e.Table]))
			continue
		}
		f.line("export const %s: %s<%s> = /* #__PURE__ */ %s<%s>({", e.TSName, f.name("EventDescriptor"), typ, f.name("defineEvent"), typ)
		id := fmt.Sprintf(" id: %#08x,", e.ID)
		if f.compact && e.ID == wire.EventID(e.Name) {
			id = "" // the default of defineEvent
		}
		f.line("  name: %s,%s table: %s%s,\n});", tsString(e.Name), id, f.tableExpr(f.byName[e.Table]), tsOptions(e))
	}
	for _, c := range f.model.Calls {
		calls = append(calls, c.TSName)
		request, response := f.tableType(f.byName[c.Request]), f.tableType(f.byName[c.Response])
		f.line("")
		f.doc("", c.Doc)
		f.line("export const %s: %s<%s, %s> = /* #__PURE__ */ %s<%s, %s>({", c.TSName, f.name("CallDescriptor"),
			request, response, f.name("defineCall"), request, response)
		f.line("  name: %s, request: %s, response: %s,\n});", tsString(c.Name), f.tableExpr(f.byName[c.Request]), f.tableExpr(f.byName[c.Response]))
	}
	f.line("\n/** The whole schema, for a client or a server. */")
	f.line("export const schema: %s = {", f.name("Schema"))
	f.line("  name: %s,\n  fingerprint: %s,", tsString(f.layout.Package), tsString(f.layout.Fingerprint))
	f.line("  events: [%s],\n  calls: [%s],\n};", strings.Join(events, ", "), strings.Join(calls, ", "))
}

// tsOptions returns what differs from the defaults of defineEvent.
func tsOptions(e *schema.Event) string {
	s := ""
	deliveries := map[wire.Delivery]string{wire.DeliverMust: "must", wire.DeliverDrop: "drop", wire.DeliverLatest: "latest"}
	if e.Delivery != wire.DeliverDefault {
		s += ", delivery: " + tsString(deliveries[e.Delivery])
	}
	if e.Key != nil {
		s += ", key: " + tsString(e.Key.JSON)
	}
	if e.Inbound {
		s += ", inbound: true"
	}
	switch e.Retain {
	case wire.RetainNone:
		s += `, retain: "none"`
	case wire.RetainLatest:
		s += `, retain: "latest"`
	}
	if e.Internal {
		s += ", internal: true"
	}
	return s
}

// tsString writes a string literal. JSON is one, with U+2028 and U+2029 escaped.
func tsString(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err) // a string always has a JSON form
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// tsIdentifier reports whether a property can be written without quotes.
func tsIdentifier(s string) bool {
	return s != "" && !('0' <= s[0] && s[0] <= '9') && !slices.ContainsFunc([]rune(s), func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '$')
	})
}

// tsKey writes a property name in an interface or an object literal. A schema
// holds no __proto__, which would set the prototype there.
func tsKey(s string) string {
	if tsIdentifier(s) {
		return s
	}
	return tsString(s)
}

func tsAccess(object, s string) string {
	if tsIdentifier(s) {
		return object + "." + s
	}
	return object + "[" + tsString(s) + "]"
}
