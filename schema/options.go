package schema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ignex/nova/wire"
)

var (
	eventOptions = []string{"delivery", "key", "inbound", "retain", "internal", "compress"}
	fieldOptions = []string{"bigint", "secret", "type"}
	deliveries   = []string{"must", "drop", "latest"}
	scalarNames  = []string{"float32", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"}
	scalars      = map[string]wire.Kind{"float32": wire.Float32, "int8": wire.Int8, "int16": wire.Int16, "int32": wire.Int32, "int64": wire.Int64,
		"uint8": wire.Uint8, "uint16": wire.Uint16, "uint32": wire.Uint32, "uint64": wire.Uint64}
)

// checkKeywords refuses keywords that change the meaning, and typos.
func (d *document) checkKeywords(n *node, c *core) {
	for _, m := range n.members {
		k := m.key
		if strings.HasPrefix(k, "~") || n.get(k) != m.value { // TypeBox's own marks; a key that stands twice
			continue
		}
		switch keywords[k] {
		case useForeign:
			if k == "unevaluatedProperties" && m.value.kind == nodeBool {
				continue
			}
			if (k == "then" || k == "else") && n.get("if") != nil {
				continue // one error for the three
			}
			found := fmt.Sprintf("%q has no binary form", k)
			if k == "not" && c.kind == coreBad && m.value.kind == nodeObject && len(m.value.members) == 0 {
				found = `type "never" ({"not":{}}) allows no value`
			}
			c.problems = append(c.problems, d.problem(n, found, foreignAdvice(k)))
		case useConstraint:
			c.constraints = append(c.constraints, k+"="+canonical(m.value))
			c.rules = append(c.rules, rule{k, m.value})
			if want := constraintKind(k); want != m.value.kind && want != nodeNull {
				c.warnings = append(c.warnings, d.problem(n, fmt.Sprintf("%q is %s and is ignored", k, m.value.describe()), "write "+want.String()))
			}
		case useUnknown:
			d.unknownKeyword(n, k, c)
		}
	}
}

// unknownKeyword tells a typo, which changes the meaning, from a keyword of
// another tool, which does not.
func (d *document) unknownKeyword(n *node, k string, c *core) {
	typed := n.get("type") != nil
	if c.kind == coreBad && typed {
		return // the schema is refused as a whole
	}
	if near := nearest(k, meaningful); near != "" && len(k) > 2 {
		p := d.problem(n, "unknown keyword "+quote(k), "did you mean "+quote(near)+"?")
		if c.kind == coreBad {
			c.problems = nil // the typo is the cause of the rest
		}
		c.problems = append(c.problems, p)
	} else if c.kind != coreBad && !strings.HasPrefix(k, "x-") {
		c.warnings = append(c.warnings, d.problem(n, "unknown keyword "+quote(k)+" is ignored", "remove it, or name it "+quote("x-"+k)))
	}
}

// ownFlags applies nullable, bigint and x-nova of one node.
func (d *document) ownFlags(n *node, c *core) {
	if v := n.get("nullable"); v != nil {
		if v.kind != nodeBool {
			c.problems = append(c.problems, d.problem(n, "\"nullable\" is "+v.describe(), "write true or false"))
		}
		if c.kind != coreNull {
			c.nullable = c.nullable || v.yes
		}
	}
	if v := n.get("bigint"); v != nil {
		d.setBigint(n, v, c)
	}
	x := n.get("x-nova")
	if x == nil {
		return
	}
	if x.kind != nodeObject {
		c.problems = append(c.problems, d.problem(n, "\"x-nova\" is "+x.describe(), `write an object, for example {"delivery":"latest"}`))
		return
	}
	var own []option
	for _, m := range x.members {
		if x.get(m.key) != m.value {
			continue // reported by the parser
		}
		if p := d.checkOption(m); p != nil {
			c.problems = append(c.problems, *p)
			continue
		}
		switch m.key {
		case "bigint":
			d.setBigint(n, m.value, c)
		case "type":
			d.setScalar(m.value, c)
		}
		own = append(own, option{m.key, m.value})
	}
	c.options = append(own, c.options...)
}

func (d *document) setBigint(n, v *node, c *core) {
	switch {
	case v.kind != nodeBool:
		c.problems = append(c.problems, d.problem(n, "\"bigint\" is "+v.describe(), "write true or false"))
	case !v.yes || c.kind == coreBad:
	case c.kind != coreInteger:
		c.problems = append(c.problems, d.problem(n, "\"bigint\" on a schema of type "+c.kind.String(), `use it with "type": "integer"`))
	default:
		c.bigint = true
	}
}

// setScalar applies the "type" of x-nova.
func (d *document) setScalar(v *node, c *core) {
	kind := scalars[v.text]
	want, base := coreInteger, "integer"
	if kind == wire.Float32 {
		want, base = coreNumber, "number"
	}
	switch {
	case c.kind == coreBad:
	case c.kind != want || c.bigint && kind != wire.Int64 && kind != wire.Uint64:
		found := c.kind.String()
		if c.bigint {
			found = "bigint"
		}
		c.problems = append(c.problems, d.problem(v, fmt.Sprintf("the scalar %q on a schema of type %s", v.text, found), fmt.Sprintf("use it with \"type\": %q", base)))
	case kind == wire.Int64:
		c.bigint, c.scalar = true, 0
	default:
		c.scalar, c.bigint = kind, false
	}
}

// checkOption checks one entry of x-nova by itself; whether it stands in the
// right place is known to whoever uses the schema.
func (d *document) checkOption(m member) *Problem {
	v := m.value
	bad := func(found, fix string) *Problem {
		p := d.problem(v, found, fix)
		return &p
	}
	is := fmt.Sprintf("%q is %s", m.key, v.describe())
	switch m.key {
	case "delivery":
		if !slices.Contains(deliveries, v.text) || v.kind != nodeString {
			return bad(is, `write "must", "drop" or "latest"`)
		}
	case "key":
		if v.kind != nodeString || v.text == "" {
			return bad(is, "write the name of a top-level property")
		}
	case "retain":
		if v.kind != nodeBool && (v.kind != nodeString || v.text != "latest") {
			return bad(is, `write true, false or "latest"`)
		}
	case "inbound", "internal", "compress", "bigint", "secret":
		if v.kind != nodeBool {
			return bad(is, "write true or false")
		}
	case "type":
		if v.kind != nodeString || scalars[v.text] == 0 {
			return bad(is, "known are "+strings.Join(scalarNames, ", "))
		}
	default:
		return bad("unknown option "+quote(m.key), didYouMean(m.key, append(slices.Clone(eventOptions), fieldOptions...)))
	}
	return nil
}

// constraintKind returns the JSON type a constraint must have; nodeNull = any.
func constraintKind(k string) nodeKind {
	switch k {
	case "format", "pattern":
		return nodeString
	case "uniqueItems":
		return nodeBool
	case "contains", "propertyNames":
		return nodeNull
	case "dependentRequired":
		return nodeObject
	case "exclusiveMinimum", "exclusiveMaximum": // a boolean in JSON Schema draft 4
		return nodeNull
	}
	return nodeNumber
}
