package language

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestConstraints draws schemas with constraints and values at their edges.
// Go, TypeScript and ajv agree on every one, and TypeBox's own checker wherever
// it keeps to JSON Schema.
func TestConstraints(t *testing.T) {
	seed := fromEnv(t, "NOVA_SEED", rand.Uint64()>>1)
	t.Logf("seed %d", seed)
	c := &bounds{rand.New(rand.NewPCG(seed, 1))}
	b := newBatch(t)
	var samples []*sample
	for len(b.schemas) < int(fromEnv(t, "NOVA_SCHEMAS", 8)) {
		name := fmt.Sprintf("c%d", len(b.schemas))
		root, draw := c.object(3)
		if !b.add(t, name, fmt.Sprintf(`{"package":%q,"events":{"e":%s}}`, name, root)) {
			t.Fatalf("refused: %s", root)
		}
		s := b.schemas[len(b.schemas)-1]
		for range 60 {
			text, err := json.Marshal(draw())
			if err != nil {
				t.Fatal(err)
			}
			payload, err := s.layout.EncodeJSON(nil, s.layout.Events[0].Table, text)
			if err != nil {
				t.Fatalf("%v\n%s\n%s", err, text, root)
			}
			samples = append(samples, &sample{of: s, event: s.model.Events[0], nova: text, payload: payload})
		}
	}
	b.checkCode(t, samples)
	b.checkJudges(t, samples)
}

// checkJudges asks ajv and TypeBox.
func (b *batch) checkJudges(t *testing.T, samples []*sample) {
	t.Helper()
	if err := os.Symlink(filepath.Join(b.root, "schema", "testdata", "typebox", "node_modules"), b.path("node_modules")); err != nil {
		t.Fatal(err)
	}
	var input strings.Builder
	for _, s := range samples {
		fmt.Fprintf(&input, "%s\t%s\n", s.of.source, s.nova)
	}
	judge := exec.Command("node", b.write(t, "ajv.mjs", ajvScript))
	judge.Stdin, judge.Stderr = strings.NewReader(input.String()), os.Stderr
	out, err := judge.Output()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err != nil || len(lines) != len(samples) {
		t.Fatalf("%v: %d lines for %d values; npm ci in schema/testdata/typebox", err, len(lines), len(samples))
	}
	valid, other := 0, 0
	for i, s := range samples {
		ajv, typebox, _ := strings.Cut(lines[i], " ")
		ours := fmt.Sprint(s.verdict == "valid")
		if s.verdict == "valid" {
			valid++
		}
		if ours != ajv {
			t.Errorf("Validate says %s, ajv says %s of\n%s\n%s", s.verdict, ajv, s.nova, s.of.source)
		} else if ours != typebox {
			other++
			if !differs(s) {
				t.Errorf("Validate says %s, TypeBox says %s of\n%s\n%s", s.verdict, typebox, s.nova, s.of.source)
			}
		}
	}
	t.Logf("%d values, %d of them valid; TypeBox differs in %d", len(samples), valid, other)
	if valid < len(samples)/20 || valid > len(samples)*19/20 {
		t.Errorf("%d of %d values are valid: the generator is blunt", valid, len(samples))
	}
}

// differs tells of values that TypeBox judges otherwise than JSON Schema: it
// counts graphemes where JSON Schema counts code points, and takes a host without
// a dot in an address.
func differs(s *sample) bool {
	if strings.Contains(s.of.source, "email") && strings.Contains(string(s.nova), `"a@b"`) {
		return true
	}
	return strings.Contains(s.of.source, "Length") && strings.ContainsAny(string(s.nova), "😀\u0301")
}

const ajvScript = `
import { createInterface } from "node:readline";
import { Ajv2019 } from "ajv/dist/2019.js";
import formats from "ajv-formats";
import * as Value from "typebox/value";

// For contains without a most, ajv 8 takes the verdict of the array before for an
// empty one in a list of arrays; where there is a most it counts.
function counted(_, v) {
  return v?.type === "array" && v.contains && v.maxContains === undefined ? { ...v, maxContains: 2 ** 32 } : v;
}

const compiled = new Map();
for await (const line of createInterface({ input: process.stdin })) {
  const [source, text] = line.split("\t");
  if (!compiled.has(source)) {
    const ajv = new Ajv2019({ strict: false, formats: {} });
    formats.default(ajv);
    const schema = JSON.parse(source).events.e;
    compiled.set(source, [ajv.compile(JSON.parse(source, counted).events.e), schema]);
  }
  const [validate, schema] = compiled.get(source);
  const value = JSON.parse(text);
  console.log(validate(value), Value.Check(schema, value));
}
`

// bounds draws schemas of JSON's own types, each with a source of values
// that keep or break its constraints.
type bounds struct{ *rand.Rand }

type source func() any

func (c *bounds) pick(words ...string) string { return words[c.IntN(len(words))] }

func (c *bounds) schema(depth int) (string, source) {
	n := 10
	if depth <= 0 {
		n = 6
	}
	switch c.IntN(n) {
	case 0, 1:
		return c.text()
	case 2, 3:
		return c.number()
	case 4:
		numbers := []any{1, 2.5, -3}
		return `{"enum":[1,2.5]}`, func() any { return numbers[c.IntN(len(numbers))] }
	case 5:
		return `{"const":true}`, func() any { return c.IntN(4) > 0 }
	case 6, 7:
		return c.array(depth - 1)
	case 8:
		return c.record(depth - 1)
	}
	if c.IntN(3) == 0 {
		return c.union(depth - 1)
	}
	return c.object(depth - 1)
}

var formatSamples = map[string][]string{
	"date-time": {"2024-02-29T12:30:00Z", "2023-02-29T12:30:00Z", "2024-01-01T23:59:60Z", "2024-01-01T24:00:00Z", "2024-01-01T10:00:00.123+02:30", "2024-01-01T10:00:00", "2024-13-01T10:00:00Z", "x", ""},
	"date":      {"2024-02-29", "1900-02-29", "2000-02-29", "2024-4-1", "2024-00-10", "2024-04-31"},
	"time":      {"10:00:00Z", "23:59:60Z", "10:00:60Z", "10:00:00+01:00", "25:00:00Z", "10:00", "10:00:00.5z"},
	"email":     {"a@b.co", "a.b+c@x-y.org", "a@b", "@b.co", "a..b@c.de", "a b@c.de", "A@B.CO", "a@-b.co"},
	"uuid":      {"123e4567-e89b-12d3-a456-426614174000", "123E4567-E89B-12D3-A456-426614174000", "123e4567e89b12d3a456426614174000", "123e4567-e89b-12d3-a456-42661417400", "g23e4567-e89b-12d3-a456-426614174000"},
	"uri":       {"https://a.b/c?d=e#f", "mailto:a@b.co", "urn:isbn:1", "//a.b/c", "/a", "http://[::1]:80/", "http://a b", "a:%zz", "http://a/%20", "x"},
	"ipv4":      {"1.2.3.4", "255.255.255.255", "256.1.1.1", "1.2.3", "01.2.3.4", "1.2.3.4 "},
	"ipv6":      {"::", "::1", "1:2:3:4:5:6:7:8", "1::8", "::ffff:1.2.3.4", "1:2:3:4:5:6:7", "1::2::3", "12345::", "1:2:3:4:5:6:1.2.3.4", "fe80::1%eth0", "1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8"},
}

func (c *bounds) text() (string, source) {
	words := []string{"", "a", "ab", "abc", "AB12", "x-1", "é", "e\u0301", "😀", "😀😀", "a b", "\n", "12", "_", "\u00a0", "ÄB"}
	var keys []string
	switch c.IntN(3) {
	case 0:
		format := c.pick("date-time", "date", "time", "email", "uuid", "uri", "ipv4", "ipv6")
		keys, words = append(keys, fmt.Sprintf(`"format":%q`, format)), formatSamples[format]
	case 1:
		pattern := c.pick(`^[a-z]+$`, `\d`, `^.{2,3}$`, `^\S*$`, `^(?:ab|AB)\w*`, `[^a-z]`, `^\p{L}+$`, `\u{1F600}`, `b$`, `^[\w-]+$`, `\s`, `^[^\s]*$`, `a|1`, `^\x61`, `^$`, `\bab\b`)
		text, _ := json.Marshal(pattern)
		keys = append(keys, `"pattern":`+string(text))
	}
	if c.IntN(2) == 0 {
		keys = append(keys, fmt.Sprintf(`"minLength":%d`, c.IntN(3)))
	}
	if c.IntN(2) == 0 {
		keys = append(keys, fmt.Sprintf(`"maxLength":%d`, 1+c.IntN(30)))
	}
	return join(`"type":"string"`, keys), func() any { return words[c.IntN(len(words))] }
}

func (c *bounds) number() (string, source) {
	kind := c.pick("number", "integer")
	var keys []string
	for _, key := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"} {
		if c.IntN(4) == 0 {
			keys = append(keys, fmt.Sprintf(`%q:%v`, key, float64(c.IntN(17)-8)/2))
		}
	}
	if c.IntN(4) == 0 {
		keys = append(keys, `"multipleOf":`+c.pick("0.5", "2", "3", "0.25", "1.5"))
	}
	scale := map[string]float64{"number": 4, "integer": 1}[kind]
	return join(`"type":"`+kind+`"`, keys), func() any { return float64(c.IntN(int(16*scale)+1)-int(8*scale)) / scale }
}

func (c *bounds) array(depth int) (string, source) {
	if c.IntN(3) == 0 {
		return c.containing()
	}
	item, draw := c.schema(depth)
	if c.IntN(10) == 0 { // within no value of the type
		item, draw = `{"type":"integer","minimum":1000,"x-nova":{"type":"int8"}}`, func() any { return c.IntN(9) - 4 }
	}
	keys := []string{`"items":` + item}
	keys = append(keys, c.limits("Items", 3)...)
	if c.IntN(3) == 0 {
		keys = append(keys, `"uniqueItems":true`)
	}
	return join(`"type":"array"`, keys), func() any {
		list := []any{}
		for range c.IntN(4) {
			list = append(list, draw())
		}
		if len(list) > 1 && c.IntN(3) == 0 {
			list[1] = list[0]
		}
		return list
	}
}

// containing draws an array and what some of its elements must be.
func (c *bounds) containing() (string, source) {
	var item, match string
	var draw source
	switch c.IntN(5) {
	case 0:
		item, draw = c.text()
		match, _ = c.text()
		match = c.pick(match, `{"const":"ab"}`, `{"enum":["a","12","x"]}`, `{"maxLength":2}`, `{}`)
	case 1:
		item, draw = c.number()
		match, _ = c.number()
		match = c.pick(match, `{"const":2}`, `{"enum":[0,1,-3]}`, `{"minimum":1}`, `{"type":"integer"}`)
	case 2:
		words := []any{"a", "b-c", "null"}
		item, draw = `{"enum":["a","b-c","null"]}`, func() any { return words[c.IntN(3)] }
		match = c.pick(`{"const":"b-c"}`, `{"enum":["null","a"]}`, `{"type":"string"}`)
	case 3:
		item, draw = `{"type":"boolean"}`, func() any { return c.IntN(2) == 0 }
		match = c.pick(`{"const":true}`, `{"const":false}`, `true`)
	case 4:
		item, draw = `{"type":"integer","x-nova":{"type":"int8"}}`, func() any { return c.IntN(9) - 4 }
		match = c.pick(`{"minimum":1000}`, `{"maximum":1000}`, `{"exclusiveMinimum":0,"multipleOf":2}`, `{"const":-3}`)
	}
	keys := []string{`"items":` + item, `"contains":` + match}
	if c.IntN(2) == 0 {
		keys = append(keys, fmt.Sprintf(`"minContains":%d`, c.IntN(3)))
	}
	if c.IntN(2) == 0 {
		keys = append(keys, fmt.Sprintf(`"maxContains":%d`, c.IntN(4)))
	}
	return join(`"type":"array"`, keys), func() any {
		list := []any{}
		for range c.IntN(5) {
			list = append(list, draw())
		}
		return list
	}
}

func (c *bounds) limits(what string, most int) (keys []string) {
	if c.IntN(3) == 0 {
		keys = append(keys, fmt.Sprintf(`"min%s":%d`, what, c.IntN(3)))
	}
	if c.IntN(3) == 0 {
		keys = append(keys, fmt.Sprintf(`"max%s":%d`, what, 1+c.IntN(most)))
	}
	return keys
}

func (c *bounds) record(depth int) (string, source) {
	value, draw := c.schema(depth)
	keys := []string{`"additionalProperties":` + value}
	if c.IntN(3) == 0 {
		keys = []string{`"patternProperties":{"^[a-z]+$":` + value + `},"additionalProperties":false`}
	}
	keys = append(keys, c.limits("Properties", 3)...)
	switch c.IntN(5) {
	case 0:
		keys = append(keys, `"propertyNames":`+c.pick(`{"maxLength":2}`, `{"enum":["a","key","é"]}`, `{"pattern":"^[a-z]","minLength":1}`, `{"pattern":"^[^/]*$"}`, `{"type":"string","format":"date"}`))
	case 1:
		keys = append(keys, `"dependentRequired":`+c.pick(`{"a":["b"]}`, `{"key":["a","Z"],"é":["key"]}`))
	}
	names := []string{"a", "b", "key", "x/~y", "Z", "é"}
	return join(`"type":"object"`, keys), func() any {
		object := map[string]any{}
		for range c.IntN(4) {
			object[names[c.IntN(len(names))]] = draw()
		}
		return object
	}
}

func (c *bounds) object(depth int) (string, source) {
	type property struct {
		draw           source
		optional, null bool
	}
	properties := map[string]property{}
	var props, required []string
	for i := range 1 + c.IntN(4) {
		name := fmt.Sprintf("p%d", i)
		value, draw := c.schema(depth - 1)
		p := property{draw, c.IntN(3) == 0, false}
		if !p.optional && c.IntN(4) == 0 {
			p.null = true
			value = `{"anyOf":[` + value + `,{"type":"null"}]}`
		}
		props = append(props, fmt.Sprintf("%q:%s", name, value))
		if !p.optional {
			required = append(required, fmt.Sprintf("%q", name))
		}
		properties[name] = p
	}
	keys := []string{`"properties":{` + strings.Join(props, ",") + `}`, `"required":[` + strings.Join(required, ",") + `]`}
	if c.IntN(4) == 0 {
		keys = append(keys, c.limits("Properties", 4)...)
	}
	if c.IntN(3) == 0 {
		var all []string
		for i := range min(len(props), 1+c.IntN(2)) {
			all = append(all, fmt.Sprintf(`"p%d":["p%d"]`, i, c.IntN(len(props))))
		}
		if len(props) > 2 {
			all[0] = `"p2":["p1","p0"]`
		}
		keys = append(keys, `"dependentRequired":{`+strings.Join(all, ",")+`}`)
	}
	return join(`"type":"object"`, keys), func() any {
		object := map[string]any{}
		for name, p := range properties {
			switch {
			case p.optional && c.IntN(2) == 0:
			case p.null && c.IntN(3) == 0:
				object[name] = nil
			default:
				object[name] = p.draw()
			}
		}
		return object
	}
}

func (c *bounds) union(depth int) (string, source) {
	var members []string
	var draws []source
	for _, tag := range []string{"a", "b"} {
		value, draw := c.schema(depth)
		members = append(members, fmt.Sprintf(`{"type":"object","properties":{"kind":{"const":%q},"v":%s},"required":["kind","v"]}`, tag, value))
		draws = append(draws, func() any { return map[string]any{"kind": tag, "v": draw()} })
	}
	return `{"anyOf":[` + strings.Join(members, ",") + `]}`, func() any { return draws[c.IntN(2)]() }
}

func join(first string, keys []string) string {
	return "{" + strings.Join(append([]string{first}, keys...), ",") + "}"
}
