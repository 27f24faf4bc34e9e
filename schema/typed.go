package schema

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// typed reads a schema that is told by its "type".
func (d *document) typed(n *node) *core {
	t := n.get("type")
	switch {
	case t == nil:
		return d.untyped(n)
	case t.kind == nodeString:
		return d.typeName(n, t.text)
	case t.kind != nodeArray:
		return d.bad(n, "\"type\" is "+t.describe(), "write one of "+strings.Join(knownTypes, ", "))
	}
	var names []string
	nullable := false
	for _, item := range t.items {
		switch {
		case item.kind != nodeString:
			return d.bad(n, "\"type\" lists "+item.describe(), "list names of types")
		case item.text == "null":
			nullable = true
		default:
			names = append(names, item.text)
		}
	}
	switch {
	case len(names) == 1:
		c := d.typeName(n, names[0])
		c.nullable = c.nullable || nullable
		return c
	case len(names) == 0 && nullable:
		return &core{kind: coreNull, node: n}
	case len(names) == 0:
		return d.bad(n, "\"type\" is an empty list", "write one of "+strings.Join(knownTypes, ", "))
	}
	return d.bad(n, "a union of "+clip(strings.Join(names, " and "))+" has no binary form",
		"choose one type, or write an object with an optional field for each")
}

func (d *document) untyped(n *node) *core {
	for _, m := range n.members {
		if keywords[m.key] == useForeign {
			return &core{node: n} // checkKeywords says what is wrong
		}
	}
	switch {
	case n.get("properties") != nil:
		return d.bad(n, "\"properties\" without \"type\"", `add "type": "object"`)
	case n.get("items") != nil:
		return d.bad(n, "\"items\" without \"type\"", `add "type": "array"`)
	case n.get("parameters") != nil || n.get("index") != nil || n.get("extends") != nil:
		return d.bad(n, "an open generic of TypeBox has no binary form", adviceGeneric)
	}
	return d.bad(n, `type "any" has no binary form`, adviceAny)
}

func (d *document) typeName(n *node, name string) *core {
	c := &core{node: n}
	switch name {
	case "string":
		c.kind = coreString
		if n.str("contentEncoding") == "base64" {
			c.kind = coreBytes
		}
	case "number":
		c.kind = coreNumber
	case "integer":
		c.kind = coreInteger
	case "bigint":
		c.kind, c.bigint = coreInteger, true
	case "boolean":
		c.kind = coreBool
	case "Uint8Array":
		c.kind = coreBytes
	case "null":
		c.kind = coreNull
	case "undefined":
		c.kind = coreUndefined
	case "object":
		return d.object(n)
	case "array":
		return d.array(n)
	default:
		if advice, ok := typeAdvice[name]; ok {
			return d.bad(n, fmt.Sprintf("type %q has no binary form", name), advice)
		}
		return d.bad(n, "unknown type "+quote(name), didYouMean(name, knownTypes))
	}
	return c
}

func (d *document) object(n *node) *core {
	props, patterns, more := n.get("properties"), n.get("patternProperties"), n.get("additionalProperties")
	if props != nil && props.kind != nodeObject {
		return d.bad(n, "\"properties\" is "+props.describe(), "write an object of schemas")
	}
	if more != nil && more.kind != nodeBool && more.kind != nodeObject {
		return d.bad(n, "\"additionalProperties\" is "+more.describe(), "write true, false or a schema")
	}
	if patterns != nil && patterns.kind != nodeObject {
		return d.bad(n, "\"patternProperties\" is "+patterns.describe(), "write an object of schemas")
	}
	named := props != nil && len(props.members) > 0
	typedMore := more != nil && more.kind == nodeObject && len(more.members) > 0
	switch {
	case patterns != nil && named:
		return d.bad(n, "\"patternProperties\" beside \"properties\" has no binary form", "move the named properties to an object of their own")
	case typedMore && named:
		return d.bad(n, "a schema in \"additionalProperties\" beside \"properties\" has no binary form", "move the named properties to an object of their own")
	case patterns != nil && typedMore:
		return d.bad(n, "\"patternProperties\" beside a schema in \"additionalProperties\" has no binary form", "write one of the two")
	case patterns != nil && len(patterns.members) != 1:
		return d.bad(n, fmt.Sprintf("\"patternProperties\" with %d patterns has no binary form", len(patterns.members)),
			"write one pattern; several kinds of values are an object of several maps")
	case patterns != nil:
		return d.mapOf(n, patterns.members[0], more)
	case typedMore:
		return &core{kind: coreMap, node: n, items: more}
	case props == nil:
		return d.bad(n, `{"type":"object"} without "properties" is any object, which has no binary form`,
			`name its properties ("properties": {} for none), or write {"type":"string"} holding JSON text`)
	}
	return &core{kind: coreObject, node: n}
}

// The patterns that both TypeBox lines write for the keys of a Record: of any
// string, of numbers and of integers.
var (
	anyKey    = []string{"^(.*)$", "^.*$", ".*", "^.+$", ""}
	numberKey = []string{"^(0|[1-9][0-9]*)$", `^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$`, `^-?(?:0|[1-9][0-9]*)(?:.[0-9]+)?$`, "^-?(?:0|[1-9][0-9]*)$"}
)

// mapOf reads an object of patternProperties with one pattern.
func (d *document) mapOf(n *node, m member, more *node) *core {
	c := &core{kind: coreMap, node: n, items: m.value}
	closed := more != nil && more.kind == nodeBool && !more.yes
	known := slices.Contains(numberKey, m.key)
	switch {
	case slices.Contains(anyKey, m.key):
		return c
	case !known:
		c.warnings = append(c.warnings, d.problem(m.value, "keys of a map that match "+quote(m.key)+": every key is encoded, Validate checks the pattern",
			"remove the pattern when every key will do"))
	case !closed:
		return c
	}
	pattern := &node{kind: nodeString, text: m.key, parent: n, key: "patternProperties", line: m.line, col: m.col}
	c.constraints = append(c.constraints, "keyPattern="+m.key)
	c.rules = append(c.rules, rule{"keyPattern", pattern})
	return c
}

func (d *document) array(n *node) *core {
	items, prefix := n.get("items"), n.get("prefixItems")
	switch {
	case prefix != nil && prefix.kind == nodeArray && (items == nil || items.kind == nodeBool && !items.yes):
		return d.tuple(n, prefix.items)
	case prefix != nil:
		return d.bad(n, "\"prefixItems\" beside \"items\" has no binary form", "write an array of one type, or an object with a property for each element")
	case items != nil && items.kind == nodeArray:
		return d.tuple(n, items.items)
	case items == nil:
		return d.bad(n, `an array without "items" may hold anything, which has no binary form`, `add "items" with the type of its elements`)
	}
	return &core{kind: coreArray, node: n, items: items}
}

// tuple reads a list of so many elements of one type.
func (d *document) tuple(n *node, list []*node) *core {
	const fix = "write an object with a property for each element, or an array of one type"
	if len(list) == 0 {
		return d.bad(n, "an empty tuple has no binary form", "remove it")
	}
	first := d.peel(list[0])
	for _, item := range list[1:] {
		c := d.peel(item)
		if c.kind == coreBad {
			return &core{node: n, parts: []*core{c}}
		}
		if d.childForm(c) != d.childForm(first) {
			return d.bad(n, "a tuple of several types has no binary form", fix)
		}
	}
	c := &core{kind: coreArray, node: n, items: list[0]}
	size := &node{kind: nodeNumber, text: strconv.Itoa(len(list)), parent: n, key: "items", line: n.line, col: n.col}
	for _, key := range []string{"minItems", "maxItems"} {
		if n.get(key) == nil && (key == "maxItems" || n.get("additionalItems") != nil || n.get("prefixItems") == nil) {
			c.constraints = append(c.constraints, key+"="+size.text)
			c.rules = append(c.rules, rule{key, size})
		}
	}
	return c
}

// ref resolves a $ref.
func (d *document) ref(n, value *node) *core {
	if value.kind == nodeObject {
		return d.bad(n, "\"$ref\" holds a schema", `write its name, Type.Ref("NAME"), or the schema itself without Type.Ref`)
	}
	if value.kind != nodeString || value.text == "" {
		return d.bad(n, "\"$ref\" is "+value.describe(), `write "#/$defs/NAME"`)
	}
	target := d.resolve(n, value.text)
	if target == nil {
		fix := "define it under \"$defs\""
		if strings.Count(value.text, "/") > 2 {
			fix = "give that schema a name under \"$defs\" and refer to \"#/$defs/NAME\""
		}
		name := value.text[strings.LastIndexByte(value.text, '/')+1:]
		return d.bad(n, "\"$ref\" names "+quote(value.text)+", which is not defined", d.suggest(name, d.defNames, fix))
	}
	return refer(d.peel(target))
}
