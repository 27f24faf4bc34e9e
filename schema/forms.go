package schema

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Two schemas are equal in structure when their normal forms are: properties in
// order, what is required, types and constraints count; titles, examples and the
// order of keywords do not; references and unions of one member are what they
// stand for. Forms are interned, so comparing costs nothing and a form of forms
// stays small however often a definition is used.

// form returns the number of a core's normal form.
func (d *document) form(c *core) int {
	if c = c.plain(); c.form == 0 {
		f := &former{document: d, index: map[*core]int{}, low: map[*core]int{}, onStack: map[*core]bool{}}
		f.visit(c)
	}
	return c.form
}

// plain follows references that add nothing.
func (c *core) plain() *core {
	for c.inner != nil && len(c.constraints) == len(c.inner.constraints) && c.bigint == c.inner.bigint && c.scalar == c.inner.scalar {
		c = c.inner
	}
	return c
}

// children returns the schemas that a core holds, as they are used there.
func (d *document) children(c *core) []*core {
	var out []*core
	switch c.kind {
	case coreObject:
		for _, m := range c.node.get("properties").members {
			out = append(out, d.peel(m.value))
		}
	case coreArray, coreMap:
		out = append(out, d.peel(c.items))
	case coreUnion:
		out = append(out, c.members...)
	}
	return out
}

// label writes a core with the numbers of its children, whose forms are known
// or, inside a recursive type, given by class.
func (d *document) label(c *core, class map[*core]int) string {
	var b strings.Builder
	b.WriteString(c.kind.String())
	if c.bigint {
		b.WriteString(" big")
	}
	if c.scalar != 0 {
		b.WriteString(" " + c.scalar.String())
	}
	switch c.kind {
	case coreBad:
		b.WriteString(canonical(c.node))
	case coreEnum:
		texts := make([]string, len(c.literals))
		for i, l := range c.literals {
			texts[i] = strconv.Quote(l.text)
		}
		slices.Sort(texts)
		b.WriteString(strings.Join(texts, ","))
	case coreNumbers:
		numbers := slices.Clone(c.numbers)
		slices.Sort(numbers)
		for _, f := range numbers {
			b.WriteByte(' ')
			b.WriteString(strconv.FormatFloat(f, 'g', -1, 64))
		}
	case coreObject:
		d.objectLabel(&b, c, class)
	default:
		for _, child := range d.children(c) {
			b.WriteString(" " + use(child, class))
		}
	}
	constraints := slices.Clone(c.constraints)
	slices.Sort(constraints)
	for _, s := range slices.Compact(constraints) {
		b.WriteByte('\n')
		b.WriteString(s)
	}
	return b.String()
}

func (d *document) objectLabel(b *strings.Builder, c *core, class map[*core]int) {
	if more := c.node.get("additionalProperties"); more != nil && more.allows() {
		b.WriteString(" open")
	}
	required := map[string]bool{}
	if list := c.node.get("required"); list != nil {
		for _, item := range list.items {
			required[item.text] = true
		}
	}
	for _, m := range c.node.get("properties").members {
		b.WriteByte(' ')
		b.WriteString(strconv.Quote(m.key))
		if required[m.key] {
			b.WriteByte('!')
		}
		b.WriteString(use(d.peel(m.value), class))
	}
}

// use writes the number of a core where it is used: with null, undefined and the
// options of a field.
func use(c *core, class map[*core]int) string {
	p := c.plain()
	number := p.form
	if number == 0 {
		number = class[p]
	}
	s := strconv.Itoa(number)
	secret := c.option("secret")
	if !c.nullable && !c.optional && secret == nil {
		return s
	}
	return s + "/" + strconv.FormatBool(c.nullable) + strconv.FormatBool(c.optional) + strconv.FormatBool(secret != nil && secret.yes)
}

// childForm is the form of a core where it is used.
func (d *document) childForm(c *core) int {
	d.form(c)
	return d.intern("use " + use(c, nil))
}

// former computes forms, children first. Types that hold each other come
// together (Tarjan 1972).
type former struct {
	*document
	index, low map[*core]int
	stack      []*core
	onStack    map[*core]bool
}

func (f *former) visit(c *core) {
	f.index[c] = len(f.index) + 1
	f.low[c] = f.index[c]
	f.stack = append(f.stack, c)
	f.onStack[c] = true
	loop := false
	for _, child := range f.children(c) {
		k := child.plain()
		loop = loop || k == c
		switch {
		case k.form > 0:
		case f.index[k] == 0:
			f.visit(k)
			f.low[c] = min(f.low[c], f.low[k])
		case f.onStack[k]:
			f.low[c] = min(f.low[c], f.index[k])
		}
	}
	if f.low[c] != f.index[c] {
		return
	}
	from := slices.Index(f.stack, c)
	group := slices.Clone(f.stack[from:])
	f.stack = f.stack[:from]
	for _, m := range group {
		f.onStack[m] = false
	}
	if len(group) == 1 && !loop {
		c.form = f.intern(f.label(c, nil))
		return
	}
	f.refine(group)
}

// maxFormSteps bounds the work of refine; what a hostile schema needs beyond is
// told apart by its place.
const maxFormSteps = 1 << 20

// refine gives recursive types their forms: they begin alike and are told apart
// by their labels until no round tells more apart (Moore 1956). How the rounds
// end is part of the form, so that only types of one structure share it.
func (d *document) refine(group []*core) {
	class := map[*core]int{}
	for count := 0; ; {
		next, seen, pairs := map[*core]int{}, map[int]bool{}, map[string]bool{}
		for _, c := range group {
			if d.steps++; d.steps > maxFormSteps {
				for _, c := range group {
					c.form = d.intern("at " + strconv.Itoa(c.node.line) + ":" + strconv.Itoa(c.node.col) + c.node.pointer())
				}
				return
			}
			next[c] = d.intern(d.label(c, class))
			seen[next[c]] = true
			pairs[strconv.Itoa(class[c])+" "+strconv.Itoa(next[c])] = true
		}
		if len(seen) == count {
			end := d.intern("rounds " + strings.Join(slices.Sorted(maps.Keys(pairs)), ","))
			for _, c := range group {
				c.form = d.intern("cycle " + strconv.Itoa(next[c]) + " " + strconv.Itoa(end))
			}
			return
		}
		class, count = next, len(seen)
	}
}

func (d *document) intern(s string) int {
	id, ok := d.forms[s]
	if !ok {
		id = len(d.forms) + 1
		d.forms[s] = id
	}
	return id
}

// allows reports whether an "additionalProperties" lets unknown properties
// pass: true, or the empty schema, which means the same.
func (n *node) allows() bool {
	return n.kind == nodeBool && n.yes || n.kind == nodeObject && len(n.members) == 0
}

// canonical writes a JSON value in one way: keys sorted, numbers as doubles.
func canonical(n *node) string {
	var b strings.Builder
	writeCanonical(&b, n)
	return b.String()
}

func writeCanonical(b *strings.Builder, n *node) {
	switch n.kind {
	case nodeObject:
		members := slices.Clone(n.members)
		slices.SortStableFunc(members, func(x, y member) int { return strings.Compare(x.key, y.key) })
		b.WriteByte('{')
		for _, m := range members {
			if keywords[m.key] == useAnnotation || strings.HasPrefix(m.key, "~") {
				continue
			}
			b.WriteString(strconv.Quote(m.key))
			writeCanonical(b, m.value)
		}
		b.WriteByte('}')
	case nodeArray:
		b.WriteByte('[')
		for _, item := range n.items {
			writeCanonical(b, item)
			b.WriteByte(',')
		}
		b.WriteByte(']')
	case nodeNumber:
		f, _ := strconv.ParseFloat(n.text, 64)
		b.WriteString(strconv.FormatFloat(f, 'g', -1, 64))
	case nodeString:
		b.WriteString(strconv.Quote(n.text))
	default:
		b.WriteString(n.describe())
	}
}
