package schema

import (
	"go/token"
	"strings"
	"unicode"

	"github.com/ignex/nova/wire"
)

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// Names that generated code or its languages have taken. A clash with one of
// them gets a trailing underscore, which no name of a schema can end in.
var (
	// methods of a generated struct
	goMethods = set("AppendNova UnmarshalNova CheckInt64 NovaUnion Validate String Reset")

	// types that generated code of either language refers to by their bare name
	takenTypes = set(`Schema Uint8Array Array ReadonlyArray Record Map Partial Promise Reader Writer
		EventDescriptor CallDescriptor`)

	// values that no exported TypeScript constant may be called
	tsReserved = set(`abstract any arguments as asserts async await bigint boolean break case catch class const
		constructor continue debugger declare default defineCall defineEvent delete do else enum eval export
		extends false finally for from function get globalThis hasOwnProperty if implements import in infer
		instanceof interface is keyof let module namespace never new nova null number object of package
		private protected prototype public readonly require return schema set static string super switch
		symbol then this throw toString true try type typeof undefined unique unknown valueOf var void while
		wire with yield`)

	// fields that flatc's Go or TypeScript output cannot hold
	fbsFields = set("table init builder bb bb_pos flatbuffers constructor eval")
)

// typeName returns the name of a table or enum from a $defs key or $id.
func typeName(s string) string {
	name := s
	for i, r := range s {
		if i == 0 && !unicode.IsUpper(r) || r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			name = goName(s)
			break
		}
	}
	if takenTypes[name] {
		name += "_"
	}
	return name
}

func fieldGoName(property string) string {
	name := goName(property)
	if goMethods[name] {
		name += "_"
	}
	return name
}

// tsName returns the TypeScript constant of an event or call.
func tsName(s string) string {
	plain := s != "" && 'a' <= s[0] && s[0] <= 'z'
	for _, r := range s {
		plain = plain && isAlnum(r)
	}
	name := s
	if !plain {
		words := split(s)
		if len(words) == 0 {
			return wireName(s)
		}
		for i, w := range words {
			if i == 0 {
				words[i] = strings.ToLower(w)
			} else {
				words[i] = strings.ToUpper(w[:1]) + w[1:] // event names are ASCII
			}
		}
		name = leadingDigit(strings.Join(words, ""), "_")
	}
	if tsReserved[name] {
		name += "_"
	}
	return name
}

// isPackage reports whether s can be the name of a generated Go package.
func isPackage(s string) bool {
	for i, r := range s {
		if (r < 'a' || r > 'z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != "" && !token.IsKeyword(s)
}

// suggestPackage makes a package name of anything.
func suggestPackage(s string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(s) {
		if isAlnum(r) && (b.Len() > 0 || r > '9') {
			b.WriteRune(r)
		}
	}
	name := clip(b.String())
	if token.IsKeyword(name) {
		name += "events"
	}
	if !isPackage(name) {
		return "events"
	}
	return name
}

// symbols spell the punctuation that tells literals apart: +1 and -1.
var symbols = strings.NewReplacer("+", " Plus ", "*", " Star ", "#", " Hash ", "&", " And ", "@", " At ",
	"%", " Percent ", "$", " Dollar ", "=", " Equal ", "<", " Less ", ">", " Greater ", "!", " Not ",
	"?", " Question ", "^", " Caret ", "~", " Tilde ", "|", " Bar ")

// literalName returns the part of an enum constant after its type.
func literalName(s string) string {
	spelled := symbols.Replace(s)
	if len(s) > 1 && s[0] == '-' && isDigit(s[1]) {
		spelled = " Minus " + symbols.Replace(s[1:])
	}
	words := split(spelled)
	if len(words) == 0 {
		if s == "" {
			return "Empty"
		}
		return ""
	}
	return join(words)
}

// exactName writes any literal as an identifier part so that no two are alike.
func exactName(s string) string {
	var b strings.Builder
	for _, r := range s {
		if isAlnum(r) {
			b.WriteRune(r)
		} else {
			b.WriteString("_" + escapeRune(r) + "_")
		}
	}
	return b.String()
}

// nameEnum sets the Go and .fbs names of an enum's values. A name depends on
// its literal alone, unless literals of one enum fold to one name (hot, HOT):
// all of those are then written exactly, whatever their order.
func nameEnum(e *Enum) {
	goNames, fbsNames := map[string]int{}, map[string]int{}
	for _, v := range e.Values {
		goNames[literalName(v.Literal)]++
		fbsNames[enumeratorName(v.Literal)]++
	}
	for i := range e.Values {
		v := &e.Values[i]
		name := literalName(v.Literal)
		if name == "" || goNames[name] > 1 {
			name = "_" + exactName(v.Literal)
		}
		v.GoName = e.Name + name
		v.FbsName = enumeratorName(v.Literal)
		if fbsNames[v.FbsName] > 1 && v.FbsName != v.Literal {
			v.FbsName = leadingDigit(exactName(v.Literal), "_")
			if v.Literal == "" || v.Literal == "null" {
				v.FbsName = "_" + strings.TrimSuffix(enumeratorName(v.Literal), "_")
			}
		}
	}
}

// enumeratorName returns a literal as a FlatBuffers enumerator.
func enumeratorName(s string) string {
	if s == "" {
		return "empty"
	}
	if s == "null" { // flatc takes it for a default
		return "null_"
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case isAlnum(r) || r == '_':
			b.WriteRune(r)
		case r < 0x80:
			b.WriteByte('_')
		default:
			b.WriteString("_" + escapeRune(r) + "_")
		}
	}
	return leadingDigit(b.String(), "_")
}

// nameTablesFBS and nameFieldsFBS rename what flatc's generated code cannot
// hold; only the .fbs file sees these names.
func nameTablesFBS(tables []*Table) {
	names := map[string]bool{}
	for _, t := range tables {
		names[t.Name] = true
	}
	for _, t := range tables {
		t.FbsName = asciiName(t.Name)
		if t.FbsName == "NONE" { // no member of a union
			t.FbsName += "_"
		}
		for _, suffix := range []string{"Start", "End"} { // functions XStart and XEnd in Go
			if root, ok := strings.CutSuffix(t.Name, suffix); ok && names[root] {
				t.FbsName += "_"
			}
		}
		nameFieldsFBS(t)
	}
}

func nameFieldsFBS(t *Table) {
	taken := map[string]bool{} // accessors that flatc adds
	for _, f := range t.Fields {
		if f.Deprecated {
			continue
		}
		taken["mutate_"+f.WireName] = true
		if f.Vector || f.Kind == wire.Bytes {
			for _, suffix := range []string{"_length", "_bytes", "_array"} {
				taken[f.WireName+suffix] = true
			}
		}
	}
	for _, f := range t.Fields {
		f.FbsName = f.WireName
		if len(f.FbsName) > 1 && f.FbsName[0] == '_' && isDigit(f.FbsName[1]) { // flatc's Go and TypeScript drop the underscore; n1 may be another property
			f.FbsName = "n" + f.FbsName + "_"
		}
		if fbsFields[f.FbsName] || taken[f.FbsName] {
			f.FbsName += "_"
		}
	}
}
