package schema_test

import (
	"strings"
	"testing"

	"github.com/ignex/nova/schema"
)

func event(properties, required string) string {
	return `{"package":"p","events":{"e":{"type":"object","properties":{` + properties + `},"required":[` + required + `]}}}`
}

func lockOf(t *testing.T, m *schema.Model) *schema.Lock {
	t.Helper()
	l, err := schema.ReadLock("nova.lock.json", schema.NewLock(m).Encode())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func readWith(t *testing.T, src string, lock *schema.Lock) *schema.Model {
	t.Helper()
	m, err := schema.Read("s.json", []byte(src), schema.Options{Lock: lock})
	if err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	if _, err := m.Layout(); err != nil {
		t.Fatal(err)
	}
	return m
}

const (
	fieldsABC = `"a":{"type":"string"},"b":{"enum":["x","y"]},"deprecated":{"type":"number"}`
	wantABC   = `{
  "calls": {},
  "enums": {
    "EB": {
      "x": 0,
      "y": 1
    }
  },
  "events": {
    "e": {
      "id": 3758891744,
      "table": "E"
    }
  },
  "tables": {
    "E": {
      "a": 0,
      "b": 1,
      "deprecated_": 2
    }
  },
  "types": {
    "E": {
      "a": "string o",
      "b": "enum:EB o",
      "deprecated": "double o"
    }
  },
  "unions": {},
  "wire": 2
}
`
)

func TestLockFile(t *testing.T) {
	m := readWith(t, event(fieldsABC, ""), nil)
	if got := string(schema.NewLock(m).Encode()); got != wantABC {
		t.Errorf("got\n%s\nwant\n%s", got, wantABC)
	}
	again := readWith(t, event(fieldsABC, ""), lockOf(t, m))
	if got := string(schema.NewLock(again).Encode()); got != wantABC || again.Fingerprint() != m.Fingerprint() {
		t.Errorf("a second generation differs:\n%s", got)
	}
}

// TestLockEvolution reorders, removes and adds over three generations.
func TestLockEvolution(t *testing.T) {
	first := readWith(t, event(fieldsABC, ""), nil)
	second := readWith(t, event(`"new":{"type":"string"},"b":{"enum":["z","y"]},"deprecated":{"type":"number"}`, ""), lockOf(t, first))
	type slot struct {
		name    string
		removed bool
	}
	var got []slot
	for i, f := range second.Tables[0].Fields {
		if f.ID != i {
			t.Errorf("field %s stands at %d with id %d", f.WireName, i, f.ID)
		}
		got = append(got, slot{f.WireName, f.Deprecated})
	}
	want := []slot{{"a", true}, {"b", false}, {"deprecated", false}, {"new", false}}
	if len(got) != len(want) || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] || got[3] != want[3] {
		t.Errorf("fields %v, want %v", got, want)
	}
	values := second.Enums[0].Values
	if len(values) != 3 || values[0].Literal != "x" || !values[0].Removed || values[1].Literal != "y" || values[1].Removed || values[2].Literal != "z" || values[2].Number != 2 {
		t.Errorf("values %+v", values)
	}
	lock := lockOf(t, second)
	if d := lock.Tables["E"].Deprecated; len(d) != 1 || d[0] != "a" {
		t.Errorf("deprecated %q", d)
	}

	third := readWith(t, `{"package":"p","events":{"f":{"type":"object","properties":{"q":{"type":"string"}}}}}`, lock)
	fourth := readWith(t, event(`"b":{"enum":["x"]},"c":{"type":"string"}`, ""), lockOf(t, third))
	if f := fourth.Tables[0].Fields; len(f) != 5 || f[1].JSON != "b" || f[4].JSON != "c" || !f[2].Deprecated {
		t.Errorf("a table that came back has lost its numbers: %+v", f)
	}
	if v := fourth.Enums[0].Values[0]; v.Literal != "x" || v.Removed {
		t.Errorf("a literal that came back is %+v", v)
	}

	_, err := schema.Read("s.json", []byte(event(`"a":{"type":"string"},"b":{"enum":["x"]}`, "")), schema.Options{Lock: lock})
	if err == nil || !strings.Contains(err.Error(), `the property "a" was removed from E earlier and its id 0 stays taken; give it a new name`) ||
		!strings.Contains(err.Error(), `take "a" out of "deprecated"`) {
		t.Errorf("%v", err)
	}
}

func TestLockConflicts(t *testing.T) {
	for _, c := range []struct{ lock, want string }{
		{`{"wire":2,"tables":{"E":{"a":0,"b":0}}}`, `nova.lock.json:1:36: /tables/E/b: the fields "a" and "b" have the same id 0; restore the file from version control`},
		{`{"wire":2,"tables":{"E":{"a":0,"b":2}}}`, `nova.lock.json:1:25: /tables/E: the ids have gaps: "b" is 2 in a table of 2 fields`},
		{`{"wire":2,"tables":{"E":{"a":-1}}}`, `-1 where a number from 0 to 65535 should stand`},
		{`{"wire":2,"tables":{"E":{"a":0,"deprecated":["b"]}}}`, `"deprecated" names "b", which has no id`},
		{`{"wire":2,"tables":{"E":{"A b":0}}}`, `"A b" is no field name`},
		{`{"wire":2,"enums":{"V":{"x":1}}}`, `/enums/V: no literal has the value 0`},
		{`{"wire":2,"enums":{"V":{"x":0,"y":0}}}`, `the literals "x" and "y" have the same value 0`},
		{`{"wire":3}`, `the lock file is not of wire version 2`},
		{`[]`, `the lock file is not of wire version 2`},
		{`{"wire":2,"tabels":{}}`, `unknown key "tabels"`},
		{`{"wire":2,"tables":[]}`, `a list where an object should stand`},
		{`{"wire":2,"events":{"e":{"id":5,"table":"E"}}}`, `the id of the event "e" is not the hash of its name`},
		{`{"wire":2,`, `the file ends where`},
	} {
		l, err := schema.ReadLock("nova.lock.json", []byte(c.lock))
		if err == nil || l != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s:\n%v", c.lock, err)
		}
	}
}

// TestLockOfAnotherSchema: two schemas in one folder would take each other's
// numbers for removed ones.
func TestLockOfAnotherSchema(t *testing.T) {
	other := lockOf(t, readWith(t, `{"package":"p","events":{"a":{"type":"object","properties":{"id":{"type":"string"},"qty":{"type":"integer"}}}},"$defs":{}}`, nil))
	src := `{"package":"q","events":{"b":{"$ref":"A"}},"$defs":{"A":{"type":"object","properties":{"px":{"type":"number"}}}}}`
	const want = "nova.lock.json looks like that of another schema: it has none of these events and calls, and another A; when two schemas stand in one folder,"
	if m := readWith(t, src, other); len(m.Warnings) != 1 || !strings.Contains(m.Warnings[0].String(), want) {
		t.Errorf("%v, want %s", m.Warnings, want)
	}
	// A new name for every event is no other schema.
	renamed := `{"package":"p","events":{"z":{"$ref":"A"}},"$defs":{"A":{"type":"object","properties":{"qty":{"type":"integer"},"id":{"type":"string"}}}}}`
	if m := readWith(t, renamed, other); m.Tables[0].Fields[0].JSON != "id" || len(m.Warnings) != 0 {
		t.Errorf("fields %+v, warnings %v", m.Tables[0].Fields[0], m.Warnings)
	}
}

// TestLockRenamedTypes: the lock pins by name, so that a renamed type starts
// anew; when that moves numbers it is told.
func TestLockRenamedTypes(t *testing.T) {
	doc := func(table, enum, properties, literals string) string {
		return `{"package":"p","events":{"e":{"$ref":"` + table + `"}},"$defs":{"` + enum + `":{"enum":[` + literals + `]},
			"` + table + `":{"type":"object","properties":{` + strings.ReplaceAll(properties, "ENUM", enum) + `}}}}`
	}
	const two, swapped = `"a":{"type":"string"},"b":{"$ref":"ENUM"}`, `"b":{"$ref":"ENUM"},"a":{"type":"string"}`
	lock := lockOf(t, readWith(t, doc("T", "E1", two, `"x","y"`), nil))
	for _, c := range []struct {
		src  string
		want []string
	}{
		{doc("T2", "E2", two, `"x","y"`), nil},    // nothing moves
		{doc("T", "E1", swapped, `"y","x"`), nil}, // pinned
		{doc("T2", "E1", swapped, `"x","y"`), []string{"the object T2 looks like T of"}},
		{doc("T", "E2", two, `"z","x","y"`), []string{"the enum E2 looks like E1 of"}},
		{doc("T", "E2", two, `"z","y"`), nil}, // another enum
	} {
		m := readWith(t, c.src, lock)
		if len(m.Warnings) != len(c.want) {
			t.Errorf("%s\nwarnings %v, want %v", c.src, m.Warnings, c.want)
			continue
		}
		for i, w := range m.Warnings {
			if !strings.Contains(w.String(), c.want[i]) {
				t.Errorf("warning %q, want %q", w, c.want[i])
			}
		}
	}
}

// The lock is written by nova, so that its fix is never to write JSON.
func TestLockSyntax(t *testing.T) {
	for _, src := range []string{"", "<<<<<<< HEAD\n{}", `{"wire":`} {
		if _, err := schema.ReadLock("nova.lock.json", []byte(src)); err == nil || !strings.Contains(err.Error(), "restore the file from version control") {
			t.Errorf("%q: %v", src, err)
		}
	}
}
