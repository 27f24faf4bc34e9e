package language

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// grammar draws schemas of every construct that has a binary form. A few come
// out with names that clash or types without an end; those are refused.
type grammar struct {
	*rand.Rand
	defs int // definitions of the document
	at   int // definition being written; later ones may be required inside it
	tags int
}

// Properties whose names differ in every language, whatever they are folded to.
var properties = []string{"id", "type", "default", "größe", "in-put", "class", "toString", "constructor", "value", "items", "key",
	"userID", "first_name", "HTTPPort", "x", "b", "then", "0day", "builder", "table", "func", "kind"}

func (g *grammar) pick(words ...string) string { return words[g.IntN(len(words))] }

func (g *grammar) document(name string) string {
	g.defs = 1 + g.IntN(5)
	var defs, events []string
	for i := range g.defs {
		g.at = i
		body := g.object(2)
		switch g.IntN(8) {
		case 0:
			body = g.union(2)
		case 1:
			body = `{"type":"array","items":` + g.schema(1) + `}`
		case 2:
			body = g.record(1)
		case 3:
			body = g.literals()
		case 4:
			body = `{"allOf":[` + g.object(1) + `,{"type":"object","properties":{"own":` + g.schema(1) + `}}]}`
		}
		defs = append(defs, fmt.Sprintf(`"D%d":%s`, i, body))
	}
	g.at = -1
	for i := range 1 + g.IntN(3) {
		root := g.object(3)
		if g.IntN(3) == 0 {
			root = g.nullable(g.schema(2), 4)
		}
		events = append(events, fmt.Sprintf(`"e%d":%s`, i, root))
	}
	return fmt.Sprintf(`{"package":%q,"$defs":{%s},"events":{%s}}`, name, strings.Join(defs, ","), strings.Join(events, ","))
}

// object writes an object; what may lead back to it is optional.
func (g *grammar) object(depth int) string {
	var props, required []string
	order := g.Perm(len(properties))
	for _, i := range order[:g.IntN(7)] {
		name := strconv.Quote(properties[i])
		if g.IntN(6) == 0 {
			props = append(props, name+":"+g.nullable(g.back(), 2))
			continue
		}
		props = append(props, name+":"+g.nullable(g.schema(depth-1), 5))
		if g.IntN(2) == 0 {
			required = append(required, name)
		}
	}
	return fmt.Sprintf(`{"type":"object","properties":{%s},"required":[%s]}`, strings.Join(props, ","), strings.Join(required, ","))
}

// back refers to any definition, also to those that lead here again.
func (g *grammar) back() string { return fmt.Sprintf(`{"$ref":"#/$defs/D%d"}`, g.IntN(g.defs)) }

// nullable makes one of n schemas nullable.
func (g *grammar) nullable(schema string, n int) string {
	if g.IntN(n) > 0 {
		return schema
	}
	return `{"anyOf":[` + schema + `,{"type":"null"}]}`
}

func (g *grammar) schema(depth int) string {
	n := 14
	if depth <= 0 {
		n = 7
	}
	switch g.IntN(n) {
	case 0, 1:
		return `{"type":"` + g.pick("string", "number", "integer", "boolean", "bigint", "Uint8Array") + `"}`
	case 2:
		return `{"type":"integer","x-nova":{"type":"` + g.pick("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64") + `"}}`
	case 3:
		return g.pick(`{"type":"number","x-nova":{"type":"float32"}}`, `{"type":"string","contentEncoding":"base64"}`, `{"const":true}`, `{"enum":[1,2,5]}`, `{"const":0.5}`)
	case 4:
		return g.literals()
	case 5, 6:
		if g.at+1 < g.defs {
			return fmt.Sprintf(`{"$ref":"#/$defs/D%d"}`, g.at+1+g.IntN(g.defs-g.at-1))
		}
		return `{"type":"string"}`
	case 7, 8:
		if g.IntN(4) == 0 {
			return `{"type":"array","items":` + g.back() + `}`
		}
		return `{"type":"array","items":` + g.schema(depth-1) + `}`
	case 9:
		return g.record(depth - 1)
	case 10:
		return g.union(depth - 1)
	case 11:
		item := g.schema(depth - 1)
		return `{"type":"array","items":[` + item + `,` + item + `],"additionalItems":false,"minItems":2,"maxItems":2}`
	case 12:
		return `{"` + g.pick("anyOf", "allOf", "oneOf") + `":[` + g.schema(depth-1) + `]}`
	}
	return g.object(depth)
}

func (g *grammar) record(depth int) string {
	value := g.schema(depth)
	if g.IntN(5) == 0 {
		value = g.back()
	}
	switch g.IntN(3) {
	case 0:
		return `{"type":"object","patternProperties":{"^(.*)$":` + value + `}}`
	case 1:
		return `{"type":"object","patternProperties":{"^.*$":` + value + `}}`
	}
	return `{"type":"object","additionalProperties":` + value + `}`
}

func (g *grammar) literals() string {
	words := []string{`"in-progress"`, `"GPL-3.0+"`, `"null"`, `"class"`, `"type"`, `"ä"`, `"+1"`, `"hot"`, `"HOT"`, `"NONE"`}
	g.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
	return `{"enum":[` + strings.Join(words[:1+g.IntN(5)], ",") + `]}`
}

// union writes objects told apart by a tag that no other union has.
func (g *grammar) union(depth int) string {
	g.tags++
	tag := fmt.Sprintf("tag%d", g.tags)
	values := []string{`"circle"`, `"a-b"`, `1`, `2.5`, `true`, `false`, `"x"`}
	var members []string
	for _, i := range g.Perm(len(values))[:2+g.IntN(3)] {
		o := g.object(depth)
		o = strings.Replace(o, `"properties":{`, fmt.Sprintf(`"properties":{%q:{"const":%s},`, tag, values[i]), 1)
		o = strings.Replace(o, `:{"const":`+values[i]+`},}`, `:{"const":`+values[i]+`}}`, 1)
		cut := strings.LastIndex(o, `"required":[`) + len(`"required":[`)
		rest := o[cut:]
		if rest != "]}" {
			rest = "," + rest
		}
		members = append(members, o[:cut]+strconv.Quote(tag)+rest)
	}
	return `{"` + g.pick("anyOf", "oneOf") + `":[` + strings.Join(members, ",") + `]}`
}
