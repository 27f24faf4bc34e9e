package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/ignex/nova/wire"
)

// dynamicLayout has one field of every kind and presence.
func dynamicLayout(t testing.TB) *wire.Layout {
	t.Helper()
	side := wire.EnumType{Name: "Side", Values: []wire.EnumValue{
		{Literal: "buy", Number: 0}, {Literal: "sell", Number: 1}, {Literal: "quarry blast", Number: 2}, {Literal: "gone", Number: 3, Removed: true}}}
	l := &wire.Layout{
		Package: "test", Fingerprint: "0123456789abcdef",
		Enums: []wire.EnumType{side},
		Tables: []wire.Table{
			{Name: "Thing", Fields: []wire.Field{
				{Name: "text", JSON: "text", Kind: wire.String},
				{Name: "n", JSON: "n", Kind: wire.Int64},
				{Name: "big", JSON: "big", Kind: wire.Int64, BigInt: true, Presence: wire.Optional},
				{Name: "x", JSON: "x", Kind: wire.Float64, Presence: wire.Optional},
				{Name: "on", JSON: "on", Kind: wire.Bool, Presence: wire.Nullable},
				{Name: "side", JSON: "side", Kind: wire.Enum, Presence: wire.OptionalNullable},
				{Name: "raw", JSON: "raw", Kind: wire.Bytes, Presence: wire.Optional},
				{Name: "old", Deprecated: true},
				{Name: "inner", JSON: "inner", Kind: wire.Struct, Ref: 1, Presence: wire.Optional},
				{Name: "inners", JSON: "inners", Kind: wire.Struct, Ref: 1, Vector: true, Presence: wire.Optional},
				{Name: "names", JSON: "a/b~c", Kind: wire.String, Vector: true, Presence: wire.Optional},
				{Name: "sides", JSON: "sides", Kind: wire.Enum, Vector: true, Presence: wire.Optional},
				{Name: "xs", JSON: "xs", Kind: wire.Float64, Vector: true, Presence: wire.Nullable},
				{Name: "self", JSON: "self", Kind: wire.Struct, Ref: 0, Presence: wire.Optional},
			}},
			{Name: "Inner", AllowUnknown: true, Fields: []wire.Field{
				{Name: "flag", JSON: "flag", Kind: wire.Bool},
				{Name: "ns", JSON: "ns", Kind: wire.Int64, Vector: true},
			}},
		},
		Events: []wire.Event{{Name: "thing", ID: wire.EventID("thing"), Table: 0, Compress: true, Delivery: wire.DeliverLatest, Key: "text", Inbound: true}},
		Calls:  []wire.Call{{Name: "get", Request: 1, Response: 0}},
	}
	if err := l.Init(); err != nil {
		t.Fatal(err)
	}
	return l
}

// roundTrip encodes JSON text and reads it back.
func roundTrip(t *testing.T, l *wire.Layout, table int, text string) string {
	t.Helper()
	payload, err := l.EncodeJSON(nil, table, []byte(text))
	if err != nil {
		t.Fatalf("EncodeJSON(%s): %v", text, err)
	}
	// Alignment counts from the size prefix, wherever the buffer begins.
	behind, err := l.EncodeJSON([]byte("abc"), table, []byte(text))
	if err != nil || string(behind[:3]) != "abc" || !bytes.Equal(behind[3:], payload) {
		t.Fatalf("EncodeJSON(%s) behind other bytes differs: %v", text, err)
	}
	out, err := l.AppendJSON([]byte("x"), table, payload)
	if err != nil {
		t.Fatalf("AppendJSON of %s: %v", text, err)
	}
	return string(out[1:])
}

func TestDynamicValues(t *testing.T) {
	l := dynamicLayout(t)
	const min = `{"text":"","n":0,"on":null,"xs":null}`
	for _, c := range []struct{ in, out string }{
		{`{"text":"","n":0}`, min},
		{" { \"n\" : 0 ,\r\n\t\"text\" : \"\" } ", min},
		{`{"text":"","n":0,"on":null,"side":null,"big":null,"x":null,"raw":null,"inner":null,"inners":null,"a/b~c":null,"sides":null}`, min},
		{`{"text":"","n":-0}`, min},
		{`{"text":"","n":-0.0e5}`, min},
		{`{"text":"","n":1e3}`, `{"text":"","n":1000,"on":null,"xs":null}`},
		{`{"text":"","n":12.50e1}`, `{"text":"","n":125,"on":null,"xs":null}`},
		{`{"text":"","n":120e-1}`, `{"text":"","n":12,"on":null,"xs":null}`},
		{`{"text":"","n":"42"}`, `{"text":"","n":42,"on":null,"xs":null}`},
		{`{"text":"","n":0e999999999999}`, min},
		{`{"text":"","n":9007199254740991}`, `{"text":"","n":9007199254740991,"on":null,"xs":null}`},
		{`{"text":"","n":9007199254740992}`, `{"text":"","n":"9007199254740992","on":null,"xs":null}`},
		{`{"text":"","n":-9223372036854775808}`, `{"text":"","n":"-9223372036854775808","on":null,"xs":null}`},
		{`{"text":"","n":9223372036854775807,"big":1}`, `{"text":"","n":"9223372036854775807","big":"1","on":null,"xs":null}`},
		{`{"text":"","n":0,"x":-0.0}`, `{"text":"","n":0,"x":-0,"on":null,"xs":null}`},
		{`{"text":"","n":0,"x":-0}`, `{"text":"","n":0,"x":-0,"on":null,"xs":null}`},
		{`{"text":"","n":0,"x":1e21}`, `{"text":"","n":0,"x":1e+21,"on":null,"xs":null}`},
		{`{"text":"","n":0,"x":0.0000001}`, `{"text":"","n":0,"x":1e-7,"on":null,"xs":null}`},
		{`{"text":"","n":0,"x":5e-324}`, `{"text":"","n":0,"x":5e-324,"on":null,"xs":null}`},
		{`{"text":"","n":0,"x":1.7976931348623157e308}`, `{"text":"","n":0,"x":1.7976931348623157e+308,"on":null,"xs":null}`},
		{`{"text":"","n":0,"xs":["NaN","Infinity","-Infinity",0.1,100]}`, `{"text":"","n":0,"on":null,"xs":["NaN","Infinity","-Infinity",0.1,100]}`},
		{`{"text":"","n":0,"on":false,"side":"quarry blast"}`, `{"text":"","n":0,"on":false,"side":"quarry blast","xs":null}`},
		{`{"text":"","n":0,"side":"unknown:7","sides":["buy","gone","unknown:-2147483648"]}`, `{"text":"","n":0,"on":null,"side":"unknown:7","sides":["buy","gone","unknown:-2147483648"],"xs":null}`},
		{`{"text":"","n":0,"raw":""}`, `{"text":"","n":0,"on":null,"raw":"","xs":null}`},
		{`{"text":"","n":0,"raw":"_-8"}`, `{"text":"","n":0,"on":null,"raw":"/+8=","xs":null}`},
		{`{"text":"","n":0,"raw":"_-8="}`, `{"text":"","n":0,"on":null,"raw":"/+8=","xs":null}`},
		{`{"text":"","n":0,"raw":"/+8"}`, `{"text":"","n":0,"on":null,"raw":"/+8=","xs":null}`},
		{`{"text":"","n":0,"raw":"AQID"}`, `{"text":"","n":0,"on":null,"raw":"AQID","xs":null}`},
		{`{"\u0074ext":"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00 \u0000","n":0}`, `{"text":"\"\\/\u0008\u000c\n\r\té😀 \u0000","n":0,"on":null,"xs":null}`},
		{`{"text":"a\ud800b\udc00\ud800\u0041","n":0}`, `{"text":"a�b��A","n":0,"on":null,"xs":null}`},
		{"{\"text\":\"\xff\xe2\x82 ü\",\"n\":0}", `{"text":"�� ü","n":0,"on":null,"xs":null}`},
		{`{"text":"","n":0,"inner":{"ns":[],"flag":true,"other":[{"x":{}}],"ns2":1}}`, `{"text":"","n":0,"on":null,"inner":{"flag":true,"ns":[]},"xs":null}`},
		{`{"text":"","n":0,"inners":[]}`, `{"text":"","n":0,"on":null,"inners":[],"xs":null}`},
		{`{"text":"","n":0,"inners":[{"flag":true,"ns":[1,"2"]},{"flag":false,"ns":[3e0]}],"a/b~c":["","x"]}`,
			`{"text":"","n":0,"on":null,"inners":[{"flag":true,"ns":[1,2]},{"flag":false,"ns":[3]}],"a/b~c":["","x"],"xs":null}`},
		{`{"text":"","n":0,"self":{"text":"in","n":1,"self":{"text":"","n":2}}}`,
			`{"text":"","n":0,"on":null,"xs":null,"self":{"text":"in","n":1,"on":null,"xs":null,"self":{"text":"","n":2,"on":null,"xs":null}}}`},
	} {
		if got := roundTrip(t, l, 0, c.in); got != c.out {
			t.Errorf("%s\n gave %s\n want %s", c.in, got, c.out)
		}
	}
}

func TestDynamicErrors(t *testing.T) {
	l := dynamicLayout(t)
	deep := strings.Repeat(`{"text":"","n":0,"self":`, 64) + `{"text":"","n":0}` + strings.Repeat("}", 64)
	for _, c := range []struct{ in, pointer, message string }{
		{`{"n":0}`, "/text", "the required property is missing; write a string"},
		{`{"text":null,"n":0}`, "/text", "null is not allowed here; write a string"},
		{`{"text":"","n":1.5}`, "/n", "1.5 has a fraction; write a whole number"},
		{`{"text":"","n":1e-1}`, "/n", "1e-1 has a fraction; write a whole number"},
		{`{"text":"","n":1e-99999999999999999999}`, "/n", "has a fraction"},
		{`{"text":"","n":9223372036854775808}`, "/n", "9223372036854775808 is outside the range of int64"},
		{`{"text":"","n":-9223372036854775809}`, "/n", "is outside the range of int64"},
		{`{"text":"","n":1e99999999999}`, "/n", "is outside the range of int64"},
		{`{"text":"","n":"1.0"}`, "/n", `found the string "1.0"; write a whole number`},
		{`{"text":"","n":"0x1f"}`, "/n", "write a whole number"},
		{`{"text":"","n":"007"}`, "/n", "write a whole number"},
		{`{"text":"","n":true}`, "/n", "found true; write a whole number"},
		{`{"text":7,"n":0}`, "/text", "found the number 7; write a string"},
		{`{"text":"","n":0,"on":1}`, "/on", "found the number 1; write true or false"},
		{`{"text":"","n":0,"x":"1.5"}`, "/x", `found the string "1.5"; write a number (not in quotes`},
		{`{"text":"","n":0,"x":1e309}`, "/x", "outside the range of a double"},
		{`{"text":"","n":0,"side":"hold"}`, "/side", `found the string "hold"; write one of "buy", "sell", "quarry blast"`},
		{`{"text":"","n":0,"side":"unknown:2147483648"}`, "/side", "write one of"},
		{`{"text":"","n":0,"side":"unknown:-0"}`, "/side", "write one of"},
		{`{"text":"","n":0,"side":"unknown:+7"}`, "/side", "write one of"},
		{`{"text":"","n":0,"side":1}`, "/side", "found the number 1; write one of"},
		{`{"text":"","n":0,"sides":["buy","hold"]}`, "/sides/1", "write one of"},
		{`{"text":"","n":0,"sides":"buy"}`, "/sides", `found the string "buy"; write an array, each element one of`},
		{`{"text":"","n":0,"a/b~c":["x",null]}`, "/a~1b~0c/1", "null is not allowed in an array; write a string"},
		{`{"text":"","n":0,"raw":"a"}`, "/raw", "base64"},
		{`{"text":"","n":0,"raw":"AQI=="}`, "/raw", "base64"},
		{`{"text":"","n":0,"raw":"AQ\nID"}`, "/raw", "base64"},
		{`{"text":"","n":0,"raw":"+-AA"}`, "/raw", "base64"},
		{`{"text":"","n":0,"raw":[1]}`, "/raw", "found an array; write a base64 string"},
		{`{"text":"","n":0,"inner":{"flag":true}}`, "/inner/ns", "the required property is missing; write an array, each element a whole number"},
		{`{"text":"","n":0,"inner":[]}`, "/inner", "found an array; write an object"},
		{`{"text":"","n":0,"inners":[{"flag":true,"ns":[0,1.5]}]}`, "/inners/0/ns/1", "has a fraction"},
		{`{"text":"","n":0,"txt":1}`, "/txt", `unknown property of Thing; did you mean "text"?`},
		{`{"text":"","n":0,"zzzzzzzzzz":1}`, "/zzzzzzzzzz", `unknown property; Thing has "text", "n"`},
		{`{"text":"","n":0,"old":1}`, "/old", "unknown property"},
		{`{"text":"","n":0,"text":""}`, "/text", "the property stands twice in one object; keep one"},
		{`{"text":"","n":0,"inner":{"u":1,"u":2,"flag":true,"ns":[]}}`, "/inner/u", "twice"},
		{deep, strings.Repeat("/self", 64), "objects are nested deeper than 64"},
		{strings.Repeat("[", 1000), strings.Repeat("/0", 128), "nested deeper than 128"},
		{`[]`, "", "found an array; write an object"},
		{``, "", "the JSON text ends at byte 0; expected a value"},
		{`{"text":"","n":0} x`, "", "unexpected 'x' at byte 18; expected nothing more after the value"},
		{`{"text":"","n":}`, "/n", "unexpected '}' at byte 15; expected a value"},
		{`{"text":"","n":NaN}`, "/n", `"NaN"`},
		{`{"text":"","n":-Infinity}`, "/n", `"-Infinity"`},
		{`{"text":"","n":01}`, "/n", "without leading zeros"},
		{`{"text":"","n":1.}`, "/n", "expected a digit"},
		{`{"text":"","n":1e}`, "/n", "expected a digit"},
		{`{"text":"","n":+1}`, "/n", "unexpected '+'"},
		{`{"text":"a` + "\n" + `","n":1}`, "/text", "control characters"},
		{`{"text":"\x","n":1}`, "/text", `after \`},
		{`{"text":"\u12g4","n":1}`, "/text", `four hexadecimal digits`},
		{`{"text":"abc`, "/text", "closing"},
		{`{"text":"","n":0,}`, "", "a property name in double quotes"},
		{`{"text" "","n":0}`, "", "expected ':'"},
		{`{"text":"";"n":0}`, "", "expected ',' or '}'"},
		{`{'text':""}`, "", "a property name in double quotes"},
		{`{"text":"","n":0,"xs":[1 2]}`, "/xs", "expected ',' or ']'"},
		{`{"text":"","n":0,"on":tru}`, "/on", "(true?)"},
		{"\xef\xbb\xbf{}", "", "unexpected '\\ufeff'"},
	} {
		out, err := l.EncodeJSON([]byte("x"), 0, []byte(c.in))
		var bad *wire.JSONError
		if !errors.As(err, &bad) {
			t.Errorf("%.80s: error %v, want a *JSONError", c.in, err)
			continue
		}
		if string(out) != "x" {
			t.Errorf("%.80s: dst came back as %q", c.in, out)
		}
		if bad.Pointer != c.pointer || !strings.Contains(bad.Message, c.message) {
			t.Errorf("%.80s\n gave %s %q\n want %s %q", c.in, bad.Pointer, bad.Message, c.pointer, c.message)
		}
	}
}

func TestDynamicLimits(t *testing.T) {
	l := dynamicLayout(t)
	_, err := l.EncodeJSON(nil, 0, bytes.Repeat([]byte(" "), wire.MaxJSON+1))
	if err == nil || !strings.Contains(err.Error(), "at most 16777216") {
		t.Errorf("long text: %v", err)
	}
	// 3 bytes of JSON for a table of 20 KB.
	wide := &wire.Layout{Tables: []wire.Table{{Name: "Row"}, {Name: "All", Fields: []wire.Field{{Name: "rows", JSON: "rows", Kind: wire.Struct, Vector: true}}}}}
	for range 2000 {
		wide.Tables[0].Fields = append(wide.Tables[0].Fields, wire.Field{Name: "x", JSON: "x", Kind: wire.Float64, Presence: wire.Optional})
	}
	if err := wide.Init(); err != nil {
		t.Fatal(err)
	}
	text := `{"rows":[{}` + strings.Repeat(",{}", 100_000) + `]}`
	_, err = wide.EncodeJSON(nil, 1, []byte(text))
	if err == nil || !strings.Contains(err.Error(), "too big") {
		t.Errorf("wide tables: %v", err)
	}
}

func TestDynamicFrames(t *testing.T) {
	l := dynamicLayout(t)
	event, err := l.FindEvent("thing")
	if err != nil {
		t.Fatal(err)
	}
	frame, err := l.AppendFrameJSON([]byte("ab"), event, []byte(`{"text":"é","n":1}`))
	if err != nil {
		t.Fatal(err)
	}
	got, text, err := l.FrameJSON(nil, frame[2:])
	if err != nil || got != event || string(text) != `{"text":"é","n":1,"on":null,"xs":null}` {
		t.Errorf("FrameJSON = %v %s %v", got, text, err)
	}
	if _, _, err := l.FrameJSON(nil, frame); err == nil {
		t.Error("a frame with another version is accepted")
	}
	if _, _, err := l.FrameJSON(nil, append(wire.AppendHeader(nil, 7), 0, 0, 0, 0)); err == nil || !strings.Contains(err.Error(), "no event with id 0x7") {
		t.Errorf("unknown id: %v", err)
	}
	if out, err := l.AppendFrameJSON([]byte("ab"), event, []byte(`{}`)); err == nil || string(out) != "ab" {
		t.Errorf("bad JSON: %q %v", out, err)
	}
	if _, err := l.FindEvent("thin"); err == nil || err.Error() != `unknown event "thin"; did you mean "thing"? (events of schema test: "thing")` {
		t.Errorf("FindEvent: %v", err)
	}
}

func TestDynamicCheckInt64(t *testing.T) {
	l := dynamicLayout(t)
	for _, c := range []struct{ in, path string }{
		{`{"text":"","n":9007199254740991,"big":"9223372036854775807"}`, ""},
		{`{"text":"","n":"9007199254740992"}`, "n"},
		{`{"text":"","n":0,"inner":{"flag":true,"ns":[1,-9007199254740992]}}`, "inner.ns[1]"},
		{`{"text":"","n":0,"inners":[{"flag":true,"ns":[1]},{"flag":true,"ns":[9007199254740992]}]}`, "inners[1].ns[0]"},
		{`{"text":"","n":0,"self":{"text":"","n":9007199254740993}}`, "self.n"},
	} {
		payload, err := l.EncodeJSON(nil, 0, []byte(c.in))
		if err != nil {
			t.Fatal(err)
		}
		err = l.CheckInt64(0, payload)
		var unsafe *wire.Int64Error
		if errors.As(err, &unsafe) != (c.path != "") || unsafe != nil && unsafe.Path != c.path {
			t.Errorf("%s: %v, want path %q", c.in, err, c.path)
		}
	}
	var bad *wire.DecodeError
	if err := l.CheckInt64(0, []byte("short")); !errors.As(err, &bad) {
		t.Errorf("malformed: %v", err)
	}
}

// A table that is absent although required reads as zeros, as generated code
// reads it; a malformed one fails with the path.
func TestDynamicMalformed(t *testing.T) {
	l := dynamicLayout(t)
	empty := []byte{12, 0, 0, 0, 8, 0, 0, 0, 4, 0, 4, 0, 4, 0, 0, 0}
	out, err := l.AppendJSON(nil, 1, empty)
	if err != nil || string(out) != `{"flag":false,"ns":[]}` {
		t.Errorf("empty table: %s %v", out, err)
	}
	payload, err := l.EncodeJSON(nil, 0, []byte(`{"text":"","n":0,"inners":[{"flag":true,"ns":[1]},{"flag":true,"ns":[1]}],"a/b~c":["","zz"]}`))
	if err != nil {
		t.Fatal(err)
	}
	bad := bytes.Replace(payload, []byte("zz"), []byte("\xff\xff"), 1)
	out, err = l.AppendJSON([]byte("x"), 0, bad)
	if err == nil || err.Error() != "malformed payload: a/b~c[1]: a string is not valid UTF-8" || string(out) != "x" {
		t.Errorf("bad UTF-8: %q %v", out, err)
	}
}

func TestLayoutJSON(t *testing.T) {
	l := dynamicLayout(t)
	text, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	var back wire.Layout
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(l, &back) {
		t.Errorf("layout changed: %s", text)
	}
	if !strings.Contains(string(text), `{"name":"side","json":"side","kind":"enum","type":"Side","optional":true,"nullable":true}`) {
		t.Errorf("form of a field changed: %s", text)
	}
	for _, c := range []struct{ old, new, want string }{
		{`"kind":"int64"`, `"kind":"int65"`, `kind "int65" is none of`},
		{`"type":"Side"`, `"type":"Sid"`, `enum "Sid" does not exist`},
		{`"table":"Thing"`, `"table":"T"`, `table "T" does not exist`},
		{`"delivery":"latest"`, `"delivery":"x"`, `delivery "x" is none of`},
		{`"retain":"all"`, `"retain":""`, `retain "" is none of`},
		{`"request":"Inner"`, `"request":""`, `call get: table "" does not exist`},
	} {
		bad := strings.Replace(string(text), c.old, c.new, 1)
		if err := json.Unmarshal([]byte(bad), new(wire.Layout)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.new, err, c.want)
		}
	}
}
