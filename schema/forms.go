package schema

import (
	"slices"
	"strconv"
	"strings"
)

// Two schemas are equal in structure when their normal forms are: properties in
// order, what is required, types and constraints count; titles, examples and the
// order of keywords do not; references and unions of one member are what they
// stand for. Forms are interned, so comparing costs nothing and a form of forms
// stays small however often a definition is used.

const (
	maxFormNesting = 500     // deeper than any schema that is accepted
	maxFormSteps   = 4 << 20 // a hostile recursive schema is compared by place beyond
)

// form returns the number of a core's normal form. A recursive type refers to
// itself by how many levels up it stands, so that copies under other names are
// equal; forms that refer to what is outside of them are not kept.
func (d *document) form(c *core) int {
	switch {
	case c.form > 0:
		return c.form
	case c.inner != nil && len(c.constraints) == len(c.inner.constraints) && c.bigint == c.inner.bigint && c.scalar == c.inner.scalar:
		return d.form(c.inner)
	case c.form < 0: // a recursive type
		d.escape = min(d.escape, -c.form)
		return d.intern("cycle " + strconv.Itoa(d.nesting+1+c.form))
	case d.nesting > maxFormNesting, d.steps > maxFormSteps:
		return d.intern("deep " + c.node.pointer())
	}
	d.steps++
	d.nesting++
	outside := d.escape
	c.form, d.escape = -d.nesting, d.nesting
	var b strings.Builder
	d.writeForm(&b, c)
	constraints := slices.Clone(c.constraints)
	slices.Sort(constraints)
	for _, s := range slices.Compact(constraints) {
		b.WriteByte('\n')
		b.WriteString(s)
	}
	form := d.intern(b.String())
	c.form = 0
	if d.escape == d.nesting {
		c.form = form
	}
	d.escape = min(outside, d.escape)
	d.nesting--
	return form
}

func (d *document) writeForm(b *strings.Builder, c *core) {
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
		d.objectForm(b, c)
	case coreArray, coreMap:
		b.WriteString(strconv.Itoa(d.childForm(d.peel(c.items))))
	case coreUnion:
		for _, m := range c.members {
			b.WriteString(" " + strconv.Itoa(d.form(m)))
		}
	}
}

func (d *document) objectForm(b *strings.Builder, c *core) {
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
		b.WriteString(strconv.Itoa(d.childForm(d.peel(m.value))))
	}
}

// childForm is the form of a core where it is used: with null, undefined and
// the options of a field.
func (d *document) childForm(c *core) int {
	f := d.form(c)
	secret := c.option("secret")
	if !c.nullable && !c.optional && secret == nil {
		return f
	}
	return d.intern("use " + strconv.Itoa(f) + strconv.FormatBool(c.nullable) + strconv.FormatBool(c.optional) +
		strconv.FormatBool(secret != nil && secret.yes))
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
