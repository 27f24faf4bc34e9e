package schema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/ignex/nova/schema"
	"github.com/ignex/nova/wire"
)

func tableOf(t *testing.T, m *schema.Model, event string) *schema.Table {
	t.Helper()
	for _, e := range m.Events {
		if e.Name == event {
			return e.Table
		}
	}
	t.Fatalf("no event %s", event)
	return nil
}

func TestMarket(t *testing.T) {
	m := read(t, string(file(t, "../market/schema.json")))
	for event, want := range map[string]string{
		"quote":     "{symbol:string bid:double ask:double bidSize:int64 askSize:int64 ts:int64}",
		"trade":     "{symbol:string price:double volume:int64 side:enum(buy sell) ts:int64}",
		"portfolio": "{accountId:string positions:[{symbol:string quantity:int64 avgPrice:double pnl:double}] totalValue:double cash:double ts:int64 updatedBy:string?}",
		"complex":   "{id:string names:[string] prices:[double] counts:[int64] flags:[bool] tags:[enum(hot new sale)] active:bool total:double ts:int64}",
		"bigVal":    "{id:string seq:bigint when:int64}",
		"chat":      "{room:string text:string ts:int64}",
	} {
		if got := describeTable(tableOf(t, m, event)); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", event, got, want)
		}
	}
	ids := map[string]uint32{"quote": 0xb2887bd7, "trade": 0x51366e59, "portfolio": 0x1bac42e3}
	for _, e := range m.Events {
		if want, ok := ids[e.Name]; ok && e.ID != want {
			t.Errorf("%s: id %#x, want %#x", e.Name, e.ID, want)
		}
	}
	quote, order, chat := m.Events[0], m.Events[4], m.Events[6]
	if quote.Delivery != wire.DeliverLatest || quote.Key == nil || quote.Key.JSON != "symbol" || !quote.Compress {
		t.Errorf("quote: %+v", quote)
	}
	if order.Delivery != wire.DeliverMust || !chat.Inbound || chat.Delivery != wire.DeliverDefault || chat.Retain != wire.RetainAll {
		t.Errorf("order %+v, chat %+v", order, chat)
	}
	if len(m.Calls) != 1 || m.Calls[0].GoName != "GetQuoteCall" || m.Calls[0].Request.Name != "GetQuoteRequest" || m.Calls[0].Response.Name != "Quote" {
		t.Errorf("calls %+v", m.Calls)
	}
	if len(m.Warnings) != 0 {
		t.Errorf("warnings %v", m.Warnings)
	}
}

func TestEarthquakes(t *testing.T) {
	m := read(t, string(file(t, "../examples/seismic/schema.json")))
	want := "{id:string mag:double place:string time:int64 updated:int64 tz:int64 felt:int64~ cdi:double~ mmi:double~ " +
		"alert:enum(green yellow orange red)~ status:enum(automatic reviewed deleted) tsunami:bool sig:int64 net:string code:string " +
		"sources:[string] nst:int64~ dmin:double~ rms:double~ gap:double~ magType:enum(ml md mb mww mb_lg mwr mw) " +
		`type:enum(earthquake explosion quarry blast) title:string location:{longitude:double latitude:double depth:double}}`
	if got := describeTable(m.Events[0].Table); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestWholeDocuments reads the documents that TypeBox users have: inlined
// schemas, and a Module as schemas.
func TestWholeDocuments(t *testing.T) {
	var shapes []shape
	if err := json.Unmarshal(file(t, "testdata/typebox-shapes.json"), &shapes); err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{
		"inlined, as JSON.stringify({schemas,events,calls})": {"Quote {s:string side:enum(buy sell)}", "Many {qs:[{s:string side:enum(buy sell)}] last:{s:string side:enum(buy sell)}?}", "GetRequest {s:string}"},
		"a Module as schemas":                                {"P {qs:[{s:string}]}", "Q {s:string}"},
	}
	for _, s := range shapes {
		if want[s.Name] == nil {
			continue
		}
		print := ""
		for version, out := range s.Out {
			m, err := schema.Read("s.json", []byte(out), schema.Options{Package: "lab"})
			if err != nil {
				t.Errorf("%s / %s: %v", s.Name, version, err)
				continue
			}
			var got []string
			for _, table := range m.Tables {
				got = append(got, table.Name+" "+describeTable(table))
			}
			if !reflect.DeepEqual(got, want[s.Name]) {
				t.Errorf("%s / %s:\ngot  %q\nwant %q", s.Name, version, got, want[s.Name])
			}
			if print != "" && print != m.Fingerprint() {
				t.Errorf("%s / %s: another fingerprint", s.Name, version)
			}
			print = m.Fingerprint()
			for _, e := range m.Enums {
				if e.Name != "Side" {
					t.Errorf("enum %s", e.Name)
				}
			}
		}
		delete(want, s.Name)
	}
	if len(want) > 0 {
		t.Errorf("not in the data: %v", want)
	}
}

// TestInlineMatches shows which named schema an inline one stands for.
func TestInlineMatches(t *testing.T) {
	const sub = `{"type":"object","required":["topic"],"properties":{"topic":{"type":"string"}}}`
	m := read(t, `{"package":"p","schemas":{"Join":`+sub+`,"Leave":`+sub+`,"Color":{"anyOf":[{"const":"red"},{"const":"blue"}]},
		"Sub":{"type":"object","properties":{"topic":{"type":"string"}}}},
		"events":{
			"leave":`+sub+`, "other":`+sub+`,
			"described":{"description":"d","type":"object","properties":{"topic":{"type":"string","title":"t"}},"required":["topic"]},
			"optional":{"type":"object","properties":{"topic":{"type":"string"}}},
			"longer":{"type":"object","required":["topic"],"properties":{"topic":{"type":"string","minLength":1}}},
			"e":{"type":"object","properties":{"c":{"enum":["blue","red"]},"leave":`+sub+`,"x":{"anyOf":[`+sub+`,{"type":"null"}]}}}}}`)
	for event, want := range map[string]string{"leave": "Leave", "other": "Join", "described": "Join", "optional": "Sub", "longer": "Longer"} {
		if got := tableOf(t, m, event).Name; got != want {
			t.Errorf("%s is %s, want %s", event, got, want)
		}
	}
	e := tableOf(t, m, "e")
	if e.Fields[0].Enum.Name != "Color" || e.Fields[0].Enum.Values[0].Literal != "red" {
		t.Errorf("c: %+v", e.Fields[0].Enum)
	}
	if e.Fields[1].Table.Name != "Leave" || e.Fields[2].Table.Name != "Join" {
		t.Errorf("leave is %s, x is %s", e.Fields[1].Table.Name, e.Fields[2].Table.Name)
	}
}

func TestReferences(t *testing.T) {
	m := read(t, `{"package":"p","definitions":{"A":{"type":"object","properties":{"a":{"type":"string"}}},"a/b~c":{"type":"object","properties":{"t":{"type":"string"}}}},
		"$defs":{"B":{"$id":"urn:b","type":"object","properties":{"b":{"type":"string"}}},"Alias":{"$ref":"A"}},
		"events":{"e":{"type":"object","properties":{
			"byPointer":{"$ref":"#/definitions/A"},"byName":{"$ref":"B"},"byID":{"$ref":"urn:b"},"alias":{"$ref":"#/$defs/Alias"},
			"escaped":{"$ref":"#/definitions/a~1b~0c"},
			"local":{"$defs":{"L":{"type":"object","properties":{"l":{"type":"string"}}}},"anyOf":[{"$ref":"L"},{"type":"null"}]},
			"again":{"allOf":[{"$defs":{"L":{"type":"object","properties":{"l":{"title":"other words","type":"string"}}}},"$ref":"#/$defs/L"}]}}}}}`)
	want := map[string]string{"byPointer": "A", "byName": "B", "byID": "B", "alias": "A", "escaped": "ABC", "local": "L", "again": "L"}
	for _, f := range m.Events[0].Table.Fields {
		if f.Table.Name != want[f.JSON] {
			t.Errorf("%s is %s, want %s", f.JSON, f.Table.Name, want[f.JSON])
		}
	}
}

func TestSpellingsOfNull(t *testing.T) {
	for _, c := range []struct{ shape, want string }{
		{`{"type":["string","null"]}`, "string~"},
		{`{"type":["null","integer"]}`, "int64~"},
		{`{"type":"string","nullable":true}`, "string~"},
		{`{"oneOf":[{"type":"null"},{"type":"boolean"}]}`, "bool~"},
		{`{"enum":["a",null]}`, "enum(a)~"},
		{`{"type":["string","null"],"enum":["a","b",null]}`, "enum(a b)~"},
		{`{"anyOf":[{"const":"a"},{"const":null}]}`, "enum(a)~"},
		{`{"anyOf":[{"anyOf":[{"type":"number"},{"type":"undefined"}]},{"type":"null"}]}`, "double?~"},
		{`{"anyOf":[{"type":"string"},{"type":"undefined"}]}`, "string?"},
		{`{"nullable":true,"type":"array","items":{"type":"string"}}`, "[string]~"},
		{`{"type":"integer","bigint":true}`, "bigint"},
		{`{"type":"integer","x-nova":{"bigint":true}}`, "bigint"},
		{`{"type":["bigint","null"]}`, "bigint~"},
		{`{"type":"array","items":{"type":"bigint"}}`, "[bigint]"},
		{`{"enum":[3,1,2,1]}`, "int64(1 2 3)"},
		{`{"const":-0}`, "int64(0)"},
		{`{"enum":[1,1.5,null]}`, "double(1 1.5)~"},
		{`{"type":"string","contentEncoding":"base64","nullable":true}`, "bytes~"},
		{`{"enum":[true,false]}`, "bool"},
	} {
		if got, _ := asField(t, c.shape); got != c.want {
			t.Errorf("%s: %s, want %s", c.shape, got, c.want)
		}
	}
}

func TestEventOptions(t *testing.T) {
	m := read(t, `{"package":"p","title":"Title","description":"Words */ here.",
		"$defs":{"Card":{"type":"object","description":"a card","properties":{"pan":{"type":"string","x-nova":{"secret":true}},"n":{"type":"integer"}},"required":["pan","n"],
			"x-nova":{"delivery":"drop","key":"n"}}},
		"events":{
			"a":{"$ref":"Card","x-nova":{"delivery":"latest","retain":"latest","key":"pan","inbound":true,"internal":true,"compress":false}},
			"b":{"$ref":"Card","x-nova":{"retain":false,"delivery":"latest"},"description":"own words"},
			"c":{"type":"object","properties":{"cards":{"type":"array","items":{"$ref":"Card"}}}}},
		"controlEvents":{"d":{"$ref":"Card","x-nova":{"retain":true}}}}`)
	a, b, c, d := m.Events[0], m.Events[1], m.Events[2], m.Events[3]
	if a.Delivery != wire.DeliverLatest || a.Retain != wire.RetainLatest || a.Key.JSON != "pan" || !a.Inbound || !a.Internal || a.Compress {
		t.Errorf("a: %+v", a)
	}
	if b.Delivery != wire.DeliverLatest || b.Retain != wire.RetainNone || b.Key.JSON != "n" || b.Inbound || b.Internal || !b.Compress || b.Doc != "own words" {
		t.Errorf("b: %+v", b)
	}
	if c.Delivery != wire.DeliverDefault || c.Key != nil || d.Delivery != wire.DeliverDrop || !d.Internal || d.Retain != wire.RetainAll || d.Doc != "a card" {
		t.Errorf("c: %+v\nd: %+v", c, d)
	}
	if f := a.Table.Fields; !f[0].Secret || f[1].Secret {
		t.Errorf("secret: %v %v", f[0].Secret, f[1].Secret)
	}
	if m.Doc != "Title\n\nWords */ here." {
		t.Errorf("doc %q", m.Doc)
	}
}

func TestPlaces(t *testing.T) {
	src := "\xef\xbb\xbf{\r\n \"package\": \"p\",\n \"events\": {\n  \"ä\\\"x\": 1,\n\t\"e\": {\"type\":\"object\",\"properties\":{\"a/b\":\n   {\"type\":\"any\"}}}\n}}"
	_, err := schema.Read("dir/s.json", []byte(src), schema.Options{})
	var problems schema.Errors
	if !errors.As(err, &problems) || len(problems) != 2 {
		t.Fatalf("%v", err)
	}
	if want := (schema.Pos{File: "dir/s.json", Line: 4, Column: 12, Pointer: `/events/ä"x`}); problems[0].Pos != want {
		t.Errorf("%+v, want %+v", problems[0].Pos, want)
	}
	if want := (schema.Pos{File: "dir/s.json", Line: 6, Column: 4, Pointer: "/events/e/properties/a~1b"}); problems[1].Pos != want {
		t.Errorf("%+v, want %+v", problems[1].Pos, want)
	}
}

func TestLimits(t *testing.T) {
	for name, src := range map[string]string{
		"is nested deeper than 1000":  strings.Repeat("[", 100_000),
		"bytes; split it":             strings.Repeat(" ", 9<<20),
		"the file is UTF-16":          "\xff\xfe{\x00",
		"bytes that are not UTF-8":    "{\"a\":\"\xff\"}",
		"more than 1000 references":   chain(3000),
		"schema has more than 262144": longEnums(),
	} {
		_, err := schema.Read("s.json", []byte(src), schema.Options{})
		if name = strings.TrimPrefix(name, "is "); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %.300v", name, err)
		}
	}
}

// chain makes n definitions that each refer to the next.
func chain(n int) string {
	var b strings.Builder
	b.WriteString(`{"package":"p","events":{"e":{"$ref":"D0"}},"$defs":{`)
	for i := range n {
		b.WriteString(`"D` + itoa(i) + `":{"$ref":"D` + itoa(i+1) + `"},`)
	}
	b.WriteString(`"D` + itoa(n) + `":{"type":"object","properties":{}}}}`)
	return b.String()
}

func itoa(i int) string { b, _ := json.Marshal(i); return string(b) }

// longEnums refers to a long enum from many unions.
func longEnums() string {
	var b strings.Builder
	b.WriteString(`{"package":"p","$defs":{"L":{"enum":["x"`)
	for i := range 20_000 {
		b.WriteString(`,"l` + itoa(i) + `"`)
	}
	b.WriteString(`]}},"events":{"e":{"type":"object","properties":{"f":{"type":"string"}`)
	for i := range 2000 {
		b.WriteString(`,"f` + itoa(i) + `":{"anyOf":[{"$ref":"L"},{"const":"y"}]}`)
	}
	b.WriteString(`}}}}`)
	return b.String()
}

func TestAllowReserved(t *testing.T) {
	const src = `{"package":"control","events":{"hello":{"type":"object","properties":{}},"nova.attach":{"type":"object","properties":{}}}}`
	if _, err := schema.Read("s.json", []byte(src), schema.Options{}); err == nil {
		t.Error("accepted without the option")
	}
	m, err := schema.Read("s.json", []byte(src), schema.Options{AllowReserved: true})
	if err != nil || len(m.Events) != 2 || m.Events[1].GoName != "NovaAttachEvent" {
		t.Errorf("%v %v", m, err)
	}
}

func TestPackageOption(t *testing.T) {
	const src = `{"events":{"e":{"type":"object","properties":{}}}}`
	m, err := schema.Read("s.json", []byte(src), schema.Options{Package: "other"})
	if err != nil || m.Package != "other" {
		t.Errorf("%v %v", m, err)
	}
	if _, err = schema.Read("s.json", []byte(src), schema.Options{Package: "Ot-her"}); err == nil || !strings.Contains(err.Error(), `write "other"`) {
		t.Errorf("%v", err)
	}
}

// Two required objects on each level double a value: that is refused before
// code is generated that nobody can compile.
func TestRequiredObjectsMultiply(t *testing.T) {
	doc := func(levels int, required string) string {
		var b strings.Builder
		b.WriteString(`{"package":"p","events":{"e":{"$ref":"T0x"}},"$defs":{`)
		for i := range levels {
			fmt.Fprintf(&b, `"T%dx":{"type":"object","properties":{"a":{"$ref":"T%dx"},"b":{"$ref":"T%dx"}},"required":[%s]},`, i, i+1, i+1, required)
		}
		fmt.Fprintf(&b, `"T%dx":{"type":"object","properties":{"v":{"type":"array","items":{"type":"string"}}},"required":["v"]}}}`, levels)
		return b.String()
	}
	for _, c := range []struct {
		levels   int
		required string
		want     string
	}{
		{11, `"a","b"`, ""},
		{12, `"a","b"`, "every T0x holds more than 4096 objects, all of them required; make some of them optional"},
		{50, `"a","b"`, "every T38x holds more than 4096 objects"},
		{50, `"a"`, ""},
	} {
		_, err := schema.Read("s.json", []byte(doc(c.levels, c.required)), schema.Options{})
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%d levels: %v", c.levels, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n")):
			t.Errorf("%d levels: %v, want %s", c.levels, err, c.want)
		}
	}
}
