package codegen

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/ignex/nova/schema"
	"github.com/ignex/nova/wire"
)

// validators writes a function for each table with constraints and for each
// payload. Who does not import one pays for none.
func (f *tsFile) validators() {
	if !f.valid {
		return
	}
	for _, t := range f.tables {
		if t.checked || len(t.roots) > 0 {
			f.validator(t)
		}
	}
	var list []string
	for pattern := range f.patterns {
		list = append(list, pattern)
	}
	slices.SortFunc(list, func(a, b string) int { return f.patterns[a] - f.patterns[b] })
	for _, pattern := range list {
		f.line("\nconst $pattern%d = /* #__PURE__ */ new RegExp(%s, \"u\");", f.patterns[pattern], tsString(pattern))
	}
}

// validName names the function that checks a table.
func validName(t *table) string {
	if t.Shape == schema.Plain || len(t.roots) > 0 {
		return "validate" + t.Name
	}
	return "$validate" + t.Name
}

func (f *tsFile) validator(t *table) {
	export, name := "export ", validName(t)
	if strings.HasPrefix(name, "$") {
		export = ""
	}
	f.line("")
	if export != "" {
		f.doc("", "The first value of v that breaks a constraint of the schema, undefined when there is none.")
	}
	if !t.checked {
		f.line("%sfunction %s(_v: %s): %s | undefined {\n  return undefined;\n}", export, name, f.tableType(t), f.name("Invalid"))
		return
	}
	f.line("%sfunction %s(v: %s): %s | undefined {", export, name, f.tableType(t), f.name("Invalid"))
	f.validObject(t)
	declared := false
	for _, x := range t.fields {
		inside := slices.ContainsFunc(x.targets(), func(c *table) bool { return c.checked })
		if !x.ownChecks() && !inside && x.union == nil {
			continue
		}
		if inside && !declared {
			f.line("  let e: %s | undefined;", f.name("Invalid"))
			declared = true
		}
		f.validField(t, x, inside)
	}
	f.line("  return undefined;\n}")
}

func (f *tsFile) validObject(t *table) {
	for _, r := range t.Rules {
		if r.Kind == schema.DependentRequired {
			f.validDependent(t, r)
		}
	}
	if !slices.ContainsFunc(t.Rules, counts) {
		return
	}
	terms := []string{}
	always := len(t.Consts)
	for _, x := range t.fields {
		if !x.absent() || x.Presence == wire.Nullable {
			always++
		} else {
			terms = append(terms, fmt.Sprintf(" + (%s == null ? 0 : 1)", tsAccess("v", x.JSON)))
		}
	}
	f.line("  const properties = %d%s;", always, strings.Join(terms, ""))
	for _, r := range t.Rules {
		if counts(r) {
			f.line("  if (properties %s %s) return %s(\"\", %s);", beyond(r.Kind), count(r), f.name("invalid"), tsString(broken(r, field{Field: &schema.Field{}})))
		}
	}
}

// validDependent checks what must stand beside a property.
func (f *tsFile) validDependent(t *table, r schema.Rule) {
	cause, needed := t.dependent(r)
	for _, x := range needed {
		condition := tsAccess("v", x.JSON) + " == null"
		if cause != nil {
			condition = tsAccess("v", cause.JSON) + " != null && " + condition
		}
		f.line("  if (%s) return %s(\"\", %s);", condition, f.name("invalid"), tsString(beside(x.JSON, r.Text)))
	}
}

// validPlace is a value under check and how its place is written: an expression
// of a JSON pointer, and of the beginning of one of an element.
type validPlace struct{ value, pointer, inside string }

func (f *tsFile) validField(t *table, x field, inside bool) {
	at := validPlace{tsAccess("v", x.JSON), tsString("/" + pointerEscaper.Replace(x.JSON)), tsString("/" + pointerEscaper.Replace(x.JSON) + "/")}
	switch t.Shape {
	case schema.Box, schema.Row:
		at = validPlace{"v", `""`, `"/"`}
	case schema.Entry:
		at = validPlace{map[string]string{"key": "v[0]", "value": "v[1]"}[x.JSON], `""`, `"/"`}
	}
	if x.absent() {
		f.line("  if (%s != null) {", at.value)
	}
	for _, r := range x.ListRules {
		f.validList(x, r, at)
	}
	switch {
	case x.Map:
		f.validMap(x, at, inside)
	case x.Vector && x.target != nil && inside:
		f.line("  for (const [i, x] of %s.entries()) if ((e = %s(x))) return %s(%s + i, e);", at.value, validName(x.target), f.name("under"), at.inside)
	case x.Vector && x.target == nil:
		if list := f.conditions(x, "x"); len(list) > 0 {
			f.line("  for (const [i, x] of %s.entries()) {", at.value)
			for _, c := range list {
				f.line("    if (%s) return %s(%s + i, %s);", c.broken, f.name("invalid"), at.inside, tsString(c.message))
			}
			f.line("  }")
		}
	case x.union != nil:
		f.validUnion(x, at)
	case x.target != nil && inside:
		f.line("  if ((e = %s(%s))) return %s(%s, e);", validName(x.target), at.value, f.name("under"), at.pointer)
	case !x.Vector && x.target == nil:
		for _, c := range f.conditions(x, at.value) {
			f.line("  if (%s) return %s(%s, %s);", c.broken, f.name("invalid"), at.pointer, tsString(c.message))
		}
	}
	if x.absent() {
		f.line("  }")
	}
}

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

func (f *tsFile) validList(x field, r schema.Rule, at validPlace) {
	fail := fmt.Sprintf("return %s(%s, %s);", f.name("invalid"), at.pointer, tsString(broken(r, x)))
	switch {
	case r.Kind == schema.KeyPattern || r.Kind == schema.Keys: // with the keys
	case r.Kind == schema.Contains:
		f.validContains(x, r, at)
	case r.Kind == schema.DependentRequired:
		for _, name := range r.Names {
			f.line("  if (globalThis.Object.hasOwn(%s, %s) && !globalThis.Object.hasOwn(%s, %s)) return %s(%s, %s);", at.value, tsString(r.Text), at.value, tsString(name),
				f.name("invalid"), at.pointer, tsString(beside(name, r.Text)))
		}
	case r.Kind == schema.UniqueItems && x.target == nil:
		f.line("  if (new globalThis.Set(%s).size < %s.length) %s", at.value, at.value, fail)
	case r.Kind == schema.UniqueItems:
		f.line("  if (!%s(%s, $%s)) %s", f.name("unique"), at.value, x.target.Name, fail)
	case x.Map:
		f.line("  if (globalThis.Object.keys(%s).length %s %s) %s", at.value, beyond(r.Kind), count(r), fail)
	default:
		f.line("  if (%s.length %s %s) %s", at.value, beyond(r.Kind), count(r), fail)
	}
}

// validContains counts the elements that match.
func (f *tsFile) validContains(x field, r schema.Rule, at validPlace) {
	matching := ""
	if bad := either(f.conditions(x.matched(r.Match), "x")); bad != "" {
		matching = ".filter((x) => !(" + bad + "))"
	}
	f.line("  {\n    const n = %s%s.length;\n    if (%s) return %s(%s, %s);\n  }", at.value, matching, counting(r, "n"), f.name("invalid"), at.pointer, tsString(broken(r, x)))
}

func (f *tsFile) validMap(x field, at validPlace, inside bool) {
	type check struct{ bad, message string }
	var keys []check
	for _, r := range x.ListRules {
		switch r.Kind {
		case schema.KeyPattern:
			keys = append(keys, check{"!" + f.pattern(r.Text) + ".test(entry[0])", broken(r, x)})
		case schema.Keys:
			keys = append(keys, check{either(f.conditions(matchedKey(r.Match), "entry[0]")), broken(r, x)})
		}
	}
	if !inside && len(keys) == 0 {
		return
	}
	f.line("  for (const entry of %s(%s)) {", f.name("sortedEntries"), at.value)
	for _, c := range keys {
		f.line("    if (%s) return %s(%s + %s(entry[0]), %s);", c.bad, f.name("invalid"), at.pointer, f.name("pointer"), tsString(c.message))
	}
	if inside {
		f.line("    if ((e = %s(entry))) return %s(%s + %s(entry[0]), e);", validName(x.target), f.name("under"), at.pointer, f.name("pointer"))
	}
	f.line("  }")
}

func (f *tsFile) validUnion(x field, at validPlace) {
	f.line("  switch (%s) {", tsAccess(at.value, x.union.Tag))
	for i, t := range x.union.members {
		f.line("    case %s:", x.union.Members[i].Value.Text)
		if t.checked {
			f.line("      if ((e = %s(%s))) return %s(%s, e);", validName(t), at.value, f.name("under"), at.pointer)
		}
		f.line("      break;")
	}
	f.line("    default:\n      return %s(%s, %s);\n  }", f.name("invalid"), at.pointer, tsString("is no member of "+x.union.Name))
}

// pattern returns the name of the constant that matches a pattern.
func (f *tsFile) pattern(text string) string {
	n, ok := f.patterns[text]
	if !ok {
		n = len(f.patterns) + 1
		f.patterns[text] = n
	}
	return "$pattern" + strconv.Itoa(n)
}

func (f *tsFile) conditions(x field, v string) []condition {
	var list []condition
	add := func(expression, message string) { list = append(list, condition{expression, message}) }
	big := x.BigInt || x.Kind == wire.Uint64
	switch {
	case x.match && (x.Kind == wire.Enum || len(x.literals) > 0):
		var unequal []string
		for _, text := range x.literals {
			unequal = append(unequal, v+" !== "+tsString(text))
		}
		if len(unequal) > 0 {
			add(strings.Join(unequal, " && "), "")
		}
	case x.Kind == wire.Enum:
		args := v
		for _, e := range x.Enum.Values {
			if e.Removed {
				args += ", " + tsString(e.Literal)
			}
		}
		add(fmt.Sprintf("!%s($%s, %s)", f.name("isLiteral"), x.Enum.Name, args), "must be one of "+literals(x.Enum))
	case x.Kind == wire.Bool && x.Const != "":
		add(v+" !== "+x.Const, "must be "+x.Const)
	case len(x.Numbers) > 0:
		var unequal []string
		for _, n := range x.Numbers {
			text := strconv.FormatFloat(n, 'f', -1, 64)
			if big {
				text += "n"
			}
			unequal = append(unequal, v+" !== "+text)
		}
		add(strings.Join(unequal, " && "), oneOf(x.Numbers))
	}
	for _, r := range x.Rules {
		switch r.Kind {
		case schema.Minimum, schema.Maximum, schema.ExclusiveMinimum, schema.ExclusiveMaximum:
			if e := tsBound(x, r, v, big); e != "" {
				add(e, broken(r, x))
			}
		case schema.MultipleOf:
			switch {
			case big && r.Number.IsInt():
				add(fmt.Sprintf("%s %% %sn !== 0n", v, r.Number.Num()), broken(r, x))
			case big:
				add(fmt.Sprintf("globalThis.Number(%s) %% %s !== 0", v, double(r.Number)), broken(r, x))
			default:
				add(fmt.Sprintf("%s %% %s !== 0", v, double(r.Number)), broken(r, x))
			}
		case schema.MinLength, schema.MaxLength:
			length := v + ".length"
			if x.Kind != wire.Bytes {
				length = f.name("characters") + "(" + v + ")"
			}
			add(fmt.Sprintf("%s %s %s", length, beyond(r.Kind), count(r)), broken(r, x))
		case schema.Pattern:
			add("!"+f.pattern(r.Text)+".test("+v+")", broken(r, x))
		case schema.Format:
			add("!"+f.name(tsFormats[r.Text])+"("+v+")", broken(r, x))
		}
	}
	return list
}

var tsFormats = map[string]string{"date-time": "isDateTime", "date": "isDate", "time": "isTime", "email": "isEmail", "uuid": "isUUID",
	"uri": "isURI", "ipv4": "isIPv4", "ipv6": "isIPv6"}

func tsBound(x field, r schema.Rule, v string, wide bool) string {
	if !wide {
		op := map[schema.RuleKind]string{schema.Minimum: ">=", schema.Maximum: "<=", schema.ExclusiveMinimum: ">", schema.ExclusiveMaximum: "<"}[r.Kind]
		return fmt.Sprintf("!(%s %s %s)", v, op, double(r.Number))
	}
	b := wholeBound(r)
	low, high := rangeOf(x.Kind)
	if b.least && b.value.Cmp(low) <= 0 || !b.least && b.value.Cmp(high) >= 0 {
		return ""
	}
	if b.value.CmpAbs(new(big.Int).Lsh(big.NewInt(1), 70)) > 0 { // beyond every value: say so shortly
		b.value.Rsh(b.value, uint(b.value.BitLen()-70))
	}
	if b.least {
		return v + " < " + b.value.String() + "n"
	}
	return v + " > " + b.value.String() + "n"
}

// validImports returns what the validators import. They are written once to see.
func (f *tsFile) validImports() (values []string) {
	if !f.valid {
		return nil
	}
	probe := &tsFile{input: f.input, taken: map[string]bool{}, patterns: map[string]int{}, used: map[string]bool{}}
	probe.validators()
	for _, name := range slices.Concat([]string{"characters", "invalid", "isLiteral", "pointer", "sortedEntries", "under", "unique"}, mapValues(tsFormats)) {
		if probe.used[name] {
			values = append(values, name)
		}
	}
	slices.Sort(values)
	return values
}

func mapValues(m map[string]string) []string {
	var list []string
	for _, v := range m {
		list = append(list, v)
	}
	return list
}
