package schema

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/ignex/nova/wire"
)

// Match is what a value has to be, beside its type: some elements of an array
// (contains), or each key of a map (propertyNames).
type Match struct {
	Literals []string  // one of these; empty = any string
	Numbers  []float64 // one of these; empty = any number
	Const    string    // true or false; "" = both
	Rules    []Rule
}

// JSON returns the match as the JSON Schema that says it, without a type.
func (m *Match) JSON() string {
	var b bytes.Buffer
	member := func(key string, value any) {
		b.WriteString(map[bool]string{true: "{", false: ","}[b.Len() == 0] + strconv.Quote(key) + ":")
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		_ = enc.Encode(value) // strings and numbers
		b.Truncate(b.Len() - 1)
	}
	switch {
	case len(m.Literals) == 1:
		member("const", m.Literals[0])
	case len(m.Literals) > 1:
		member("enum", m.Literals)
	case len(m.Numbers) == 1:
		member("const", m.Numbers[0])
	case len(m.Numbers) > 1:
		member("enum", m.Numbers)
	case m.Const != "":
		member("const", m.Const == "true")
	}
	for _, r := range m.Rules {
		switch {
		case r.Number != nil && r.Number.IsInt():
			member(r.Kind.String(), json.Number(r.Number.Num().String()))
		case r.Number != nil:
			f, _ := r.Number.Float64()
			member(r.Kind.String(), f)
		default:
			member(r.Kind.String(), r.Text)
		}
	}
	if b.Len() == 0 {
		return "{}"
	}
	return b.String() + "}"
}

// contains reads what some elements of an array must be.
func (r *reader) contains(c *core, x rule) (Rule, bool) {
	rule := Rule{Kind: Contains, Least: 1, Most: -1}
	if c.kind != coreArray {
		return rule, false
	}
	for key, n := range map[string]*int{"minContains": &rule.Least, "maxContains": &rule.Most} {
		v := x.value.parent.get(key)
		if v == nil || v.kind != nodeNumber {
			continue // checkKeywords says that it is none
		}
		number, ok := exactNumber(v.text)
		if !ok || !number.IsInt() || number.Sign() < 0 {
			r.once(v, fmt.Sprintf("%q is %s", key, clip(v.text)), "write a number of elements")
			return rule, false
		}
		*n = math.MaxInt32 // no array is as long
		if number.Num().Cmp(big.NewInt(math.MaxInt32)) < 0 {
			*n = int(number.Num().Int64())
		}
	}
	ic := r.peel(c.items)
	if group(ic.kind) == coreBad {
		r.once(x.value, fmt.Sprintf("\"contains\" in an array of type %s, which Validate cannot check", ic.kind),
			"remove it and check the array in your own code, or make the elements strings, numbers or booleans")
		return rule, false
	}
	m, ok := r.matcher(ic, x)
	rule.Match = m
	return rule, ok && (rule.Least > 0 || rule.Most >= 0)
}

// group returns the kind that stands for all that compare alike; coreBad = none.
func group(k coreKind) coreKind {
	switch k {
	case coreString, coreEnum:
		return coreString
	case coreNumber, coreInteger, coreNumbers:
		return coreNumber
	case coreBool:
		return coreBool
	}
	return coreBad
}

// matcher reads a schema that a value of the type of c is held against.
func (r *reader) matcher(c *core, x rule) (*Match, bool) {
	n := x.value
	switch {
	case n.kind == nodeBool && n.yes:
		return &Match{}, true
	case n.kind != nodeObject:
		r.once(n, fmt.Sprintf("%q is %s", x.key, n.describe()), `write a schema, for example {"const":"a"}`)
		return nil, false
	}
	sub := r.bare(n, group(c.kind))
	if !r.report(sub) {
		return nil, false
	}
	if group(sub.kind) != group(c.kind) {
		r.once(n, fmt.Sprintf("%q asks for type %s where the values are of type %s", x.key, sub.kind, c.kind), "write it for the type of the values")
		return nil, false
	}
	m := &Match{Numbers: slices.Clone(sub.numbers), Const: sub.constant(), Rules: r.rules(sub)}
	if sub.kind != coreBool {
		m.Const = ""
	}
	for _, l := range sub.literals {
		m.Literals = append(m.Literals, l.text)
	}
	if sub.kind == coreInteger && c.kind != coreInteger {
		m.Rules = append(m.Rules, Rule{Kind: MultipleOf, Number: big.NewRat(1, 1)})
	}
	return m, r.possible(c, x, m)
}

// bare peels a schema that may leave its type out, which is then that of the values.
func (r *reader) bare(n *node, kind coreKind) *core {
	if n.get("type") != nil || slices.ContainsFunc(heads, func(h string) bool { return n.get(h) != nil }) {
		return r.peel(n)
	}
	if c := r.cores[n]; c != nil {
		return c
	}
	c := &core{kind: kind, node: n}
	r.checkKeywords(n, c)
	if len(c.problems) > 0 {
		c.kind = coreBad
	}
	r.cores[n] = c
	return c
}

// possible reports values that the type cannot have.
func (r *reader) possible(c *core, x rule, m *Match) bool {
	fail := func(value string) bool {
		r.once(x.value, fmt.Sprintf("%q names %s, which the values cannot be", x.key, value), "write one that they can be")
		return false
	}
	if c.kind == coreEnum {
		for _, text := range m.Literals {
			if !slices.ContainsFunc(c.literals, func(l literal) bool { return l.text == text }) {
				return fail(quote(text))
			}
		}
		if len(m.Literals) == 0 && len(m.Rules) > 0 {
			r.once(x.value, fmt.Sprintf("%q tells literals apart by %s", x.key, m.Rules[0]), `name them: {"enum":["a","b"]}`)
			return false
		}
	}
	for _, f := range m.Numbers {
		if c.kind == coreInteger && !holds(cmp.Or(c.scalar, wire.Int64), f) || c.scalar == wire.Float32 && float64(float32(f)) != f {
			return fail(strconv.FormatFloat(f, 'g', -1, 64))
		}
	}
	return true
}

// holds reports whether f is a value of an integer kind.
func holds(k wire.Kind, f float64) bool {
	if f != math.Trunc(f) {
		return false
	}
	bits := map[wire.Kind]int{wire.Int8: 8, wire.Uint8: 8, wire.Int16: 16, wire.Uint16: 16, wire.Int32: 32, wire.Uint32: 32}[k]
	switch {
	case k >= wire.Uint8 && k <= wire.Uint64 && f < 0:
		return false
	case bits == 0: // within ±(2^53−1), see number
		return true
	case k >= wire.Uint8 && k <= wire.Uint64:
		return f < math.Ldexp(1, bits)
	}
	return f >= -math.Ldexp(1, bits-1) && f < math.Ldexp(1, bits-1)
}

// propertyNames reads what the keys of a map must be. The names of an object are
// known now.
func (r *reader) propertyNames(c *core, x rule) (Rule, bool) {
	rule := Rule{Kind: Keys}
	if c.kind != coreMap && c.kind != coreObject {
		return rule, false
	}
	if p := x.value.get("pattern"); c.kind == coreMap && len(x.value.members) == 1 && p != nil && p.kind == nodeString {
		return r.pattern(KeyPattern, p)
	}
	m, ok := r.matcher(&core{kind: coreString, node: c.node}, x)
	if rule.Match = m; !ok || c.kind == coreMap {
		return rule, ok && m.JSON() != "{}"
	}
	for _, p := range c.node.get("properties").members {
		if !m.matches(p.key) {
			r.once(p.value, fmt.Sprintf("the property %s is none that \"propertyNames\" allows", quote(p.key)), "remove one of the two")
		}
	}
	return rule, false
}

// matches holds a string against m.
func (m *Match) matches(s string) bool {
	if len(m.Literals) > 0 && !slices.Contains(m.Literals, s) {
		return false
	}
	length := new(big.Rat).SetInt64(int64(utf8.RuneCountInString(s)))
	for _, r := range m.Rules {
		broken := false
		switch r.Kind {
		case MinLength:
			broken = length.Cmp(r.Number) < 0
		case MaxLength:
			broken = length.Cmp(r.Number) > 0
		case Pattern:
			broken = !regexp.MustCompile(r.RE2).MatchString(s)
		case Format:
			broken = !wire.ValidFormat(r.Text, s)
		}
		if broken {
			return false
		}
	}
	return true
}

// dependentRequired reads which properties must stand beside another.
func (r *reader) dependentRequired(c *core, x rule) []Rule {
	if c.kind != coreMap && c.kind != coreObject || x.value.kind != nodeObject {
		return nil
	}
	var rules []Rule
	for _, m := range x.value.members {
		if m.value.kind != nodeArray {
			r.once(m.value, fmt.Sprintf("\"dependentRequired\" has %s for %s", m.value.describe(), quote(m.key)), "write a list of properties")
			continue
		}
		ok := r.has(c, m.value, m.key)
		rule := Rule{Kind: DependentRequired, Text: m.key}
		for _, item := range m.value.items {
			if item.kind != nodeString {
				r.once(item, "\"dependentRequired\" lists "+item.describe(), "list names of properties")
				ok = false
				continue
			}
			ok = r.has(c, item, item.text) && ok
			rule.Names = append(rule.Names, item.text)
		}
		if ok && len(rule.Names) > 0 {
			rules = append(rules, rule)
		}
	}
	return rules
}

// has reports the name of a property that an object does not have.
func (r *reader) has(c *core, at *node, name string) bool {
	if c.kind == coreMap {
		return true
	}
	props := c.node.get("properties")
	if props.get(name) != nil {
		return true
	}
	var names []string
	for _, m := range props.members {
		names = append(names, m.key)
	}
	r.once(at, "\"dependentRequired\" names "+quote(name)+", which is no property", r.suggest(name, names, "remove it, or add the property"))
	return false
}
