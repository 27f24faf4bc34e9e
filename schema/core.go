package schema

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ignex/nova/wire"
)

// A schema can be written in many ways; a core is what one comes down to when
// references, unions and intersections of one member, null and undefined are
// peeled off. Peeling is pure: what is wrong stands in the core and is reported
// when the schema turns out to be used, so that an unused definition costs a
// warning only.
type core struct {
	kind     coreKind
	node     *node // the schema that decides: the object, the array, the union of literals
	nullable bool
	optional bool // a union with undefined
	bigint   bool
	scalar   wire.Kind // of x-nova "type", 0 = none
	items    *node     // coreArray, coreMap: the schema of what it holds
	members  []*core   // coreUnion: objects
	merged   *merge    // coreObject made by allOf
	literals []literal // coreEnum, without duplicates
	numbers  []float64 // coreNumbers, without duplicates

	name    string // $defs key, else $id, nearest to the object; "" = from the path
	fromDef bool   // name is a $defs key
	options []option

	constraints []string // canonical "keyword=value"
	rules       []rule   // the same, to be checked by Validate
	problems    []Problem
	warnings    []Problem
	inner       *core   // the core it was made from by refer
	parts       []*core // what it was made of; their problems count too
	reported    bool
	form        int // see forms.go; 0 = not computed
}

type coreKind uint8

const (
	coreBad coreKind = iota // problems say why
	coreNull
	coreUndefined
	coreString
	coreNumber
	coreInteger
	coreBool
	coreBytes
	coreEnum    // string literals
	coreNumbers // number literals
	coreObject
	coreArray
	coreMap
	coreUnion // of objects
)

func (k coreKind) String() string {
	return [...]string{"unknown", "null", "undefined", "string", "number", "integer", "boolean", "bytes",
		"string literals", "number literals", "object", "array", "map", "union of objects"}[k]
}

// rule is one constraint of a schema.
type rule struct {
	key   string
	value *node
}

type literal struct {
	text string
	at   *node
}

// option is one entry of "x-nova".
type option struct {
	key   string
	value *node
}

// option returns the outermost entry of that key, or nil.
func (c *core) option(key string) *node {
	for _, o := range c.options {
		if o.key == key {
			return o.value
		}
	}
	return nil
}

// maxPointers bounds the bytes of all JSON pointers of one document: a hostile
// one can hold many nodes below many levels. Later places have none.
const maxPointers = 16 << 20

func (d *document) pos(n *node) Pos {
	p := Pos{File: d.file, Line: n.line, Column: n.col}
	if d.pointers < maxPointers {
		p.Pointer = n.pointer()
		d.pointers += len(p.Pointer)
	}
	if d.places != nil {
		p.File = d.placeOf(n).File
	}
	return p
}

func (d *document) problem(n *node, found, fix string) Problem {
	return Problem{Pos: d.pos(n), Found: found, Fix: fix}
}

// bad is the core of a schema that is refused.
func (d *document) bad(n *node, found, fix string) *core {
	return &core{node: n, problems: []Problem{d.problem(n, found, fix)}}
}

// refer returns a core that is inner seen from another node.
func refer(inner *core) *core {
	c := *inner
	c.problems, c.warnings, c.reported, c.form = nil, nil, false, 0
	c.options, c.constraints, c.rules = slices.Clone(c.options), slices.Clone(c.constraints), slices.Clone(c.rules)
	c.parts, c.inner = []*core{inner}, inner
	return &c
}

const maxChain = 1000 // references and unions between a field and its type

// peel returns the core of a schema; always the same one for the same node.
func (d *document) peel(n *node) *core {
	c, seen := d.cores[n]
	switch {
	case c != nil:
		return c
	case seen:
		return d.bad(n, "the reference leads back to itself without an object between", "name the schema it should stand for")
	case d.chain > maxChain:
		return d.bad(n, fmt.Sprintf("more than %d references in a row", maxChain), "refer to the type directly")
	}
	d.cores[n] = nil
	d.chain++
	c = d.look(n)
	d.chain--
	d.cores[n] = c
	return c
}

func (d *document) look(n *node) *core {
	switch {
	case n.kind == nodeBool && n.yes:
		return d.bad(n, `type "any" (the schema true) has no binary form`, adviceAny)
	case n.kind == nodeBool:
		return d.bad(n, "the schema false allows no value", "remove the property")
	case n.kind != nodeObject:
		return d.bad(n, n.describe()+" where a schema should stand", `write an object, for example {"type":"string"}`)
	}
	c := d.shape(n)
	d.checkKeywords(n, c)
	d.ownFlags(n, c)
	if c.name == "" {
		if n.def != "" {
			c.name, c.fromDef = n.def, true
		} else if id := n.str("$id"); id != "" && !isCounter(id) {
			c.name = id
		}
	}
	return c
}

// isCounter recognises the names that TypeBox 0.34 gives to anonymous
// recursive types: T0, T1 … count over the whole process and so change when
// unrelated code runs first.
func isCounter(id string) bool {
	return len(id) > 1 && id[0] == 'T' && strings.Trim(id[1:], "0123456789") == ""
}

// heads are the keywords that say alone what a schema is.
var heads = []string{"$ref", "anyOf", "oneOf", "allOf", "const", "enum"}

func (d *document) shape(n *node) *core {
	var found []string
	for _, h := range heads {
		if n.get(h) != nil {
			found = append(found, h)
		}
	}
	if len(found) == 0 {
		return d.typed(n)
	}
	if len(found) > 1 {
		return d.bad(n, fmt.Sprintf("%q beside %q", found[1], found[0]), "keep one of the two")
	}
	head := found[0]
	value := n.get(head)
	var c *core
	switch head {
	case "$ref":
		c = d.ref(n, value)
	case "anyOf", "oneOf", "allOf":
		if value.kind != nodeArray {
			return d.bad(n, fmt.Sprintf("%q is %s", head, value.describe()), "write a list of schemas")
		}
		if head == "allOf" {
			c = d.allOf(n, value.items)
		} else {
			c = d.union(n, value.items)
		}
	case "const":
		c = d.literals(n, []*node{value})
	case "enum":
		if value.kind != nodeArray {
			return d.bad(n, "\"enum\" is "+value.describe(), "write a list of values")
		}
		c = d.literals(n, value.items)
	}
	for _, key := range []string{"properties", "required", "patternProperties", "items", "prefixItems"} {
		if n.get(key) != nil && c.kind != coreBad && (head != "allOf" || key != "properties" && key != "required") {
			c.problems = append(c.problems, d.problem(n, fmt.Sprintf("%q beside %q", key, head),
				"keep one of the two: nova does not merge them"))
		}
	}
	d.agree(n, c)
	return c
}

// agree checks a "type" that stands beside another head.
func (d *document) agree(n *node, c *core) {
	t := n.get("type")
	if t == nil || c.kind == coreBad {
		return
	}
	names := []*node{t}
	if t.kind == nodeArray {
		names = t.items
	}
	ok := false
	for _, name := range names {
		switch name.text {
		case "null":
			ok = ok || c.kind == coreNull
			c.nullable = c.nullable || c.kind != coreNull
		case "string":
			ok = ok || c.kind == coreString || c.kind == coreEnum || c.kind == coreBytes
		case "number":
			ok = ok || c.kind == coreNumber || c.kind == coreNumbers || c.kind == coreInteger
		case "integer":
			ok = ok || c.kind == coreInteger || c.kind == coreNumbers && allIntegers(c.numbers)
		case "bigint":
			ok = ok || c.kind == coreInteger && c.bigint
		case "boolean":
			ok = ok || c.kind == coreBool
		case "Uint8Array":
			ok = ok || c.kind == coreBytes
		case "object":
			ok = ok || c.kind == coreObject || c.kind == coreMap || c.kind == coreUnion
		default:
			ok = ok || name.text == c.kind.String()
		}
	}
	if !ok {
		c.problems = append(c.problems, d.problem(n, fmt.Sprintf("\"type\" is %s but the values are of type %s", typeText(t), c.kind), "correct one of the two"))
	}
}

func typeText(t *node) string {
	if t.kind != nodeArray {
		return t.describe()
	}
	var names []string
	for _, item := range t.items {
		names = append(names, item.describe())
	}
	return "[" + clip(strings.Join(names, ",")) + "]"
}

// literals reads const and enum.
func (d *document) literals(n *node, values []*node) *core {
	c := &core{node: n}
	if d.literalCount += len(values); d.literalCount > maxLiterals {
		return d.bad(n, fmt.Sprintf("the schema has more than %d literals", maxLiterals), "use a string")
	}
	kinds := map[nodeKind]bool{}
	strs, nums := map[string]bool{}, map[float64]bool{}
	for _, v := range values {
		switch v.kind {
		case nodeNull:
			c.nullable = true
			continue
		case nodeString:
			if !strs[v.text] {
				strs[v.text] = true
				c.literals = append(c.literals, literal{v.text, v})
			}
			c.problems = append(c.problems, d.checkLiteral(v)...)
		case nodeNumber:
			f, p := d.number(v)
			c.problems = append(c.problems, p...)
			if !nums[f] {
				nums[f] = true
				c.numbers = append(c.numbers, f)
			}
		}
		kinds[v.kind] = true
	}
	switch {
	case len(values) == 0:
		return d.bad(n, "\"enum\" is empty: no value is allowed", "name the values that are allowed")
	case len(kinds) == 0:
		c.kind, c.nullable = coreNull, false
	case len(kinds) > 1:
		return d.bad(n, "\"enum\" mixes values of several types, which has no binary form", "write strings only, or numbers only")
	case kinds[nodeString]:
		c.kind = coreEnum
	case kinds[nodeNumber]:
		c.kind = coreNumbers
	case kinds[nodeBool]:
		c.kind = coreBool
		if yes := values[0].yes; !slices.ContainsFunc(values, func(v *node) bool { return v.kind == nodeBool && v.yes != yes }) {
			c.constraints = append(c.constraints, "const="+strconv.FormatBool(yes))
		}
	default:
		return d.bad(n, "a constant object or list has no binary form", "write its type: an object with properties, or an array")
	}
	return c
}

func (d *document) checkLiteral(v *node) []Problem {
	switch {
	case v.broken:
		return []Problem{d.problem(v, "the literal holds half of a surrogate pair, which UTF-8 cannot carry", "write whole characters")}
	case isUnknownForm(v.text):
		return []Problem{d.problem(v, fmt.Sprintf("the literal %s is reserved for values of newer schemas", quote(v.text)), "choose another spelling")}
	}
	return nil
}

// isUnknownForm recognises unknown:7, which readers show for a number that
// their schema does not name.
func isUnknownForm(s string) bool {
	rest, ok := strings.CutPrefix(s, "unknown:")
	_, err := strconv.ParseInt(rest, 10, 64)
	return ok && err == nil
}

// maxLiterals bounds the work that unions of references to long enums make.
const maxLiterals = 1 << 18

const maxSafe = wire.MaxSafe // the integers that a double holds exactly

func (d *document) number(v *node) (float64, []Problem) {
	f, err := strconv.ParseFloat(v.text, 64)
	if err != nil {
		return 0, []Problem{d.problem(v, clip(v.text)+" does not fit a double", "write a smaller number")}
	}
	if f == 0 {
		f = 0 // −0 and 0 are one value
	}
	if f > maxSafe || f < -maxSafe {
		return f, []Problem{d.problem(v, clip(v.text)+" is beyond ±(2^53−1)", "write string literals")}
	}
	return f, nil
}

func allIntegers(numbers []float64) bool {
	return !slices.ContainsFunc(numbers, func(f float64) bool {
		return f > maxSafe || f < -maxSafe || f != float64(int64(f))
	})
}
