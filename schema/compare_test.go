package schema_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ignex/nova/schema"
)

// one is a document of one event e with the properties of an object, and required.
func one(properties, required string) string {
	return fmt.Sprintf(`{"package":"p","events":{"e":{"type":"object","properties":{%s},"required":[%s]}}}`, properties, required)
}

func readAll(t *testing.T, text string, lock *schema.Lock) *schema.Model {
	t.Helper()
	m, err := schema.Read("s.json", []byte(text), schema.Options{Lock: lock})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

var changes = []struct {
	name       string
	older      string
	newer      string
	want       []string // severity, path and the beginning of the text
	lockMisses bool     // what a lock file does not know
}{
	{"nothing", one(`"a":{"type":"string"}`, `"a"`), one(`"a":{"type":"string"}`, `"a"`), nil, false},
	{"reordered", one(`"a":{"type":"string"},"b":{"type":"number"}`, `"a","b"`), one(`"b":{"type":"number"},"a":{"type":"string"}`, `"a","b"`), nil, false},
	{"type", one(`"a":{"type":"string"}`, `"a"`), one(`"a":{"type":"number"}`, `"a"`),
		[]string{"breaking e.a: it was string and is double"}, false},
	{"array", one(`"a":{"type":"string"}`, `"a"`), one(`"a":{"type":"array","items":{"type":"string"}}`, `"a"`),
		[]string{"breaking e.a: it was string and is an array of string"}, false},
	{"removed required", one(`"a":{"type":"string"},"b":{"type":"number"}`, `"a","b"`), one(`"a":{"type":"string"}`, `"a"`),
		[]string{"breaking e.b: a required property is gone"}, false},
	{"removed optional", one(`"a":{"type":"string"},"b":{"type":"number"}`, `"a"`), one(`"a":{"type":"string"}`, `"a"`),
		[]string{"safe e.b: a property that could be missing is gone"}, false},
	{"renamed", one(`"a":{"type":"string"},"b":{"type":"number"}`, `"a","b"`), one(`"a":{"type":"string"},"c":{"type":"number"}`, `"a","c"`),
		[]string{`breaking e.b: a required property is gone; older readers get its zero value; if it was renamed to "c"`, "note e.c: a new required property"}, false},
	{"new required", one(`"a":{"type":"string"}`, `"a"`), one(`"z":{"type":"number"},"a":{"type":"string"}`, `"a","z"`),
		[]string{"note e.z: a new required property"}, false},
	{"new optional", one(`"a":{"type":"string"}`, `"a"`), one(`"z":{"type":"number"},"a":{"type":"string"}`, `"a"`),
		[]string{"safe e.z: a new property that may be missing"}, false},
	{"became required", one(`"a":{"type":"string"}`, ``), one(`"a":{"type":"string"}`, `"a"`),
		[]string{"breaking e.a: it could be missing and is required now"}, false},
	{"became optional", one(`"a":{"type":"string"}`, `"a"`), one(`"a":{"type":"string"}`, ``),
		[]string{"note e.a: it was required and may be missing now"}, false},
	{"optional to nullable", one(`"a":{"type":"string"}`, ``), one(`"a":{"anyOf":[{"type":"string"},{"type":"null"}]}`, `"a"`),
		[]string{"safe e.a: optional and nullable are the same bytes"}, false},
	{"bigint", one(`"a":{"type":"integer"}`, `"a"`), one(`"a":{"type":"bigint"}`, `"a"`),
		[]string{"note e.a: it was an integer and is a bigint"}, true},
	{"enum", one(`"a":{"enum":["x","y"]}`, `"a"`), one(`"a":{"enum":["z","y"]}`, `"a"`),
		[]string{`breaking e.a: the value "x" is gone`, `safe e.a: a new value "z"`}, false},
	{"fewer numbers", one(`"a":{"enum":[1,2]}`, `"a"`), one(`"a":{"enum":[1,3]}`, `"a"`),
		[]string{"note e.a: the value 2 is not allowed any more"}, true},
	{"constraints", one(`"a":{"type":"string","minLength":3,"maxLength":9},"l":{"type":"array","items":{"type":"number"},"maxItems":3}`, `"a","l"`),
		one(`"a":{"type":"string","minLength":2,"maxLength":8,"pattern":"^x"},"l":{"type":"array","items":{"type":"number","minimum":1},"maxItems":3}`, `"a","l"`),
		[]string{"note e.a: maxLength 8 was maxLength 9", `note e.a: pattern "^x" is new`, "note e.l: minimum 1 is new"}, true},
	{"contains", one(`"l":{"type":"array","items":{"type":"string"},"contains":{"const":"a"},"maxContains":3},"k":{"type":"array","items":{"type":"string"}}`, `"l","k"`),
		one(`"l":{"type":"array","items":{"type":"string"},"contains":{"const":"a"},"maxContains":2},"k":{"type":"array","items":{"type":"string"},"contains":{"maxLength":2}}`, `"l","k"`),
		[]string{`note e.k: contains at least 1 of {"maxLength":2} is new`, `note e.l: contains 1 to 2 of {"const":"a"} was contains 1 to 3 of {"const":"a"}`}, true},
	{"constraints in a member of allOf", one(`"o":{"allOf":[{"type":"object","properties":{"x":{"type":"string"}}},{"type":"object","properties":{"y":{"type":"string"}}}]}`, `"o"`),
		one(`"o":{"allOf":[{"type":"object","properties":{"x":{"type":"string"}},"minProperties":1},{"type":"object","properties":{"y":{"type":"string"}},"dependentRequired":{"y":["x"]}}]}`, `"o"`),
		[]string{"note e.o: minProperties 1 is new", `note e.o: dependentRequired ["x"] beside "y" is new`}, true},
	{"fewer elements that match", one(`"l":{"type":"array","items":{"type":"string"},"contains":{"const":"a"},"minContains":2}`, `"l"`),
		one(`"l":{"type":"array","items":{"type":"string"},"contains":{"const":"a"}}`, `"l"`), nil, true},
	{"keys", one(`"m":{"type":"object","additionalProperties":{"type":"string"},"propertyNames":{"maxLength":3}}`, `"m"`),
		one(`"m":{"type":"object","additionalProperties":{"type":"string"},"propertyNames":{"maxLength":2},"dependentRequired":{"a":["b"]}}`, `"m"`),
		[]string{`note e.m: propertyNames {"maxLength":2} was propertyNames {"maxLength":3}`, `note e.m: dependentRequired ["b"] beside "a" is new`}, true},
	{"a nested type under another name",
		`{"package":"p","$defs":{"A":{"type":"object","properties":{"x":{"type":"string"}},"required":["x"]}},"events":{"e":{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"required":["a"]}}}`,
		`{"package":"p","$defs":{"B":{"type":"object","properties":{"x":{"type":"string"},"y":{"type":"string"}},"required":["x"]}},"events":{"e":{"type":"object","properties":{"a":{"$ref":"#/$defs/B"}},"required":["a"]}}}`,
		[]string{"safe e.a.y: a new property"}, false},
	{"events", `{"package":"p","events":{"e":{"type":"object","properties":{}},"f":{"type":"object","properties":{}}}}`,
		`{"package":"p","events":{"e":{"type":"object","properties":{}},"g":{"type":"object","properties":{}}}}`,
		[]string{"note f: the event is gone", "safe g: a new event"}, false},
	{"options", `{"package":"p","events":{"e":{"type":"object","properties":{"k":{"type":"string"}},"required":["k"],"x-nova":{"delivery":"must","inbound":true}}}}`,
		`{"package":"p","events":{"e":{"type":"object","properties":{"k":{"type":"string"}},"required":["k"],"x-nova":{"delivery":"latest","key":"k"}}}}`,
		[]string{"note e: delivery was must and is latest", `note e: the key was none and is "k"`, "note e: clients may not send it any more"}, true},
	{"calls", `{"package":"p","events":{},"calls":{"c":{"request":{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}},"d":{"request":{"type":"object","properties":{}}}}}`,
		`{"package":"p","events":{},"calls":{"c":{"request":{"type":"object","properties":{"q":{"type":"integer"}},"required":["q"]}}}}`,
		[]string{"breaking call c request q: it was string and is int64", "note call d: the call is gone"}, false},
	{"union", one(`"s":{"anyOf":[{"type":"object","properties":{"k":{"const":"a"},"x":{"type":"string"}},"required":["k","x"]},{"type":"object","properties":{"k":{"const":"b"}},"required":["k"]}]}`, `"s"`),
		one(`"s":{"anyOf":[{"type":"object","properties":{"k":{"const":"c"}},"required":["k"]},{"type":"object","properties":{"k":{"const":"a"},"x":{"type":"number"}},"required":["k","x"]}]}`, `"s"`),
		[]string{`breaking e.s: the member "b" is gone`, "breaking e.s(a).x: it was string and is double", `safe e.s: a new member "c"`}, true},
	{"recursive", `{"package":"p","$defs":{"N":{"type":"object","properties":{"v":{"type":"string"},"next":{"$ref":"#/$defs/N"}},"required":["v"]}},"events":{"e":{"$ref":"#/$defs/N"}}}`,
		`{"package":"p","$defs":{"N":{"type":"object","properties":{"v":{"type":"string"},"next":{"$ref":"#/$defs/N"},"w":{"type":"string"}},"required":["v"]}},"events":{"e":{"$ref":"#/$defs/N"}}}`,
		[]string{"safe e.w: a new property"}, false},
}

func TestCompare(t *testing.T) {
	for _, c := range changes {
		t.Run(c.name, func(t *testing.T) {
			older := readAll(t, c.older, nil)
			lock := schema.NewLock(older)
			// As generate would give the numbers, but for the types that it refuses.
			pinned := schema.NewLock(older)
			pinned.Types = nil
			newer := readAll(t, c.newer, pinned)
			judge(t, "models", schema.Compare(older, newer, schema.CompareOptions{}), c.want)
			written, err := schema.ReadLock("nova.lock.json", lock.Encode())
			if err != nil {
				t.Fatal(err)
			}
			if !c.lockMisses {
				judge(t, "lock", schema.Compare(written.Model(), newer, schema.CompareOptions{}), c.want)
			}
			if got := schema.Compare(newer, newer, schema.CompareOptions{}); len(got) > 0 {
				t.Errorf("with itself: %v", got)
			}
		})
	}
}

func judge(t *testing.T, what string, got []schema.Change, want []string) {
	t.Helper()
	var lines []string
	for _, c := range got {
		lines = append(lines, fmt.Sprintf("%v %s: %s", c.Severity, c.Path, c.What))
	}
	ok := len(lines) == len(want)
	for i := 0; ok && i < len(want); i++ {
		ok = strings.HasPrefix(lines[i], want[i])
	}
	if !ok {
		t.Errorf("%s:\n%s\nwant\n%s", what, strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
}

// Without the lock file numbers move, and one number may mean two things.
func TestCompareUnpinned(t *testing.T) {
	older := readAll(t, one(`"a":{"type":"string"},"b":{"type":"string"}`, `"a","b"`), nil)
	newer := readAll(t, one(`"b":{"type":"string"},"c":{"type":"string"}`, `"b","c"`), nil)
	judge(t, "unpinned", schema.Compare(older, newer, schema.CompareOptions{}), []string{
		`breaking e.a: it is gone and its number 0 belongs to "b" now`,
		"breaking e.b: its number was 1 and is 0: keep the lock file",
		"note e.c: a new required property",
	})
	enum := readAll(t, one(`"a":{"enum":["x","y"]}`, `"a"`), nil)
	moved := readAll(t, one(`"a":{"enum":["y","x"]}`, `"a"`), nil)
	judge(t, "enum", schema.Compare(enum, moved, schema.CompareOptions{}), []string{
		`breaking e.a: the number of "x" was 0 and is 1`, `breaking e.a: the number of "y" was 1 and is 0`})
}

func TestCompareStrict(t *testing.T) {
	older := readAll(t, `{"package":"p","events":{"e":{"type":"object","properties":{}},"f":{"type":"object","properties":{}}}}`, nil)
	newer := readAll(t, `{"package":"p","events":{"e":{"type":"object","properties":{}}}}`, schema.NewLock(older))
	judge(t, "strict", schema.Compare(older, newer, schema.CompareOptions{Strict: true}), []string{"breaking f: the event is gone"})
}

// A lock file refuses another type under a number that was given out.
func TestLockKeepsTypes(t *testing.T) {
	lock := schema.NewLock(readAll(t, one(`"a":{"type":"string"}`, `"a"`), nil))
	lock, err := schema.ReadLock("nova.lock.json", lock.Encode())
	if err != nil {
		t.Fatal(err)
	}
	_, err = schema.Read("s.json", []byte(one(`"a":{"type":"number"}`, `"a"`)), schema.Options{Lock: lock})
	if err == nil || !strings.Contains(err.Error(), `the property "a" of E was string when its number 0 was given out and is double now`) ||
		!strings.Contains(err.Error(), "nova check") {
		t.Errorf("%v", err)
	}
	// What was removed stays removed for a comparison with the lock.
	again := schema.NewLock(readAll(t, one(`"a":{"type":"string"},"k":{"enum":["x","y"]}`, `"a","k"`), lock))
	fewer := readAll(t, one(`"a":{"type":"string"},"k":{"enum":["y"]}`, `"a","k"`), again)
	judge(t, "removed", schema.Compare(schema.NewLock(fewer).Model(), fewer, schema.CompareOptions{}), nil)
}
