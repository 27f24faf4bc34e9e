package schema_test

import (
	"strings"
	"testing"

	"github.com/ignex/nova/schema"
	"github.com/ignex/nova/wire"
)

func unionOf(members ...string) string {
	var list []string
	for _, m := range members {
		list = append(list, `{"$ref":"#/$defs/`+m+`"}`)
	}
	return `"u":{"anyOf":[` + strings.Join(list, ",") + `]}`
}

func unionDoc(properties string) string {
	defs := ""
	for _, name := range []string{"A", "B", "C"} {
		defs += `"` + name + `":{"type":"object","properties":{"kind":{"const":"` + name + `"}},"required":["kind"]},`
	}
	return `{"package":"p","$defs":{` + strings.TrimSuffix(defs, ",") + `},"events":{"e":{"type":"object","properties":{` + properties + `},"required":["u"]}}}`
}

func members(m *schema.Model) (text string) {
	for _, x := range m.Unions[0].Members {
		text += " " + x.Table.Name + "=" + string(rune('0'+x.Number))
	}
	return text
}

// The numbers of members stay through reordering; one that is gone is not given
// out again, and the field of the union keeps its two ids.
func TestLockOfUnions(t *testing.T) {
	first := readWith(t, unionDoc(`"x":{"type":"string"},`+unionOf("A", "B")), nil)
	if got := members(first); got != " A=1 B=2" {
		t.Fatal(got)
	}
	lock := lockOf(t, first)
	fields := lock.Tables["E"].Fields
	if fields["u_type"] != 1 || fields["u"] != 2 || fields["x"] != 0 {
		t.Fatal(fields)
	}
	second := readWith(t, unionDoc(unionOf("C", "B", "A")+`,"x":{"type":"string"}`), lock)
	if got := members(second); got != " A=1 B=2 C=3" {
		t.Error(got)
	}
	third := readWith(t, unionDoc(unionOf("C", "A")+`,"x":{"type":"string"}`), lockOf(t, second))
	if got := members(third); got != " A=1 C=3" {
		t.Error(got)
	}
	fourth := readWith(t, unionDoc(unionOf("B", "C", "A")), lockOf(t, third))
	if got := members(fourth); got != " A=1 B=2 C=3" {
		t.Error(got)
	}
	// A union that is removed leaves two deprecated slots.
	gone := readWith(t, `{"package":"p","events":{"e":{"type":"object","properties":{"x":{"type":"string"},"y":{"type":"string"}}}}}`, lock)
	table := gone.Events[0].Table
	if len(table.Fields) != 4 || !table.Fields[1].Deprecated || !table.Fields[2].Deprecated || table.Fields[3].WireName != "y" {
		t.Errorf("%+v", table.Fields)
	}
}

// A property that becomes a union cannot keep its id: the union's type stands
// right before it.
func TestLockPropertyBecomesUnion(t *testing.T) {
	lock := lockOf(t, readWith(t, unionDoc(`"u":{"type":"string"},"x":{"type":"string"}`), nil))
	_, err := schema.Read("s.json", []byte(unionDoc(unionOf("A", "B")+`,"x":{"type":"string"}`)), schema.Options{Lock: lock})
	if err == nil || !strings.Contains(err.Error(), `the property "u" of E is a union now and was none when its id 0 was given out; give it a new name`) {
		t.Error(err)
	}
}

// An object that becomes a member of a union loses its constant on the wire; its
// id stays taken.
func TestLockConstantLeaves(t *testing.T) {
	lock := lockOf(t, readWith(t, `{"package":"p","$defs":{"A":{"type":"object","properties":{"kind":{"const":"A"},"n":{"type":"integer"}},"required":["kind"]}},"events":{"e":{"type":"object","properties":{"u":{"$ref":"A"}}}}}`, nil))
	doc := strings.Replace(unionDoc(`"v":{"$ref":"A"},`+unionOf("A", "B")), `"kind":{"const":"A"}}`, `"kind":{"const":"A"},"n":{"type":"integer"}}`, 1)
	m := readWith(t, strings.Replace(doc, `"u":{"anyOf"`, `"w":{"anyOf"`, 1)[:len(doc)-len(`,"required":["u"]}}}`)]+`}}}`, lock)
	for _, table := range m.Tables {
		if table.Name == "A" && (len(table.Fields) != 2 || !table.Fields[0].Deprecated || table.Fields[1].Kind != wire.Int64 || table.Fields[1].ID != 1) {
			t.Errorf("%+v", table.Fields)
		}
	}
}

// Recursive schemas are told apart and recognised like any others: a copy under
// the same name is the same, whatever stands around it.
func TestRecursiveForms(t *testing.T) {
	node := func(extra string) string {
		return `{"$id":"Node","type":"object","properties":{"kids":{"type":"array","items":{"$ref":"Node"}}` + extra + `}}`
	}
	m := readWith(t, `{"package":"p","events":{"a":{"type":"object","properties":{"x":`+node("")+`}},"b":`+node("")+`}}`, nil)
	if len(m.Tables) != 2 || m.Events[1].Table.Name != "Node" || m.Events[0].Table.Fields[0].Table != m.Events[1].Table {
		t.Errorf("%d tables", len(m.Tables))
	}
	_, err := schema.Read("s.json", []byte(`{"package":"p","events":{"a":`+node("")+`,"b":`+node(`,"n":{"type":"string"}`)+`}}`), schema.Options{})
	if err == nil || !strings.Contains(err.Error(), `the name "Node" stands for two different schemas`) {
		t.Error(err)
	}
	// TypeBox 0.34 counts anonymous recursive types: their names are of no meaning.
	anonymous := func(id string) string {
		return `{"$id":"` + id + `","type":"object","properties":{"next":{"$ref":"` + id + `"}}}`
	}
	m = readWith(t, `{"package":"p","$defs":{"List":`+anonymous("T0")+`},"events":{"a":{"type":"object","properties":{"x":`+anonymous("T7")+`}}}}`, nil)
	if got := m.Events[0].Table.Fields[0].Table.Name; got != "List" {
		t.Errorf("the copy of List is called %s", got)
	}
}
