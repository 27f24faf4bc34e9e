package docs

import (
	"encoding/json"
	"math/big"

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
		for _, r := range f.ListRules {
			if r.Kind == schema.KeyPattern {
				o.set("propertyNames", object{{"pattern", r.Text}})
			}
		}
		addRules(&o, f.ListRules)
		return o
	case f.Vector:
		o := object{{"type", "array"}, {"items", w.valueSchema(f)}}
		addRules(&o, f.ListRules)
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

var keywords = map[schema.RuleKind]string{schema.Minimum: "minimum", schema.Maximum: "maximum", schema.ExclusiveMinimum: "exclusiveMinimum",
	schema.ExclusiveMaximum: "exclusiveMaximum", schema.MultipleOf: "multipleOf", schema.MinLength: "minLength", schema.MaxLength: "maxLength",
	schema.MinItems: "minItems", schema.MaxItems: "maxItems", schema.MinProperties: "minProperties", schema.MaxProperties: "maxProperties"}

func addRules(o *object, rules []schema.Rule) {
	for _, r := range rules {
		switch r.Kind {
		case schema.Pattern:
			o.set("pattern", r.Text)
		case schema.Format:
			o.set("format", r.Text)
		case schema.UniqueItems:
			o.set("uniqueItems", true)
		case schema.KeyPattern:
		default:
			o.set(keywords[r.Kind], number(r.Number))
		}
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
