package schema_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ignex/nova/schema"
)

// TestRandomSchemas reads random documents of every keyword. Writing the
// keywords in another order, or with other annotations, changes neither the
// verdict nor the fingerprint; a model has a layout and fits its own lock.
func TestRandomSchemas(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	g := &generator{rng: rand.New(rand.NewPCG(seed, 0))}
	accepted := 0
	for range 1500 {
		doc := g.document()
		a, b := g.print(doc, false), g.print(doc, true)
		ma, errA := schema.Read("s.json", []byte(a), schema.Options{})
		mb, errB := schema.Read("s.json", []byte(b), schema.Options{})
		if (errA == nil) != (errB == nil) {
			t.Fatalf("order of keywords changes the verdict:\n%s\n%v\n%s\n%v", a, errA, b, errB)
		}
		if errA != nil {
			continue
		}
		accepted++
		if ma.Fingerprint() != mb.Fingerprint() {
			t.Fatalf("order of keywords changes the fingerprint:\n%s\n%s", a, b)
		}
		if _, err := ma.Layout(); err != nil {
			t.Fatalf("%v\n%s", err, a)
		}
		lock, err := schema.ReadLock("l", schema.NewLock(ma).Encode())
		if err != nil {
			t.Fatalf("%v\n%s", err, a)
		}
		if mc, err := schema.Read("s.json", []byte(a), schema.Options{Lock: lock}); err != nil || mc.Fingerprint() != ma.Fingerprint() {
			t.Fatalf("%v\n%s", err, a)
		}
	}
	if accepted < 150 {
		t.Errorf("only %d documents were accepted: the generator is blunt", accepted)
	}
}

// object is an ordered JSON object; fixed ones keep their order.
type object struct {
	keys   []string
	values []any
	fixed  bool
}

func (o *object) set(key string, value any) *object {
	o.keys, o.values = append(o.keys, key), append(o.values, value)
	return o
}

type generator struct{ rng *rand.Rand }

func (g *generator) pick(words ...string) string { return words[g.rng.IntN(len(words))] }

func (g *generator) document() *object {
	defs, events := &object{fixed: true}, &object{fixed: true}
	for _, name := range []string{"A", "B", "Side"} {
		defs.set(name, g.schema(2))
	}
	for _, name := range []string{"a", "quote"} {
		root := g.object(3)
		if g.rng.IntN(3) == 0 {
			root.set("x-nova", (&object{}).set("retain", g.rng.IntN(2) == 0).set("delivery", g.pick("must", "drop")))
		}
		events.set(name, root)
	}
	return (&object{}).set("package", "p").set("$defs", defs).set("events", events)
}

func (g *generator) object(depth int) *object {
	props, required := &object{fixed: true}, []any{}
	for _, name := range []string{"id", "b", "cC", "in-put"}[g.rng.IntN(4):] {
		props.set(name, g.schema(depth-1))
		if g.rng.IntN(2) == 0 {
			required = append(required, name)
		}
	}
	o := (&object{}).set("type", "object").set("properties", props)
	if g.rng.IntN(2) == 0 {
		o.set("required", required)
	}
	if g.rng.IntN(4) == 0 {
		o.set("additionalProperties", g.rng.IntN(2) == 0)
	}
	return o
}

func (g *generator) schema(depth int) any {
	n := 20
	if depth <= 0 {
		n = 8
	}
	o := &object{}
	switch g.rng.IntN(n) {
	case 0, 1:
		o.set("type", g.pick("string", "number", "integer", "boolean", "bigint", "Uint8Array"))
	case 2:
		o.set("type", "string").set("maxLength", 5).set("format", "email")
	case 3:
		o.set("enum", []any{"x", "y-z", "x"})
	case 4:
		o.set("anyOf", []any{(&object{}).set("const", "x").set("type", "string"), (&object{}).set("const", "y")})
	case 5:
		o.set("$ref", g.pick("#/$defs/A", "B", "Side", "#/$defs/Side"))
	case 6:
		o.set("type", []any{g.pick("string", "integer"), "null"})
	case 7:
		if g.rng.IntN(6) == 0 { // mostly refused
			o.set("type", g.pick("any", "null", "Date", "object", "array", "strin"))
		} else {
			o.set("const", g.rng.IntN(3))
		}
	case 8, 9:
		o.set("type", "array").set("items", g.schema(depth-1))
	case 10:
		o.set("anyOf", []any{g.schema(depth - 1), (&object{}).set("type", "null")})
	case 11:
		o.set(g.pick("anyOf", "allOf", "oneOf"), []any{g.schema(depth - 1)})
	case 12:
		o.set("type", "integer").set("x-nova", (&object{}).set("type", g.pick("int8", "uint16", "int64", "uint64")))
	case 13:
		pattern := (&object{}).set(g.pick("^.*$", "^(.*)$", "^[a-z]$"), g.schema(depth-1))
		o.set("type", "object").set("patternProperties", pattern)
	case 14:
		o.set("type", "object").set("additionalProperties", g.schema(depth-1))
	case 15:
		item := g.schema(depth - 1)
		o.set("type", "array").set("items", []any{item, item}).set("additionalItems", false).set("minItems", 2)
	case 16:
		o.set("allOf", []any{g.object(depth - 1), g.tagged("c", depth-1)})
	case 17:
		o.set(g.pick("anyOf", "oneOf"), []any{g.tagged("a", depth-1), g.tagged("b", depth-1)})
	default:
		o = g.object(depth)
	}
	return o
}

// tagged is an object with a constant.
func (g *generator) tagged(value string, depth int) *object {
	props := (&object{fixed: true}).set("tag", (&object{}).set("const", value)).set("more", g.schema(depth))
	return (&object{}).set("type", "object").set("properties", props).set("required", []any{"tag"})
}

// print writes the document; shuffled in another order of keywords with
// annotations added.
func (g *generator) print(v any, shuffled bool) string {
	switch v := v.(type) {
	case *object:
		order := g.rng.Perm(len(v.keys))
		var parts []string
		for i := range v.keys {
			at := i
			if shuffled && !v.fixed {
				at = order[i]
			}
			key, _ := json.Marshal(v.keys[at])
			parts = append(parts, string(key)+":"+g.print(v.values[at], shuffled))
		}
		if shuffled && !v.fixed && v.keys[0] != "retain" && v.keys[0] != "package" && !strings.HasPrefix(v.keys[0], "^") && !(v.keys[0] == "type" && strings.Contains("int8 uint16 int64 uint64", fmt.Sprint(v.values[0]))) {
			parts = append(parts, g.pick(`"description":"d"`, `"~kind":"String"`, `"examples":[1]`, `"title":"t"`, `"readOnly":true`))
		}
		return "{" + strings.Join(parts, ",") + "}"
	case []any:
		var parts []string
		for _, item := range v {
			parts = append(parts, g.print(item, shuffled))
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	out, _ := json.Marshal(v)
	return string(out)
}

// TestHostileSchemas reads documents that are small for what they could make a
// careless reader do.
func TestHostileSchemas(t *testing.T) {
	const n = 10_000
	repeat := func(format string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(strings.ReplaceAll(format, "%", itoa(i)))
		}
		return b.String()
	}
	empty := `"z":{"type":"object","properties":{}}`
	for name, src := range map[string]string{
		"many equal names":      `{"package":"p","$defs":{` + repeat(`"D%":{"type":"object","properties":{"a":{"type":"string"}}},`) + empty + `},"events":{"e":{"type":"object","properties":{` + repeat(`"f%":{"type":"object","properties":{"a":{"type":"string"}}},`) + empty + `}}}}`,
		"required names":        `{"package":"p","events":{"e":{"type":"object","properties":{` + repeat(`"property%":{"type":"string"},`) + empty + `},"required":[` + repeat(`"propertx%",`) + `"z"]}}}`,
		"lost references":       `{"package":"p","$defs":{` + repeat(`"D%":{"type":"string"},`) + empty + `},"events":{"e":{"type":"object","properties":{` + repeat(`"f%":{"$ref":"E%"},`) + empty + `}}}}`,
		"repeated keywords":     `{"package":"p","$defs":{"D":{` + repeat(`"minimum":%,`) + `"type":"number"}},"events":{"e":{"type":"object","properties":{` + repeat(`"f%":{"$ref":"D","minimum":1},`) + empty + `}}}}`,
		"doubling unions":       `{"package":"p","$defs":{` + repeat(`"D%":{"anyOf":[{"$ref":"D0"},{"$ref":"D0"}]},`) + `"z":{"type":"string"}},"events":{"e":{"type":"object","properties":{"f":{"$ref":"D5"}}}}}`,
		"unknown keywords":      `{"package":"p","events":{"e":{` + repeat(`"keyword%":1,`) + `"type":"object","properties":{}}}}`,
		"deep places":           `{"package":"p","events":{"e":` + strings.Repeat(`{"allOf":[`, 300) + `{"type":"object","properties":{` + repeat(`"f%":{},`) + empty + `}}` + strings.Repeat(`]}`, 300) + `}}`,
		"doubling objects":      doubling(),
		"one enum, many fields": `{"package":"p","$defs":{"S":{"enum":["a"` + repeat(`,"l%"`) + `]}},"events":{"e":{"type":"object","properties":{` + repeat(`"f%":{"$ref":"S"},`) + empty + `}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := schema.Read("s.json", []byte(src), schema.Options{}); err != nil {
				if problems := err.(schema.Errors); len(problems) > 1000 {
					t.Errorf("%d problems", len(problems))
				}
			}
		})
	}
}

// doubling makes objects whose fields each hold the next object twice.
func doubling() string {
	var b strings.Builder
	b.WriteString(`{"package":"p","events":{"e":{"$ref":"D0"}},"$defs":{`)
	for i := range 60 {
		next := itoa(i + 1)
		b.WriteString(`"D` + itoa(i) + `":{"type":"object","properties":{"l":{"$ref":"D` + next + `"},"r":{"$ref":"D` + next + `"}}},`)
	}
	b.WriteString(`"D60":{"type":"object","properties":{}}}}`)
	return b.String()
}
