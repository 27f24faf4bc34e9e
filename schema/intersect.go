package schema

import (
	"fmt"
	"slices"
)

// merge remembers what allOf put together, for the reader to compare: a property
// that stands in several members must be the same in all of them.
type merge struct {
	twice []twice
}

type twice struct{ first, second *node }

// allOf reads an intersection: one member is that member, objects merge into
// one object, other schemas of one type are that type under all constraints.
func (d *document) allOf(n *node, members []*node) *core {
	var parts []*core
	if own := n.get("properties"); own != nil || n.get("required") != nil {
		parts = append(parts, d.ownObject(n, own))
	}
	for _, m := range members {
		parts = append(parts, d.peel(m))
	}
	switch len(parts) {
	case 0:
		return d.bad(n, "\"allOf\" is empty", adviceAny)
	case 1:
		return refer(parts[0])
	}
	for _, c := range parts {
		if c.kind == coreBad {
			return &core{node: n, parts: parts}
		}
	}
	c := d.intersect(n, parts)
	c.parts = append(c.parts, parts...)
	return c
}

// ownObject is the object that stands beside "allOf".
func (d *document) ownObject(n, props *node) *core {
	if props != nil && props.kind != nodeObject {
		return d.bad(n, "\"properties\" is "+props.describe(), "write an object of schemas")
	}
	own := &node{kind: nodeObject, parent: n.parent, key: n.key, index: n.index, line: n.line, col: n.col}
	for _, key := range []string{"properties", "required", "additionalProperties"} {
		if v := n.get(key); v != nil {
			own.members = append(own.members, member{key: key, value: v, line: v.line, col: v.col})
		}
	}
	if props == nil {
		own.members = append(own.members, member{key: "properties", value: &node{kind: nodeObject, parent: own, key: "properties"}})
	}
	return &core{kind: coreObject, node: own}
}

func (d *document) intersect(n *node, parts []*core) *core {
	first := parts[0]
	for _, c := range parts[1:] {
		if c.kind == coreUnion && first.kind == coreObject || c.kind == coreObject && first.kind == coreUnion {
			return d.bad(n, "an intersection (allOf) of an object and a union of objects has no binary form",
				"write the properties into each member of the union, or give the union a property of its own")
		}
		if c.kind != first.kind || c.scalar != first.scalar || c.bigint != first.bigint {
			return d.bad(n, fmt.Sprintf("an intersection (allOf) of %s and %s allows no value", first.kind, c.kind), "write the one type that is meant")
		}
	}
	switch first.kind {
	case coreObject:
		return d.mergeObjects(n, parts)
	case coreString, coreNumber, coreInteger, coreBool, coreBytes:
		c := refer(first)
		for _, p := range parts[1:] {
			c.constraints = append(c.constraints, p.constraints...)
			c.rules = append(c.rules, p.rules...)
			c.nullable, c.optional = c.nullable && p.nullable, c.optional && p.optional
		}
		c.inner = nil
		return c
	}
	return d.bad(n, fmt.Sprintf("an intersection (allOf) of several schemas of type %s has no binary form", first.kind), "write the one schema that is meant")
}

// mergeObjects puts the properties of all objects into one, in their order.
func (d *document) mergeObjects(n *node, parts []*core) *core {
	whole := &node{kind: nodeObject, parent: n.parent, key: n.key, index: n.index, line: n.line, col: n.col, def: n.def, entry: n.entry}
	props := &node{kind: nodeObject, parent: whole, key: "properties", line: n.line, col: n.col}
	required := &node{kind: nodeArray, parent: whole, key: "required", line: n.line, col: n.col}
	c := &core{kind: coreObject, node: whole, merged: &merge{}}
	open := true
	nullable := true
	for _, p := range parts {
		nullable = nullable && p.nullable
		c.constraints, c.rules = append(c.constraints, p.constraints...), append(c.rules, p.rules...)
		if p.merged != nil {
			c.merged.twice = append(c.merged.twice, p.merged.twice...)
		}
		for _, m := range p.node.get("properties").members {
			if old := props.get(m.key); old != nil {
				c.merged.twice = append(c.merged.twice, twice{old, m.value})
				continue
			}
			props.members, props.byKey = append(props.members, m), nil
		}
		if list := p.node.get("required"); list != nil {
			required.items = append(required.items, list.items...)
		}
		more := p.node.get("additionalProperties")
		open = open && more != nil && more.allows()
	}
	c.nullable = nullable
	whole.members = []member{{key: "properties", value: props}}
	if len(required.items) > 0 {
		whole.members = append(whole.members, member{key: "required", value: required})
	}
	if open {
		whole.members = append(whole.members, member{key: "additionalProperties", value: &node{kind: nodeBool, yes: true, parent: whole, key: "additionalProperties"}})
	}
	for _, key := range []string{"title", "description"} {
		if v := n.get(key); v != nil {
			whole.members = append(whole.members, member{key: key, value: v})
		}
	}
	return c
}

// checkMerge reports properties that allOf found with two types.
func (r *reader) checkMerge(c *core) {
	if c.merged == nil || slices.Contains(r.merges, c.merged) {
		return
	}
	r.merges = append(r.merges, c.merged)
	for _, t := range c.merged.twice {
		if r.childForm(r.peel(t.first)) != r.childForm(r.peel(t.second)) {
			r.fail(t.second, fmt.Sprintf("the intersection (allOf) has the property %s with two types, the other at line %d (%s)",
				quote(t.second.key), t.first.line, clip(t.first.pointer())), "write the property in one of the members, with the type that is meant")
		}
	}
}
