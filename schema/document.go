package schema

import (
	"fmt"
	"strings"
)

// document is the JSON of one schema file with its named schemas.
type document struct {
	file     string
	places   map[string]Pos // see Options.Places
	root     *node
	cores    map[*node]*core // nil value = being peeled
	chain    int             // nesting of peel
	forms    map[string]int
	steps    int     // of refine, over the whole document
	defs     []*node // entries of $defs, definitions and schemas, in document order
	defNames []string
	named    map[string][]*node // by $defs key and by $id, in document order

	literalCount int
	pointers     int // bytes
	suggestions  int
}

// The sections of a document that hold named schemas.
var defSections = []string{"$defs", "definitions", "schemas"}

// newDocument finds the named schemas: the top-level ones and those that
// TypeBox nests inside events.
func newDocument(file string, root *node) *document {
	d := &document{file: file, root: root, cores: map[*node]*core{}, forms: map[string]int{}, named: map[string][]*node{}}
	for _, m := range root.members {
		switch m.key {
		case "$defs", "definitions":
			d.collectDefs(m.value)
		case "schemas":
			if m.value.get("$defs") != nil { // a Module of TypeBox 0.34
				d.collectDefs(m.value.get("$defs"))
			} else {
				d.collectDefs(m.value)
			}
		case "events", "controlEvents":
			for _, e := range m.value.members {
				e.value.entry = true
				d.collect(e.value)
			}
		case "calls":
			for _, c := range m.value.members {
				for _, side := range c.value.members {
					side.value.entry = true
					d.collect(side.value)
				}
			}
		}
	}
	return d
}

func (d *document) collectDefs(section *node) {
	if section.kind != nodeObject {
		return
	}
	for _, m := range section.members {
		if strings.HasPrefix(m.key, "~") {
			continue
		}
		m.value.def = m.key
		m.value.entry = true
		d.defs = append(d.defs, m.value)
		if d.named[m.key] == nil {
			d.defNames = append(d.defNames, m.key)
		}
		d.named[m.key] = append(d.named[m.key], m.value)
		d.collect(m.value)
	}
}

// collect visits every schema below n, n included.
func (d *document) collect(n *node) {
	if n.kind != nodeObject {
		return
	}
	if id := n.str("$id"); id != "" && id != n.def {
		d.named[id] = append(d.named[id], n)
	}
	for _, m := range n.members {
		switch m.key {
		case "$defs", "definitions":
			d.collectDefs(m.value)
		case "properties", "patternProperties", "dependentSchemas":
			for _, p := range m.value.members {
				d.collect(p.value)
			}
		case "anyOf", "oneOf", "allOf", "prefixItems":
			for _, item := range m.value.items {
				d.collect(item)
			}
		case "items":
			d.collect(m.value)
			for _, item := range m.value.items {
				d.collect(item)
			}
		case "additionalProperties", "additionalItems", "not", "if", "then", "else", "contains", "propertyNames":
			d.collect(m.value)
		}
	}
}

// resolve returns the schema a $ref at n means, or nil:
// "#" the nearest enclosing $id, else the entry; "#/$defs/X" and "X" the nearest
// definition of that name; "X" before that an enclosing $id.
func (d *document) resolve(n *node, ref string) *node {
	if ref == "#" {
		for at := n; at != nil; at = at.parent {
			if at.str("$id") != "" && at != d.root || at.entry {
				return at
			}
		}
		return nil
	}
	name, bare := ref, true
	if rest, ok := strings.CutPrefix(ref, "#/"); ok {
		section, key, _ := strings.Cut(rest, "/")
		if section == "schemas" && strings.HasPrefix(key, "$defs/") {
			section, key = "$defs", key[len("$defs/"):]
		}
		if section != "$defs" && section != "definitions" && section != "schemas" || strings.Contains(key, "/") {
			return nil
		}
		name, bare = strings.NewReplacer("~1", "/", "~0", "~").Replace(key), false
	}
	for at := n; at != nil && bare; at = at.parent {
		if at != d.root && at.str("$id") == name {
			return at
		}
	}
	for at := n; at != nil; at = at.parent {
		for _, section := range defSections[:2] {
			if t := at.get(section).get(name); t != nil && t.def == name {
				return t
			}
		}
	}
	for _, t := range d.named[name] {
		if bare || t.def == name {
			return t
		}
	}
	return nil
}

// conflicts reports names that stand for two different schemas.
func (r *reader) conflicts() {
	seen := map[string]bool{}
	for _, name := range r.names() {
		nodes := r.named[name]
		if seen[name] || len(nodes) < 2 || isCounter(name) && nodes[0].def != name {
			continue
		}
		seen[name] = true
		first := nodes[0]
		form := r.childForm(r.peel(first))
		for _, other := range nodes[1:] {
			if r.childForm(r.peel(other)) != form && r.clash(r.pos(first), r.pos(other)) {
				r.fail(other, fmt.Sprintf("the name %s stands for two different schemas, the other at line %d (%s)",
					quote(name), first.line, clip(first.pointer())), "give one of them another name")
			}
		}
	}
}

// names returns every name once or more, in document order of definitions; the
// caller sorts problems by place, so the order matters to nobody.
func (d *document) names() []string {
	out := append([]string(nil), d.defNames...)
	for name := range d.named {
		out = append(out, name)
	}
	return out
}
