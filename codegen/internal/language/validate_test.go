package language

import (
	"encoding/json"
	"errors"
	"testing"

	constraints "github.com/ignex/nova/codegen/testdata/constraints/go"
	"github.com/ignex/nova/wire"
)

const validOrder = `{"id":"123e4567-e89b-12d3-a456-426614174000","email":"a@b.co","at":"2024-02-29T12:00:00Z","home":"https://a.b/","name":"Zoë",
	"lines":[{"sku":"AB1","quantity":1}],"tags":["a"],"grid":[[3]],"prices":{"a":1},"by/line":{},"level":2.5,"agreed":true,"color":"red",
	"shape":{"kind":"point"},"maybe":null,"shapes":[],"big":"5","small":1,"raw":"AQ==","half":0.25,"note":null}`

// One property of a valid order is changed; Validate names it by its pointer.
// The same cases stand in the tests of the TypeScript client.
func TestValidatePointers(t *testing.T) {
	layout := constraints.Schema.Layout()
	for _, c := range []struct{ property, value, pointer, message string }{
		{"id", `"123e4567-e89b-12d3-a456-426614174001"`, "", ""},
		{"id", `"x"`, "/id", "must be a UUID"},
		{"name", `"😀"`, "/name", "must have at least 2 characters"},
		{"name", `"😀😀😀😀"`, "", ""},
		{"lines", `[]`, "/lines", "must have at least 1 elements"},
		{"lines", `[{"sku":"AB1","quantity":0}]`, "/lines/0/quantity", "must be at least 1"},
		{"lines", `[{"sku":"AB1","quantity":1000}]`, "/lines/0/quantity", "must be below 1000"},
		{"lines", `[{"sku":"AB1","quantity":2},{"sku":"AB1","quantity":2}]`, "/lines", "must not hold an element twice"},
		{"lines", `[{"sku":"AB1","quantity":2,"weights":[1,0]}]`, "/lines/0/weights/1", "must be above 0"},
		{"tags", `["a","b","a"]`, "/tags", "must not hold an element twice"},
		{"grid", `[[3],[6,7]]`, "/grid/1/1", "must be a multiple of 3"},
		{"grid", `[[]]`, "/grid/0", "must have at least 1 elements"},
		{"prices", `{"A":1}`, "/prices/A", "the key must match ^[a-z]+$"},
		{"prices", `{"a":1,"b":11}`, "/prices/b", "must be at most 10"},
		{"by/line", `{"x~y":{"sku":"q","quantity":1}}`, "/by~1line/x~0y/sku", `must match ^[A-Z]{2}\d+$`},
		{"level", `2`, "/level", "must be one of 1, 2.5, 3"},
		{"agreed", `false`, "/agreed", "must be true"},
		{"color", `"unknown:7"`, "/color", `must be one of "red", "green"`},
		{"shape", `{"kind":"circle","radius":-1}`, "/shape/radius", "must be at least 0"},
		{"maybe", `{"kind":"circle","radius":"NaN"}`, "/maybe/radius", "must be at least 0"},
		{"shapes", `[{"kind":"point"},{"kind":"circle","radius":-1}]`, "/shapes/1/radius", "must be at least 0"},
		{"big", `"-10"`, "/big", "must be at least -5"},
		{"big", `"9223372036854775805"`, "/big", "must be at most 9223372036854775000"},
		{"big", `"4"`, "/big", "must be a multiple of 5"},
		{"small", `0`, "/small", "must be at least 0.5"},
		{"raw", `"AAAA"`, "/raw", "must have at most 2 bytes"},
		{"half", `0.3`, "/half", "must be a multiple of 0.25"},
		{"note", `"four"`, "/note", "must have at most 3 characters"},
	} {
		var order map[string]json.RawMessage
		if err := json.Unmarshal([]byte(validOrder), &order); err != nil {
			t.Fatal(err)
		}
		order[c.property] = json.RawMessage(c.value)
		text, err := json.Marshal(order)
		if err != nil {
			t.Fatal(err)
		}
		payload, err := layout.EncodeJSON(nil, layout.EventByName("order").Table, text)
		if err != nil {
			t.Fatal(err)
		}
		var m constraints.Order
		if err := m.UnmarshalNova(payload); err != nil {
			t.Fatal(err)
		}
		err = m.Validate()
		var broken *wire.ValidationError
		switch {
		case c.message == "" && err != nil:
			t.Errorf("%s: %s: %v", c.property, c.value, err)
		case c.message != "" && (!errors.As(err, &broken) || broken.Pointer != c.pointer || broken.Message != c.message):
			t.Errorf("%s: %s: %v, want %s at %s", c.property, c.value, err, c.message, c.pointer)
		}
	}
	if err := (&constraints.NamesBox{Value: []string{"1.2.3.4", "1.2.3"}}).Validate(); err == nil || err.Error() != "invalid value: /1: must be an IPv4 address" {
		t.Error(err)
	}
	if err := (&constraints.Order{}).Validate(); err == nil || err.Error() != "cannot encode: shape: no value; set a member of Shape" {
		t.Errorf("a value without bytes: %v", err)
	}
}
