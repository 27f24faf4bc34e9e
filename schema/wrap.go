package schema

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/ignex/nova/wire"
)

// wrap is what a table of nova's own stands for, so that one type has one.
type wrap struct {
	shape    Shape
	node     *node // the array, map, union or root that it wraps
	presence wire.Presence
}

// wrapper returns the table of nova's own that stands for node, filling a new one.
func (r *reader) wrapper(w wrap, c *core, name string, fill func(t *Table)) *Table {
	if t, ok := r.wraps[w]; ok {
		return t
	}
	owner := r.byName[name]
	switch {
	case owner != nil && owner.table != nil && owner.table.Shape == w.shape && owner.form == r.form(c) && r.required[owner.table] > 0 && w.presence == owner.presence:
		r.wraps[w] = owner.table
		return owner.table
	case owner != nil:
		if r.clash(owner.pos, r.pos(c.node)) {
			r.fail(c.node, fmt.Sprintf("the type name %s, which nova needs here, is taken by another schema at line %d (%s)", name, owner.pos.Line, clip(owner.pos.Pointer)),
				"rename one of the two")
		}
		return nil
	case r.open >= maxOpen:
		r.fail(c.node, fmt.Sprintf("more than %d objects, each inside the one before", maxOpen), "flatten them")
		return nil
	}
	t := &Table{Name: name, Shape: w.shape, Pos: r.pos(c.node)}
	r.byName[name] = &named{form: r.form(c), kind: coreBad, presence: w.presence, pos: t.Pos, table: t}
	r.wraps[w] = t
	r.model.Tables = append(r.model.Tables, t)
	r.open++
	fill(t)
	r.open--
	r.measure(t, c.node)
	return t
}

// enter begins an array or map; one that holds itself with no object between has
// no type in Go.
func (r *reader) enter(c *core, at *node) bool {
	if slices.Contains(r.lists, c.items) {
		r.fail(at, "an array or map that holds itself has no type in Go", "put an object between: an array of objects with one array property")
		return false
	}
	r.lists = append(r.lists, c.items)
	return true
}

func (r *reader) leave() { r.lists = r.lists[:len(r.lists)-1] }

// row is the table of an array, a map or bytes inside the array that outer is.
func (r *reader) row(c, outer *core, path, property string) *Table {
	name := path + "Row"
	if c.kind != coreBytes && c.name != "" {
		name = typeName(c.name) + "Row"
	}
	return r.wrapper(wrap{Row, outer.items, 0}, c, name, func(t *Table) {
		f := &Field{JSON: "items", GoName: "Items", WireName: "items", Pos: r.pos(c.node)}
		inner := path
		if c.kind == coreArray {
			if ic := r.peel(c.items); ic.kind == coreArray || ic.kind == coreBytes {
				inner = name
			}
		}
		r.typed(f, c, inner, property, outer.items)
		t.add(f)
	})
}

// mapField reads a map: a vector of entries.
func (r *reader) mapField(f *Field, c *core, path, property string, at *node) {
	c, path = r.list(c, path, property)
	ic, ok := r.element(c, "map", "write a map of objects with a nullable property")
	if !ok || !r.enter(c, at) {
		return
	}
	defer r.leave()
	f.Kind, f.Vector, f.Map = wire.Struct, true, true
	f.Table = r.wrapper(wrap{Entry, c.items, 0}, c, path+"Entry", func(t *Table) {
		t.add(&Field{JSON: "key", GoName: "Key", WireName: "key", Kind: wire.String, Pos: r.pos(c.node)})
		value := &Field{JSON: "value", GoName: "Value", WireName: "value", Pos: r.pos(c.items)}
		r.typed(value, ic, path+"Value", property, c.items)
		r.fieldOptions(value, ic)
		t.add(value)
	})
}

// unionField reads a union of objects: a union of FlatBuffers, in a table of its
// own where it is an element or can be null.
func (r *reader) unionField(f *Field, c *core, path, property string, at *node) {
	c = r.match(c, path, property)
	r.report(c)
	if c.name != "" {
		path = typeName(c.name)
	}
	if f.Vector || f.Presence == wire.Nullable || f.Presence == wire.OptionalNullable {
		f.Kind, f.Table = wire.Struct, r.unionBox(c, path, property, at)
		return
	}
	f.Kind, f.Union = wire.Union, r.union(c, path, property, at)
}

func (r *reader) unionBox(c *core, path, property string, at *node) *Table {
	return r.wrapper(wrap{Box, c.node, 0}, c, path+"Box", func(t *Table) {
		f := &Field{JSON: "value", GoName: "Value", WireName: "value", Pos: r.pos(at), Kind: wire.Union}
		if f.Union = r.union(c, path, property, at); f.Union != nil {
			t.add(f)
		}
	})
}

// union returns the union of objects c, named by path when nothing else names it.
func (r *reader) union(c *core, path, property string, at *node) *Union {
	if u, ok := r.unions[c.node]; ok {
		return u
	}
	lists := r.lists // an object stands between
	r.lists = nil
	defer func() { r.lists = lists }()
	owner, fresh := r.claim(path, c, c.name != "")
	if !fresh {
		r.unions[c.node] = owner.union
		return owner.union
	}
	tag := r.tagOf(c, at)
	u := &Union{Name: path, Doc: docOf(c.node), Pos: r.pos(c.node), Tag: tag.name}
	owner.union, r.unions[c.node] = u, u
	if tag.name == "" {
		return u
	}
	r.model.Unions = append(r.model.Unions, u)
	for i, m := range tag.members {
		text := tag.values[i]
		if unquoted, err := strconv.Unquote(text); err == nil {
			text = unquoted
		}
		if t := r.table(m, path+goName(text), "", m.node); t != nil {
			u.Members = append(u.Members, UnionMember{Number: i + 1, Value: Const{tag.name, tag.values[i]}, Table: t})
		}
	}
	return u
}

// tag is the property that tells the members of a union apart.
type tag struct {
	name    string
	members []*core
	values  []string // JSON text, of each member
}

// tagOf finds the property: required in every member, constant, and different
// in each. What "discriminator" names comes first, then the order of properties
// in the first member.
func (r *reader) tagOf(c *core, at *node) tag {
	var members []*core
	for _, m := range c.members {
		r.report(m)
		if !slices.ContainsFunc(members, func(o *core) bool { return o.node == m.node }) {
			members = append(members, m)
		}
	}
	var names []string
	if d := c.node.get("discriminator").str2("propertyName"); d != "" {
		names = append(names, d)
	}
	for _, m := range members[0].node.get("properties").members {
		names = append(names, m.key)
	}
	for _, name := range names {
		if values := r.tagValues(members, name); values != nil {
			return tag{name, members, values}
		}
	}
	r.notApart(members, names, at)
	return tag{}
}

// str2 is str of an object that may be missing.
func (n *node) str2(key string) string {
	if n == nil {
		return ""
	}
	return n.str(key)
}

// tagValues returns the constant of each member, nil when they do not differ.
func (r *reader) tagValues(members []*core, name string) []string {
	seen := map[string]bool{}
	var values []string
	for _, m := range members {
		v := r.constantOf(m, name)
		if v == "" || seen[v] {
			return nil
		}
		seen[v] = true
		values = append(values, v)
	}
	return values
}

// constantOf returns the JSON text of a required property with one value.
func (r *reader) constantOf(m *core, name string) string {
	value := m.node.get("properties").get(name)
	if value == nil {
		return ""
	}
	list := m.node.get("required")
	if list == nil || !slices.ContainsFunc(list.items, func(item *node) bool { return item.text == name }) {
		return ""
	}
	c := r.peel(value)
	if c.nullable || c.optional {
		return ""
	}
	return c.constant()
}

// constant returns the JSON text of the one value that a core allows, "" when
// there are several.
func (c *core) constant() string {
	switch {
	case c.kind == coreEnum && len(c.literals) == 1:
		return jsonText(c.literals[0].text)
	case c.kind == coreNumbers && len(c.numbers) == 1:
		return strconv.FormatFloat(c.numbers[0], 'f', -1, 64)
	case c.kind == coreBool && slices.Contains(c.constraints, "const=true"):
		return "true"
	case c.kind == coreBool && slices.Contains(c.constraints, "const=false"):
		return "false"
	}
	return ""
}

// notApart names two members that cannot be told apart, and why.
func (r *reader) notApart(members []*core, names []string, at *node) {
	const fix = `give every member a required property of one name with a constant of its own, for example "kind": {"const": "circle"}`
	first, second, why := members[0], members[1%len(members)], "have no constant property in common"
	for _, name := range names {
		seen := map[string]*core{}
		for i, m := range members {
			v := r.constantOf(m, name)
			switch {
			case v == "" && i > 0 && len(seen) == i:
				first, second, why = members[0], m, fmt.Sprintf("cannot be told apart by %s, which is no required constant in both", quote(name))
			case v != "" && seen[v] != nil:
				first, second, why = seen[v], m, fmt.Sprintf("have the same %s, %s", quote(name), v)
			}
			if v == "" {
				break
			}
			seen[v] = m
		}
	}
	describe := func(c *core) string {
		if c.name != "" {
			return fmt.Sprintf("%s (line %d)", c.name, c.node.line)
		}
		return fmt.Sprintf("at line %d (%s)", c.node.line, clip(c.node.pointer()))
	}
	r.fail(at, fmt.Sprintf("the members %s and %s of the union %s", describe(first), describe(second), why), fix)
}
