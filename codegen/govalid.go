package codegen

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ignex/nova/schema"
	"github.com/ignex/nova/wire"
)

// validation writes Validate of the payloads and the functions below.
func (g *goFile) validation() {
	for _, t := range g.tables {
		if len(t.roots) > 0 && !g.written(t, "Validate") {
			g.validateMethod(t)
		}
		if t.checked {
			g.validTable(t)
		}
	}
	if len(g.patterns) == 0 {
		return
	}
	byNumber := map[int]string{}
	for re2, n := range g.patterns {
		byNumber[n] = re2
	}
	g.line("\n// The patterns of the schema, in the syntax of Go; compiled when first used.\nvar (")
	for _, n := range slices.Sorted(maps.Keys(byNumber)) {
		g.line("pattern%d = wire.Pattern(%s)", n, quote(byNumber[n]))
	}
	g.line(")")
}

func (g *goFile) validateMethod(t *table) {
	g.line("\n// Validate checks the constraints of the schema. It returns a *wire.ValidationError for the first value that breaks one.")
	if !t.checked {
		g.line("func (m *%s) Validate() error { return nil }", t.goStruct())
		return
	}
	g.line("func (m *%s) Validate() error {", t.goStruct())
	if t.walk {
		g.line("if err := m.walk(); err != nil {\nreturn err\n}")
	}
	g.line("if e := valid%s(m); e != nil {\nreturn e\n}\nreturn nil\n}", t.Name)
}

func (g *goFile) validTable(t *table) {
	g.line("\nfunc valid%s(m *%s) *wire.ValidationError {", t.Name, t.goStruct())
	g.validObject(t)
	for _, f := range t.fields {
		inside := slices.ContainsFunc(f.targets(), func(c *table) bool { return c.checked })
		if !f.ownChecks() && !inside && f.union == nil {
			continue
		}
		g.validField(f, inside)
	}
	g.line("return nil\n}")
}

// validObject checks which properties an object has, and how many.
func (g *goFile) validObject(t *table) {
	for _, r := range t.Rules {
		if r.Kind == schema.DependentRequired {
			g.validDependent(t, r)
		}
	}
	if !slices.ContainsFunc(t.Rules, counts) {
		return
	}
	always := len(t.Consts)
	for _, f := range t.fields {
		if !f.absent() || f.Presence == wire.Nullable { // null is a property too
			always++
		}
	}
	g.line("n := %d", always)
	for _, f := range t.fields {
		if f.absent() && f.Presence != wire.Nullable {
			g.line("if %s {\nn++\n}", f.there("m."+f.GoName))
		}
	}
	for _, r := range t.Rules {
		if counts(r) {
			g.line("if n %s %s {\nreturn wire.Invalid(%s)\n}", beyond(r.Kind), count(r), quote(broken(r, field{Field: &schema.Field{}})))
		}
	}
}

// validDependent checks what must stand beside a property.
func (g *goFile) validDependent(t *table, r schema.Rule) {
	cause, needed := t.dependent(r)
	for _, f := range needed {
		condition := "!(" + f.there("m."+f.GoName) + ")"
		if is, ok := strings.CutSuffix(f.there("m."+f.GoName), " != nil"); ok {
			condition = is + " == nil"
		}
		if cause != nil {
			condition = cause.there("m."+cause.GoName) + " && " + condition
		}
		g.line("if %s {\nreturn wire.Invalid(%s)\n}", condition, quote(beside(f.JSON, r.Text)))
	}
}

// beyond is the comparison that tells too few or too many.
func beyond(k schema.RuleKind) string {
	if k == schema.MinLength || k == schema.MinItems || k == schema.MinProperties {
		return "<"
	}
	return ">"
}

func (g *goFile) validField(f field, inside bool) {
	under := ""
	if f.owner.Shape == schema.Plain {
		under = ".Under(" + quote(f.JSON) + ")"
	}
	value := "m." + f.GoName
	if f.absent() {
		g.line("if %s {", f.there(value))
	}
	for _, r := range f.ListRules {
		g.validList(f, r, value, under)
	}
	switch {
	case f.Map:
		g.validMap(f, value, inside, under)
	case f.Vector && f.target != nil && inside:
		element := f.element(value)
		g.line("for i := range %s {\nif e := valid%s(%s); e != nil {\nreturn e.UnderIndex(i)%s\n}\n}", value, f.target.Name, element, under)
	case f.Vector && f.target == nil && len(f.conditions("v", g)) > 0:
		if either(f.conditions("v", g)) == never { // nothing looks at v
			g.line("for i := range %s {", value)
		} else {
			g.line("for i, v := range %s {", value)
		}
		g.conditions(f, "v", ".UnderIndex(i)"+under)
		g.line("}")
	case f.union != nil:
		g.validUnion(f, value, under)
	case f.target != nil && inside:
		pointer := f.pointer(value)
		g.line("if e := valid%s(%s); e != nil {\nreturn e%s\n}", f.target.Name, pointer, under)
	case !f.Vector && f.target == nil:
		if f.absent() && !f.nilable() && !f.byZero() {
			value = "*" + value
			if f.Kind == wire.Enum {
				value = "(" + value + ")"
			}
		}
		g.conditions(f, value, under)
	}
	if f.absent() {
		g.line("}")
	}
}

func (g *goFile) validMap(f field, value string, inside bool, under string) {
	if !inside && !hasRule(f.ListRules, schema.KeyPattern) && !hasRule(f.ListRules, schema.Keys) {
		return
	}
	g.line("for _, k := range wire.SortedKeys(%s) {", value)
	for _, r := range f.ListRules {
		if r.Kind == schema.KeyPattern {
			g.line("if !%s(%s) {\nreturn wire.Invalid(%s).Under(%s)%s\n}", g.pattern(r.RE2), f.key(), quote(broken(r, f)), f.key(), under)
		}
		if r.Kind == schema.Keys {
			g.line("if %s {\nreturn wire.Invalid(%s).Under(%s)%s\n}", either(matchedKey(r.Match).conditions(f.key(), g)), quote(broken(r, f)), f.key(), under)
		}
	}
	if inside {
		g.line("if e := valid%s(&%s{Key: %s, Value: %s[k]}); e != nil {\nreturn e.Under(%s)%s\n}", f.target.Name, f.target.goStruct(), f.key(), value, f.key(), under)
	}
	g.line("}")
}

func (g *goFile) validUnion(f field, value, under string) {
	g.line("switch v := %s.(type) {\ncase nil:", value)
	for _, t := range f.union.members {
		g.line("case *%s:", t.goStruct())
		if t.checked {
			g.line("if e := valid%s(v); e != nil {\nreturn e%s\n}", t.Name, under)
		} else {
			g.line("_ = v")
		}
	}
	g.line("default:\nreturn wire.Invalid(\"is no member of %s\")%s\n}", f.union.Name, under)
}

func (g *goFile) validList(f field, r schema.Rule, value, under string) {
	switch r.Kind {
	case schema.KeyPattern, schema.Keys: // with the keys
	case schema.Contains:
		g.validContains(f, r, value, under)
	case schema.DependentRequired:
		g.line("if _, there := %s[%s]; there {", value, quote(r.Text))
		for _, name := range r.Names {
			g.line("if _, there := %s[%s]; !there {\nreturn wire.Invalid(%s)%s\n}", value, quote(name), quote(beside(name, r.Text)), under)
		}
		g.line("}")
	case schema.UniqueItems:
		g.line("if !%s {\nreturn wire.Invalid(%s)%s\n}", unique(f, value), quote(broken(r, f)), under)
	default:
		g.line("if len(%s) %s %s {\nreturn wire.Invalid(%s)%s\n}", value, beyond(r.Kind), count(r), quote(broken(r, f)), under)
	}
}

// validContains counts the elements that match.
func (g *goFile) validContains(f field, r schema.Rule, value, under string) {
	fail := fmt.Sprintf("return wire.Invalid(%s)%s", quote(broken(r, f)), under)
	bad := either(f.matched(r.Match).conditions("v", g))
	switch {
	case bad == "":
		g.line("if %s {\n%s\n}", counting(r, "len("+value+")"), fail)
	case bad != never:
		g.line("{\nn := 0\nfor _, v := range %s {\nif !(%s) {\nn++\n}\n}\nif %s {\n%s\n}\n}", value, bad, counting(r, "n"), fail)
	case r.Least > 0:
		g.line("if %s {\n%s\n}", never, fail)
	}
}

// never is the condition of a value that is always bad.
const never = "true"

// either joins conditions; "" = none.
func either(list []condition) string {
	var bad []string
	for _, c := range list {
		if c.broken == never {
			return never
		}
		bad = append(bad, c.broken)
	}
	return strings.Join(bad, " || ")
}

// unique compares values, or tables by their bytes.
func unique(f field, value string) string {
	if f.target == nil {
		return "wire.Unique(" + f.sentList(value) + ")"
	}
	t := f.target
	element := f.element(value)
	return fmt.Sprintf("wire.UniqueBytes(len(%s), func(i int) []byte {\nb, c := wire.AppendTable(make([]byte, 8, 64), 0, 4, table%s, %d, %d)\nreturn fill%s(b, 0, c, %s)\n})",
		value, t.Name, len(t.wire.VTable()), t.wire.Align(), t.Name, element)
}

// conditions writes the checks of one value.
func (g *goFile) conditions(f field, value, under string) {
	for _, c := range f.conditions(value, g) {
		g.line("if %s {\nreturn wire.Invalid(%s)%s\n}", c.broken, quote(c.message), under)
	}
}

// condition is an expression that is true of a bad value.
type condition struct{ broken, message string }

func (f field) conditions(v string, g *goFile) []condition {
	var list []condition
	if f.Kind != wire.Bytes && f.Kind != wire.Enum {
		v = f.cast(v)
	}
	add := func(expression, message string) { list = append(list, condition{expression, message}) }
	switch {
	case f.match && f.Kind == wire.Enum && f.held == nil:
		var unequal []string
		for _, e := range f.Enum.Values {
			if slices.Contains(f.literals, e.Literal) {
				unequal = append(unequal, v+" != "+e.GoName)
			}
		}
		if len(unequal) > 0 {
			add(strings.Join(unequal, " && "), "")
		}
	case f.match && len(f.literals) > 0:
		var unequal []string
		for _, text := range f.literals {
			unequal = append(unequal, v+" != "+quote(text))
		}
		add(strings.Join(unequal, " && "), "")
	case f.match && f.Kind == wire.Enum: // any
	case f.Kind == wire.Enum && f.held != nil:
		return append(list, condition{"!valid" + f.Enum.Name + "(" + v + ")", "must be one of " + literals(f.Enum)})
	case f.Kind == wire.Enum:
		add("!"+v+".Valid()", "must be one of "+literals(f.Enum))
	case f.Kind == wire.Bool && f.Const != "":
		add(map[string]string{"true": "!", "false": ""}[f.Const]+v, "must be "+f.Const)
	case len(f.Numbers) > 0:
		var unequal []string
		for _, n := range f.Numbers {
			unequal = append(unequal, v+" != "+strconv.FormatFloat(n, 'f', -1, 64))
		}
		add(strings.Join(unequal, " && "), oneOf(f.Numbers))
	}
	for _, r := range f.Rules {
		switch r.Kind {
		case schema.Minimum, schema.Maximum, schema.ExclusiveMinimum, schema.ExclusiveMaximum:
			if e := goBound(f, r, v); e != "" {
				add(e, broken(r, f))
			}
		case schema.MultipleOf:
			if isInteger(f.Kind) && r.Number.IsInt() && r.Number.Num().IsInt64() {
				add(fmt.Sprintf("wire.Mod(%s, %s) != 0", goWide(f.Kind, v), r.Number.Num()), broken(r, f))
			} else {
				value := v
				if f.Kind != wire.Float64 {
					value = "float64(" + v + ")"
				}
				add(fmt.Sprintf("!wire.Multiple(%s, %s)", value, double(r.Number)), broken(r, f))
			}
		case schema.MinLength, schema.MaxLength:
			length := "wire.Characters(" + v + ")"
			if f.Kind == wire.Bytes {
				length = "len(" + v + ")"
			}
			add(fmt.Sprintf("%s %s %s", length, beyond(r.Kind), count(r)), broken(r, f))
		case schema.Pattern:
			add("!"+g.pattern(r.RE2)+"("+v+")", broken(r, f))
		case schema.Format:
			add(fmt.Sprintf("!wire.ValidFormat(%s, %s)", quote(r.Text), v), broken(r, f))
		}
	}
	return list
}

// goWide widens an integer for wire.Mod.
func goWide(k wire.Kind, v string) string {
	switch {
	case k == wire.Uint64:
		return v
	case k >= wire.Uint8 && k <= wire.Uint32:
		return "uint64(" + v + ")"
	case k == wire.Int64:
		return v
	}
	return "int64(" + v + ")"
}

// goBound compares exactly: integers as such, whatever the bound is. "" = every
// value is within.
func goBound(f field, r schema.Rule, v string) string {
	if !isInteger(f.Kind) {
		op := map[schema.RuleKind]string{schema.Minimum: ">=", schema.Maximum: "<=", schema.ExclusiveMinimum: ">", schema.ExclusiveMaximum: "<"}[r.Kind]
		if f.Kind != wire.Float64 {
			v = "float64(" + v + ")"
		}
		return fmt.Sprintf("!(%s %s %s)", v, op, double(r.Number)) // NaN is within no bounds
	}
	b := wholeBound(r)
	low, high := rangeOf(f.Kind)
	switch {
	case b.least && b.value.Cmp(low) <= 0, !b.least && b.value.Cmp(high) >= 0:
		return ""
	case b.least && b.value.Cmp(high) > 0, !b.least && b.value.Cmp(low) < 0:
		return never
	case b.least:
		return v + " < " + b.value.String()
	}
	return v + " > " + b.value.String()
}

// pattern returns the name of the variable that matches a pattern.
func (g *goFile) pattern(re2 string) string {
	n, ok := g.patterns[re2]
	if !ok {
		n = len(g.patterns) + 1
		g.patterns[re2] = n
	}
	return "pattern" + strconv.Itoa(n)
}
