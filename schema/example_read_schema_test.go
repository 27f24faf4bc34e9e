package schema_test

import (
	"fmt"

	"github.com/ignex/nova/schema"
)

// Read a schema, look at what it became, and pin its numbers for good.
func ExampleRead() {
	const src = `{
  "package": "market",
  "$defs": {
    "Side": {"enum": ["buy", "sell"]}
  },
  "events": {
    "trade": {"type": "object", "required": ["symbol", "side"], "properties": {
      "symbol": {"type": "string"}, "side": {"$ref": "Side"}, "note": {"type": "string"}}}
  }
}`
	model, err := schema.Read("schema.json", []byte(src), schema.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range model.Events[0].Table.Fields {
		fmt.Println(f.ID, f.JSON, f.GoName, f.Kind, f.Presence.CanBeAbsent())
	}
	lock := schema.NewLock(model).Encode()
	fmt.Println(len(lock) > 0, model.Fingerprint())
	// Output:
	// 0 symbol Symbol string false
	// 1 side Side enum false
	// 2 note Note string true
	// true 4d71b04b1889fbae
}

// Every problem of a schema is told in one run, with its place and a way out.
func ExampleErrors() {
	const src = `{
  "package": "market",
  "evnts": {},
  "events": {
    "quote": {"type": "object", "required": ["bidd"], "properties": {
      "bid": {}, "ask": {"type": "nubmer"}}}
  }
}`
	_, err := schema.Read("schema.json", []byte(src), schema.Options{})
	fmt.Println(err)
	// Output:
	// schema.json:3:12: /evnts: unknown key "evnts" at the top of the document; did you mean "events"?
	// schema.json:5:46: /events/quote/required/0: "required" names "bidd", which is no property; did you mean "bid"?
	// schema.json:6:14: /events/quote/properties/bid: type "any" has no binary form; write a typed object, or {"type":"string"} holding JSON text
	// schema.json:6:25: /events/quote/properties/ask: unknown type "nubmer"; did you mean "number"?
}
