package schema

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
)

// RuleKind is the keyword of a rule.
type RuleKind uint8

// The constraints that Validate checks.
const (
	Minimum RuleKind = iota
	Maximum
	ExclusiveMinimum
	ExclusiveMaximum
	MultipleOf
	MinLength // in code points, of bytes in bytes
	MaxLength
	Pattern
	Format
	MinItems
	MaxItems
	UniqueItems
	MinProperties
	MaxProperties
	KeyPattern        // of the keys of a map
	Keys              // Match: of the keys of a map
	Contains          // Match: of some elements of an array
	DependentRequired // Names: needed where Text is
)

// String returns the keyword.
func (k RuleKind) String() string {
	return [...]string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern",
		"format", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "a pattern of keys", "propertyNames", "contains",
		"dependentRequired"}[k]
}

// Rule is one constraint.
type Rule struct {
	Kind   RuleKind
	Number *big.Rat // bounds, lengths and counts; exact
	Text   string   // a pattern of ECMAScript, the name of a format or a property
	RE2    string   // the same pattern in the syntax of Go
	Names  []string // of properties

	Match       *Match
	Least, Most int // how many match; Most < 0 = any number
}

// Formats are the values of "format" that Validate checks. Others are
// documentation.
var Formats = []string{"date-time", "date", "time", "email", "uuid", "uri", "ipv4", "ipv6"}

var numberRules = map[string]RuleKind{"minimum": Minimum, "maximum": Maximum, "exclusiveMinimum": ExclusiveMinimum,
	"exclusiveMaximum": ExclusiveMaximum, "multipleOf": MultipleOf, "minLength": MinLength, "maxLength": MaxLength, "minItems": MinItems,
	"maxItems": MaxItems, "minProperties": MinProperties, "maxProperties": MaxProperties, "minByteLength": MinLength, "maxByteLength": MaxLength}

// ruleKinds says which rules a type can break; on others they mean nothing.
func ruleKinds(c *core) []RuleKind {
	switch c.kind {
	case coreString:
		return []RuleKind{MinLength, MaxLength, Pattern, Format}
	case coreBytes:
		return []RuleKind{MinLength, MaxLength}
	case coreNumber, coreInteger, coreNumbers:
		return []RuleKind{Minimum, Maximum, ExclusiveMinimum, ExclusiveMaximum, MultipleOf}
	case coreArray:
		return []RuleKind{MinItems, MaxItems, UniqueItems, Contains}
	case coreMap:
		return []RuleKind{MinProperties, MaxProperties, KeyPattern, Keys, DependentRequired}
	case coreObject:
		return []RuleKind{MinProperties, MaxProperties, DependentRequired}
	}
	return nil
}

// ofObjects are the constraints of objects as a whole.
var ofObjects = []string{"minProperties", "maxProperties", "propertyNames", "dependentRequired"}

// outside reports constraints of an object that stand beside a reference to it, or
// in a union of it with null: its table has those that all uses share.
func (r *reader) outside(c *core) {
	object := c
	for object.inner != nil {
		object = object.inner
	}
	for _, x := range c.rules[len(object.rules):] {
		if slices.Contains(ofObjects, x.key) {
			r.once(x.value, fmt.Sprintf("%q stands outside of the object that it is about", x.key), "write it in the object itself")
		}
	}
}

// rules returns the constraints of a core that its type can break.
func (r *reader) rules(c *core) []Rule {
	var out []Rule
	kinds := ruleKinds(c)
	for _, x := range c.rules {
		if c.kind == coreUnion && slices.Contains(ofObjects, x.key) {
			r.once(x.value, fmt.Sprintf("%q beside a union of objects", x.key), "write it in each of the members")
		}
		if x.key == "dependentRequired" {
			out = append(out, r.dependentRequired(c, x)...)
			continue
		}
		rule, ok := r.rule(c, x)
		if ok && slices.Contains(kinds, rule.Kind) {
			out = append(out, rule)
		}
	}
	return out
}

func (r *reader) rule(c *core, x rule) (Rule, bool) {
	switch x.key {
	case "pattern":
		if x.value.kind != nodeString || c.kind != coreString {
			return Rule{}, false
		}
		return r.pattern(Pattern, x.value)
	case "keyPattern":
		return r.pattern(KeyPattern, x.value)
	case "propertyNames":
		return r.propertyNames(c, x)
	case "format":
		return Rule{Kind: Format, Text: x.value.text}, slices.Contains(Formats, x.value.text)
	case "uniqueItems":
		return Rule{Kind: UniqueItems}, x.value.kind == nodeBool && x.value.yes
	case "contains":
		return r.contains(c, x)
	case "minContains", "maxContains":
		if c.kind == coreArray && x.value.parent.get("contains") == nil && !r.ruled[x.value] {
			r.ruled[x.value] = true
			r.warn(x.value, fmt.Sprintf("%q without \"contains\" means nothing", x.key), "add what is counted, or remove it")
		}
		return Rule{}, false
	}
	return r.numberRule(c, x)
}

func (r *reader) numberRule(c *core, x rule) (Rule, bool) {
	kind, known := numberRules[x.key]
	inBytes := strings.HasSuffix(x.key, "ByteLength")
	if !known || (kind == MinLength || kind == MaxLength) && inBytes != (c.kind == coreBytes) {
		return Rule{}, false
	}
	value := x.value
	if value.kind == nodeBool && value.yes { // JSON Schema draft 4: true beside the bound
		for _, other := range c.rules {
			if other.key == map[RuleKind]string{ExclusiveMinimum: "minimum", ExclusiveMaximum: "maximum"}[kind] {
				value = other.value
			}
		}
	}
	if value.kind != nodeNumber {
		return Rule{}, false
	}
	n, ok := exactNumber(value.text)
	switch {
	case !ok:
		r.once(value, fmt.Sprintf("%q is %s, which does not fit a double", x.key, clip(value.text)), "write a smaller number")
		return Rule{}, false
	case kind == MultipleOf && n.Sign() <= 0:
		r.once(value, "\"multipleOf\" is "+clip(value.text), "write a number above 0")
		return Rule{}, false
	}
	return Rule{Kind: kind, Number: n}, true
}

// exactNumber reads a number without rounding; hostile exponents are refused.
func exactNumber(text string) (*big.Rat, bool) {
	f, _, err := big.ParseFloat(text, 10, 64, big.ToNearestEven)
	if err != nil || len(text) > 400 || f.Sign() != 0 && (f.MantExp(nil) > 1024 || f.MantExp(nil) < -1074) {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}

func (r *reader) pattern(kind RuleKind, value *node) (Rule, bool) {
	re2, ecma, err := translatePattern(value.text)
	if err != nil {
		r.once(value, fmt.Sprintf("the pattern %s %v", quote(value.text), err), "write it without, or check the value in your own code")
		return Rule{}, false
	}
	return Rule{Kind: kind, Text: ecma, RE2: re2}, true
}

// once reports a problem of a rule that several places share.
func (r *reader) once(at *node, found, fix string) {
	if !r.ruled[at] {
		r.ruled[at] = true
		r.fail(at, found, fix)
	}
}
