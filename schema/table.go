package schema

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ignex/nova/wire"
)

const (
	maxTables   = wire.MaxDepth // on one path, the root included
	maxOpen     = 20_000        // tables being read, each inside the one before
	maxRequired = 4096          // tables in every value of one table
)

// claim gives a table or enum its name. It returns the earlier owner when that
// is the same named schema, and reports a clash with any other.
func (r *reader) claim(name string, c *core, given bool) (*named, bool) {
	form := r.form(c)
	old := r.byName[name]
	if old == nil {
		old = &named{form: form, kind: c.kind, pos: r.pos(c.node), given: given}
		r.byName[name] = old
		return old, true
	}
	same := given && old.given && old.form == form && old.kind == c.kind
	if !same && r.clash(old.pos, r.pos(c.node)) {
		fix := "name one of the two under \"$defs\""
		if given && old.given {
			fix = "rename one of the two"
		}
		r.fail(c.node, fmt.Sprintf("the type name %s is taken by another schema at line %d (%s)", name, old.pos.Line, clip(old.pos.Pointer)), fix)
	}
	return old, false
}

// clash tells whether two places that want one name are to be reported: once,
// however many names they share.
func (r *reader) clash(a, b Pos) bool {
	pair := [2]Pos{a, b}
	if r.clashes[pair] {
		return false
	}
	r.clashes[pair] = true
	return true
}

// table returns the table of an object, reading it when it is new. at is where
// it is used. The result is nil when a problem was reported.
func (r *reader) table(c *core, path, property string, at *node) *Table {
	r.outside(c)
	c = r.match(c, path, property)
	r.report(c)
	if t, ok := r.tables[c.node]; ok {
		return t
	}
	if r.open >= maxOpen {
		r.fail(at, fmt.Sprintf("more than %d objects, each inside the one before", maxOpen), "flatten them")
		return nil
	}
	name := path
	if c.name != "" {
		name = typeName(c.name)
	}
	owner, fresh := r.claim(name, c, c.name != "")
	if !fresh {
		r.tables[c.node] = owner.table
		return owner.table
	}
	t := &Table{Name: name, Doc: docOf(c.node), Pos: r.pos(c.node)}
	owner.table, r.tables[c.node] = t, t
	r.model.Tables = append(r.model.Tables, t)
	r.checkMerge(c)
	lists := r.lists // an object stands between them and what comes
	r.lists = nil
	r.open++
	t.Rules = r.rules(c)
	r.fields(t, c.node)
	r.open--
	r.lists = lists
	r.measure(t, at)
	return t
}

func (r *reader) fields(t *Table, n *node) {
	props := n.get("properties")
	if more := n.get("additionalProperties"); more != nil {
		t.AllowUnknown = more.allows()
	}
	required := r.requiredNames(n, props)
	wires, gos := map[string]*Field{}, map[string]*Field{}
	seen := map[string]bool{}
	for _, m := range props.members {
		if seen[m.key] {
			continue // reported by the parser
		}
		seen[m.key] = true
		f := &Field{JSON: m.key, GoName: fieldGoName(m.key), WireName: wireName(m.key), Pos: r.pos(m.value)}
		switch {
		case m.key == "":
			r.fail(m.value, "the property has no name", "give it one")
			continue
		case m.broken:
			r.fail(m.value, "the name of the property holds half of a surrogate pair, which UTF-8 cannot carry", "write whole characters")
			continue
		case m.key == "__proto__":
			r.fail(m.value, "a property named \"__proto__\" is lost in JavaScript, where it sets the prototype", "rename it")
			continue
		}
		if r.distinct(wires, f.WireName, f, "FlatBuffers") {
			r.distinct(gos, f.GoName, f, "Go")
		}
		r.field(f, t, m, required[m.key])
		if f.Kind == wire.Union {
			kind := unionType(f)
			r.distinct(wires, kind.WireName, kind, "FlatBuffers")
		}
		t.add(f)
	}
}

// unionType is the field that tells which member the union f holds.
func unionType(f *Field) *Field {
	return &Field{ID: f.ID, JSON: f.JSON, WireName: f.WireName + "_type", Pos: f.Pos, Kind: wire.UnionType, Union: f.Union, Presence: f.Presence}
}

// add gives a field the next id, a union the next two.
func (t *Table) add(f *Field) {
	f.ID = len(t.Fields)
	if f.Kind == wire.Union {
		t.Fields = append(t.Fields, unionType(f))
		f.ID++
	}
	t.Fields = append(t.Fields, f)
}

// distinct reports two properties that fold to one name.
func (r *reader) distinct(taken map[string]*Field, name string, f *Field, language string) bool {
	old := taken[name]
	if old == nil {
		taken[name] = f
		return true
	}
	r.problems = append(r.problems, Problem{Pos: f.Pos, Found: fmt.Sprintf("the properties %s (line %d) and %s are both %s in %s",
		quote(old.JSON), old.Pos.Line, quote(f.JSON), name, language), Fix: "rename one of the two"})
	return false
}

// requiredNames reads the names of the properties that are always present.
func (r *reader) requiredNames(n, props *node) map[string]bool {
	out := map[string]bool{}
	list := n.get("required")
	if list == nil {
		return out
	}
	if list.kind != nodeArray {
		r.fail(n, "\"required\" is "+list.describe(), "write the list of required properties on the object")
		return out
	}
	var names []string
	for _, m := range props.members {
		names = append(names, m.key)
	}
	for _, item := range list.items {
		switch {
		case item.kind != nodeString:
			r.fail(item, "\"required\" lists "+item.describe(), "list names of properties")
		case props.get(item.text) == nil:
			r.fail(item, "\"required\" names "+quote(item.text)+", which is no property",
				r.suggest(item.text, names, "remove it, or add the property"))
		}
		out[item.text] = true
	}
	return out
}

func (r *reader) field(f *Field, t *Table, m member, required bool) {
	f.Doc = docOf(m.value)
	c := r.peel(m.value)
	if !r.report(c) {
		return
	}
	switch optional := c.optional || !required; {
	case optional && c.nullable:
		f.Presence = wire.OptionalNullable
	case optional:
		f.Presence = wire.Optional
	case c.nullable:
		f.Presence = wire.Nullable
	}
	pascal := goName(m.key)
	r.typed(f, c, t.Name+pascal, pascal, m.value)
	r.fieldOptions(f, c)
}

// typed sets what a field holds. path is the name of the type when nothing else
// names it, property the Go form of the property's name.
func (r *reader) typed(f *Field, c *core, path, property string, at *node) {
	switch c.kind {
	case coreNull, coreUndefined:
		r.fail(at, fmt.Sprintf("type %q alone has no binary form", c.kind), typeAdvice[c.kind.String()])
	case coreString:
		f.Kind = wire.String
	case coreNumber:
		f.Kind = cmp.Or(c.scalar, wire.Float64)
	case coreInteger:
		f.Kind, f.BigInt = cmp.Or(c.scalar, wire.Int64), c.bigint
	case coreBool:
		f.Kind = wire.Bool
		f.Const = c.constant()
	case coreBytes:
		f.Kind = wire.Bytes
	case coreEnum:
		f.Const = c.constant()
		f.Kind, f.Enum = wire.Enum, r.enum(c, path, property)
	case coreNumbers:
		f.Kind, f.Numbers = wire.Float64, slices.Clone(c.numbers)
		slices.Sort(f.Numbers)
		f.Const = c.constant()
		if allIntegers(c.numbers) {
			f.Kind = wire.Int64
		}
	case coreObject:
		f.Kind = wire.Struct
		if f.Vector {
			path += "Item"
		}
		f.Table = r.table(c, path, property, at)
	case coreUnion:
		r.unionField(f, c, path, property, at)
	case coreArray:
		r.array(f, c, path, property, at)
	case coreMap:
		r.mapField(f, c, path, property, at)
	}
	switch c.kind {
	case coreObject: // its table has them
	case coreArray, coreMap:
		f.ListRules = r.rules(c)
	default:
		f.Rules = r.rules(c)
	}
}

func (r *reader) array(f *Field, c *core, path, property string, at *node) {
	c, path = r.list(c, path, property)
	ic, ok := r.element(c, "array", `write an array of objects with a nullable property`)
	if !ok {
		return
	}
	f.Vector = true
	if !r.enter(c, at) {
		return
	}
	defer r.leave()
	switch ic.kind {
	case coreArray, coreMap, coreBytes:
		f.Kind, f.Table = wire.Struct, r.row(ic, c, path, property)
	default:
		r.typed(f, ic, path, property, c.items)
	}
	r.fieldOptions(f, ic)
}

// list finds the named array or map that c stands for, and the path of what it
// holds.
func (r *reader) list(c *core, path, property string) (*core, string) {
	rules, constraints := c.rules, c.constraints
	c = r.match(c, path, property)
	r.report(c)
	if c.name != "" {
		path = typeName(c.name)
	}
	if len(rules) != len(c.rules) { // of where it is used
		own := *c
		own.rules, own.constraints = rules, constraints
		c = &own
	}
	return c, path
}

// element returns what an array or a map holds.
func (r *reader) element(c *core, what, instead string) (*core, bool) {
	ic := r.peel(c.items)
	if !r.report(ic) {
		return nil, false
	}
	if ic.nullable || ic.kind == coreNull {
		r.fail(c.items, "null inside "+article(what)+" has no binary form", "leave such elements out, or "+instead)
		return nil, false
	}
	if ic.optional || ic.kind == coreUndefined {
		r.fail(c.items, "undefined inside "+article(what)+" has no binary form", "leave such elements out")
		return nil, false
	}
	return ic, true
}

func article(what string) string {
	if what == "array" {
		return "an array"
	}
	return "a " + what
}

// fieldOptions applies x-nova of a field, or of the elements of its array.
func (r *reader) fieldOptions(f *Field, c *core) {
	if v := c.option("secret"); v != nil {
		f.Secret = v.yes
	}
	if c.kind == coreObject || c.kind == coreUnion {
		return // it may be an event elsewhere
	}
	for _, o := range c.options {
		if slices.Contains(eventOptions, o.key) {
			r.fail(o.value, fmt.Sprintf("%q is an option of events", o.key), "move it to the \"x-nova\" of the event")
		}
	}
}

// enum returns the enum of string literals.
func (r *reader) enum(c *core, path, property string) *Enum {
	c = r.match(c, path, property)
	r.report(c)
	if e, ok := r.enums[c.node]; ok {
		return e
	}
	name := path
	if c.name != "" {
		name = typeName(c.name)
	}
	owner, fresh := r.claim(name, c, c.name != "")
	if fresh {
		e := &Enum{Name: name, Doc: docOf(c.node), Pos: r.pos(c.node)}
		for i, l := range c.literals {
			e.Values = append(e.Values, EnumValue{Literal: l.text, Number: int32(i)})
		}
		owner.enum = e
		r.model.Enums = append(r.model.Enums, e)
	}
	r.enums[c.node] = owner.enum
	return owner.enum
}
