package docs

import (
	"encoding/json"
	"math/big"
	"slices"

	"github.com/ignex/nova/schema"
	"github.com/ignex/nova/wire"
)

// The JSON Schema of types in their JSON form, the one of the HTTP API.

func ref(name string) object { return object{{"$ref", "#/components/schemas/" + name}} }

// tableSchema describes a table where it is used.
func (w *writer) tableSchema(t *schema.Table) any {
	if wraps(t) {
		return w.fieldSchema(last(t))
	}
	return ref(t.FbsName)
}

// objectSchema describes a table itself.
func (w *writer) objectSchema(t *schema.Table) object {
	o := object{{"type", "object"}}
	o.setText("description", t.Doc)
	properties, required := object{}, []string{}
	for _, c := range t.Consts {
		properties.set(c.JSON, object{{"const", json.RawMessage(c.Text)}})
		required = append(required, c.JSON)
	}
	for _, f := range live(t) {
		properties.set(f.JSON, w.fieldSchema(f))
		if f.Presence == wire.Required || f.Presence == wire.Nullable {
			required = append(required, f.JSON)
		}
	}
	o.set("properties", properties)
	if len(required) > 0 {
		o.set("required", required)
	}
	addRules(&o, t.Rules)
	o.set("additionalProperties", t.AllowUnknown)
	return o
}

// fieldSchema describes a value with whether it can be null, its comment and marks.
func (w *writer) fieldSchema(f *schema.Field) any {
	v := w.listSchema(f)
	if f.Presence == wire.Nullable || f.Presence == wire.OptionalNullable {
		v = object{{"anyOf", []any{v, object{{"type", "null"}}}}}
	}
	if f.Doc == "" && !f.Secret {
		return v
	}
	if v[0].key == "$ref" { // nothing counts beside it
		v = object{{"allOf", []any{v}}}
	}
	v.setText("description", f.Doc)
	if f.Secret {
		v.set("x-secret", true)
	}
	return v
}

func (w *writer) listSchema(f *schema.Field) object {
	switch {
	case f.Map:
		o := object{{"type", "object"}, {"additionalProperties", w.fieldSchema(last(f.Table))}}
		if names := keySchema(f.ListRules); names != nil {
			o.set("propertyNames", names)
		}
		addRules(&o, f.ListRules)
		return o
	case f.Vector:
		o := object{{"type", "array"}, {"items", w.valueSchema(f)}}
		addRules(&o, slices.DeleteFunc(slices.Clone(f.ListRules), func(r schema.Rule) bool {
			return r.Kind == schema.Contains && (f.BigInt || f.Kind == wire.Uint64) // as valueSchema has it
		}))
		return o
	}
	return w.valueSchema(f)
}

func (w *writer) valueSchema(f *schema.Field) object {
	o := object{}
	switch f.Kind {
	case wire.Enum:
		return ref(f.Enum.FbsName)
	case wire.Union:
		return ref(f.Union.FbsName)
	case wire.Struct:
		v, ok := w.tableSchema(f.Table).(object)
		if !ok {
			v = object{}
		}
		return v
	case wire.Bool:
		o.set("type", "boolean")
		if f.Const != "" {
			o.set("const", json.RawMessage(f.Const))
		}
	case wire.String:
		o.set("type", "string")
	case wire.Bytes:
		o = object{{"type", "string"}, {"contentEncoding", "base64"}}
		return o // lengths are of bytes
	case wire.Float64, wire.Float32:
		o = object{{"type", "number"}, {"format", map[bool]string{true: "double", false: "float"}[f.Kind == wire.Float64]}}
	default:
		o = integerSchema(f)
		if f.BigInt || f.Kind == wire.Uint64 {
			return o // bounds are of numbers, this is text
		}
	}
	if len(f.Numbers) > 0 {
		o.set("enum", f.Numbers)
	}
	addRules(&o, f.Rules)
	return o
}

// enumSchema describes the literals of an enum.
func enumSchema(e *schema.Enum) object {
	o := object{{"type", "string"}}
	o.setText("description", e.Doc)
	o.set("enum", literals(e))
	return o
}

func literals(e *schema.Enum) []string {
	var list []string
	for _, v := range e.Values {
		if !v.Removed {
			list = append(list, v.Literal)
		}
	}
	return list
}

func (w *writer) unionSchema(u *schema.Union) object {
	var members []any
	for _, m := range u.Members {
		members = append(members, ref(m.Table.FbsName))
	}
	o := object{}
	o.setText("description", u.Doc)
	o.set("oneOf", members)
	o.set("discriminator", u.Tag)
	return o
}

// integerSchema describes an integer: 64-bit ones that JavaScript cannot hold are text.
func integerSchema(f *schema.Field) object {
	switch {
	case f.Kind == wire.Uint64:
		return object{{"type", "string"}, {"pattern", `^\d+$`}, {"format", "uint64"}}
	case f.BigInt:
		return object{{"type", "string"}, {"pattern", `^-?\d+$`}, {"format", "int64"}}
	}
	return object{{"type", "integer"}, {"format", f.Kind.String()}}
}

// keySchema describes the keys of a map; nil = any.
func keySchema(rules []schema.Rule) any {
	var all []any
	for _, r := range rules {
		switch r.Kind {
		case schema.KeyPattern:
			all = append(all, object{{"pattern", r.Text}})
		case schema.Keys:
			all = append(all, json.RawMessage(r.Match.JSON()))
		}
	}
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	return object{{"allOf", all}}
}

func addRules(o *object, rules []schema.Rule) {
	var dependent object
	for _, r := range rules {
		switch r.Kind {
		case schema.Pattern:
			o.set("pattern", r.Text)
		case schema.Format:
			o.set("format", r.Text)
		case schema.UniqueItems:
			o.set("uniqueItems", true)
		case schema.KeyPattern, schema.Keys: // see keySchema
		case schema.Contains:
			if r.Least == 0 { // JSON Schema draft 7, that of AsyncAPI, has no word for it
				continue
			}
			o.set("contains", json.RawMessage(r.Match.JSON()))
			if r.Least > 1 {
				o.set("minContains", r.Least)
			}
			if r.Most >= 0 {
				o.set("maxContains", r.Most)
			}
		case schema.DependentRequired:
			dependent.set(r.Text, r.Names)
		default:
			o.set(r.Kind.String(), number(r.Number))
		}
	}
	if dependent != nil {
		o.set("dependencies", dependent) // so called in draft 7
	}
}

// number returns a bound as JSON has it.
func number(n *big.Rat) any {
	if n.IsInt() {
		return json.Number(n.Num().String())
	}
	v, _ := n.Float64()
	return v
}
