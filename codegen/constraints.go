package codegen

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/ignex/nova/schema"
	"github.com/ignex/nova/wire"
)

// constraints finds the tables that have constraints, in them or below. A schema
// without any has no Validate at all; in one that has, literals of enums are
// checked too.
func (in *input) constraints() {
	for _, t := range in.tables {
		in.valid = in.valid || len(t.Rules) > 0
		for _, f := range t.fields {
			in.valid = in.valid || len(f.Rules)+len(f.ListRules)+len(f.Numbers) > 0 || f.Kind == wire.Bool && f.Const != ""
		}
	}
	if !in.valid {
		return
	}
	for _, t := range in.tables {
		t.checked = len(t.Rules) > 0
		for _, f := range t.fields {
			t.checked = t.checked || f.ownChecks() || f.union != nil
			if f.target != nil && hasRule(f.ListRules, schema.UniqueItems) {
				f.target.nested = true // elements are compared by their bytes
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for _, t := range in.tables {
			for _, f := range t.fields {
				for _, c := range f.targets() {
					if c.checked && !t.checked {
						t.checked, changed = true, true
					}
				}
			}
		}
	}
}

// ownChecks reports whether the values of a field are checked, but for what
// stands inside its tables.
func (f field) ownChecks() bool {
	return len(f.Rules)+len(f.ListRules)+len(f.Numbers) > 0 && f.target == nil || len(f.ListRules) > 0 ||
		f.Kind == wire.Enum || f.Kind == wire.Bool && f.Const != ""
}

func hasRule(rules []schema.Rule, kind schema.RuleKind) bool {
	for _, r := range rules {
		if r.Kind == kind {
			return true
		}
	}
	return false
}

// isInteger reports whether the values of a kind are whole.
func isInteger(k wire.Kind) bool {
	return k == wire.Int64 || k >= wire.Int8 && k <= wire.Uint64
}

// bound is a rule about numbers of integers: at least or at most a whole number.
type bound struct {
	least bool
	value *big.Int
}

// wholeBound turns the bound of a rule into one of whole numbers.
func wholeBound(r schema.Rule) bound {
	floor := new(big.Int).Div(r.Number.Num(), r.Number.Denom()) // Euclidean, the denominator is positive
	whole := r.Number.IsInt()
	one := big.NewInt(1)
	switch r.Kind {
	case schema.Minimum:
		if !whole {
			floor.Add(floor, one)
		}
		return bound{true, floor}
	case schema.ExclusiveMinimum:
		return bound{true, floor.Add(floor, one)}
	case schema.Maximum:
		return bound{false, floor}
	}
	if whole {
		floor.Sub(floor, one)
	}
	return bound{false, floor}
}

// rangeOf returns the least and the greatest value of an integer kind.
func rangeOf(k wire.Kind) (low, high *big.Int) {
	bits := map[wire.Kind]uint{wire.Int8: 8, wire.Uint8: 8, wire.Int16: 16, wire.Uint16: 16, wire.Int32: 32, wire.Uint32: 32, wire.Int64: 64, wire.Uint64: 64}[k]
	one := big.NewInt(1)
	if strings.HasPrefix(k.String(), "u") {
		return new(big.Int), new(big.Int).Sub(new(big.Int).Lsh(one, bits), one)
	}
	half := new(big.Int).Lsh(one, bits-1)
	return new(big.Int).Neg(half), new(big.Int).Sub(half, one)
}

// double writes a number as a literal of a double, in Go and TypeScript.
func double(n *big.Rat) string {
	f, _ := n.Float64()
	if math.IsInf(f, 0) {
		f = math.Copysign(math.MaxFloat64, f)
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// count returns a rule's number as a number of things: rounded so that whole
// numbers compare alike.
func count(r schema.Rule) string {
	n := new(big.Int).Div(r.Number.Num(), r.Number.Denom())
	least := r.Kind == schema.MinLength || r.Kind == schema.MinItems || r.Kind == schema.MinProperties
	if least && !r.Number.IsInt() {
		n.Add(n, big.NewInt(1))
	}
	if n.Cmp(big.NewInt(math.MaxInt32)) > 0 { // no value is as long
		n.SetInt64(math.MaxInt32)
	}
	if n.Sign() < 0 {
		n.SetInt64(-1)
	}
	return n.String()
}

// broken says in words what a value that breaks the rule is not.
func broken(r schema.Rule, f field) string {
	number := ""
	if r.Number != nil {
		number = double(r.Number)
		if r.Number.IsInt() {
			number = r.Number.Num().String()
		}
	}
	switch r.Kind {
	case schema.Minimum:
		return "must be at least " + number
	case schema.Maximum:
		return "must be at most " + number
	case schema.ExclusiveMinimum:
		return "must be above " + number
	case schema.ExclusiveMaximum:
		return "must be below " + number
	case schema.MultipleOf:
		return "must be a multiple of " + number
	case schema.MinLength, schema.MaxLength:
		what := "characters"
		if f.Kind == wire.Bytes {
			what = "bytes"
		}
		return fmt.Sprintf("must have at %s %s %s", most(r.Kind == schema.MinLength), number, what)
	case schema.MinItems, schema.MaxItems:
		return fmt.Sprintf("must have at %s %s elements", most(r.Kind == schema.MinItems), number)
	case schema.MinProperties, schema.MaxProperties:
		return fmt.Sprintf("must have at %s %s properties", most(r.Kind == schema.MinProperties), number)
	case schema.UniqueItems:
		return "must not hold an element twice"
	case schema.KeyPattern:
		return "the key must match " + r.Text
	case schema.Keys:
		return "the key must match " + clip(r.Match.JSON())
	case schema.Contains:
		return fmt.Sprintf("must hold %s of %s", between(r.Least, r.Most), clip(r.Match.JSON()))
	case schema.Pattern:
		return "must match " + r.Text
	}
	return "must be " + map[string]string{"date-time": "a date and time (RFC 3339)", "date": "a date (RFC 3339)", "time": "a time (RFC 3339)",
		"email": "an email address", "uuid": "a UUID", "uri": "a URI", "ipv4": "an IPv4 address", "ipv6": "an IPv6 address"}[r.Text]
}

func most(least bool) string {
	if least {
		return "least"
	}
	return "most"
}

// between says in words how many elements.
func between(least, most int) string {
	switch {
	case most < 0:
		return fmt.Sprintf("at least %d", least)
	case least == 0:
		return fmt.Sprintf("at most %d", most)
	}
	return fmt.Sprintf("%d to %d", least, most)
}

// counting is the condition that a number of elements is not what the rule allows.
func counting(r schema.Rule, n string) string {
	var terms []string
	if r.Least > 0 {
		terms = append(terms, fmt.Sprintf("%s < %d", n, r.Least))
	}
	if r.Most >= 0 {
		terms = append(terms, fmt.Sprintf("%s > %d", n, r.Most))
	}
	return strings.Join(terms, " || ")
}

// matched is a field whose values are held against a match.
func (f field) matched(m *schema.Match) field {
	own := *f.Field
	own.Rules, own.Numbers, own.Const = m.Rules, m.Numbers, m.Const
	f.Field, f.match, f.literals = &own, true, m.Literals
	return f
}

// matchedKey is a string that is held against a match.
func matchedKey(m *schema.Match) field {
	return field{Field: &schema.Field{Kind: wire.String, Rules: m.Rules}, match: true, literals: m.Literals}
}

// dependent returns the field that asks for others, nil when it is always there,
// and those of the others that may be missing.
func (t *table) dependent(r schema.Rule) (cause *field, needed []field) {
	for i, f := range t.fields {
		switch {
		case !f.absent() || f.Presence == wire.Nullable: // null is a property too
		case f.JSON == r.Text:
			cause = &t.fields[i]
		case slices.Contains(r.Names, f.JSON):
			needed = append(needed, f)
		}
	}
	return cause, needed
}

// counts reports whether a rule is about the number of properties.
func counts(r schema.Rule) bool {
	return r.Kind == schema.MinProperties || r.Kind == schema.MaxProperties
}

// beside says in words what is missing.
func beside(name, cause string) string {
	return fmt.Sprintf("must have %q beside %q", name, cause)
}

// clip bounds a message.
func clip(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

func oneOf(numbers []float64) string {
	var list []string
	for _, n := range numbers {
		list = append(list, strconv.FormatFloat(n, 'f', -1, 64))
	}
	return "must be one of " + strings.Join(list, ", ")
}
