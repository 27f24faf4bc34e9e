package schema

import (
	"fmt"
	"slices"
	"strings"
)

// union reads anyOf and oneOf: null and undefined become flags, one remaining
// member is that member, literals become an enum.
func (d *document) union(n *node, members []*node) *core {
	if len(members) == 0 {
		return d.bad(n, "the union is empty: no value is allowed", "name the types that are allowed")
	}
	var rest []*core
	var nullable, optional, refused bool
	var parts []*core
	for _, m := range members {
		c := d.peel(m)
		nullable, optional = nullable || c.nullable, optional || c.optional
		parts = append(parts, c)
		switch c.kind {
		case coreBad:
			refused = true
		case coreNull:
			nullable = true
		case coreUndefined:
			optional = true
		default:
			rest = append(rest, c)
		}
	}
	c := d.combine(n, rest)
	if refused {
		c = &core{node: n}
	} else if len(rest) == 0 && nullable {
		c, nullable = &core{kind: coreNull, node: n}, false
	} else if len(rest) == 0 {
		c, optional = &core{kind: coreUndefined, node: n}, false
	}
	c.nullable, c.optional, c.parts = c.nullable || nullable, c.optional || optional, parts
	return c
}

// combine makes one core of the members of a union that are neither null nor
// undefined.
func (d *document) combine(n *node, rest []*core) *core {
	only := func(kinds ...coreKind) bool {
		return !slices.ContainsFunc(rest, func(c *core) bool { return !slices.Contains(kinds, c.kind) })
	}
	c := &core{node: n}
	switch {
	case len(rest) == 0:
	case len(rest) == 1:
		return refer(rest[0])
	case only(coreEnum):
		c.kind = coreEnum
		seen := map[string]bool{}
		for _, m := range rest {
			if d.literalCount += len(m.literals); d.literalCount > maxLiterals {
				return d.bad(n, fmt.Sprintf("the schema has more than %d literals", maxLiterals), "use a string")
			}
			for _, l := range m.literals {
				if !seen[l.text] {
					seen[l.text] = true
					c.literals = append(c.literals, l)
				}
			}
		}
	case only(coreNumbers):
		c.kind = coreNumbers
		for _, m := range rest {
			if d.literalCount += len(m.numbers); d.literalCount > maxLiterals {
				return d.bad(n, fmt.Sprintf("the schema has more than %d literals", maxLiterals), "use a number")
			}
			c.numbers = append(c.numbers, m.numbers...)
		}
		slices.Sort(c.numbers)
		c.numbers = slices.Compact(c.numbers)
	case only(coreBool):
		c.kind = coreBool
	case only(coreString, coreEnum):
		c.kind = coreString
		c.warnings = append(c.warnings, d.problem(n, "literals beside any string: every string is allowed, the literals are not kept",
			`write {"type":"string"}, or the literals alone`))
	case only(coreObject, coreUnion):
		c.kind = coreUnion
		for _, m := range rest {
			if m.kind == coreObject {
				c.members = append(c.members, m)
			} else {
				c.members = append(c.members, m.members...)
			}
			if len(c.members) > maxMembers {
				return d.bad(n, fmt.Sprintf("a union of more than %d objects", maxMembers), "group them in objects with a union each")
			}
		}
	default:
		return d.bad(n, "a union of "+kindList(rest)+" has no binary form",
			"choose one type, or write an object with an optional field for each")
	}
	return c
}

const maxMembers = 255 // of a FlatBuffers union

func kindList(cores []*core) string {
	var names []string
	for _, c := range cores {
		if name := c.kind.String(); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 1 {
		return "several schemas of type " + names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
