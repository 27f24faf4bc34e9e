package docs

import (
	"encoding/base64"
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/ignex/nova/schema"
	"github.com/ignex/nova/wire"
)

// deep is how many objects inside each other an example shows before it leaves
// out what can be left out.
const deep = 3

// example returns a value of a table in its JSON form. It keeps the constraints
// where that takes no search; secret values are ***.
func (w *writer) example(t *schema.Table) any { return w.exampleTable(t, 0) }

func (w *writer) exampleTable(t *schema.Table, depth int) any {
	if wraps(t) {
		f := last(t)
		if f.Presence != wire.Required && depth > deep {
			return nil
		}
		return w.exampleField(f, depth)
	}
	o := object{}
	for _, c := range t.Consts {
		o.set(c.JSON, json.RawMessage(c.Text))
	}
	for _, f := range live(t) {
		if f.Presence == wire.Required || depth < deep || needed(t, f) {
			o.set(f.JSON, w.exampleField(f, depth))
		} else if f.Presence == wire.Nullable {
			o.set(f.JSON, nil)
		}
	}
	return o
}

// needed reports whether a property must stand beside another.
func needed(t *schema.Table, f *schema.Field) bool {
	return slices.ContainsFunc(t.Rules, func(r schema.Rule) bool {
		return r.Kind == schema.DependentRequired && slices.Contains(r.Names, f.JSON)
	})
}

func (w *writer) exampleField(f *schema.Field, depth int) any {
	if !f.Vector {
		return w.exampleValue(f, depth)
	}
	least := int64(0)
	for _, r := range f.ListRules {
		if r.Kind == schema.MinItems || r.Kind == schema.MinProperties {
			least = min(r.Number.Num().Int64(), 4)
		}
		if (r.Kind == schema.MaxItems || r.Kind == schema.MaxProperties) && r.Number.Sign() == 0 {
			return []any{}
		}
	}
	if depth < deep {
		least = max(least, 1)
	}
	if f.Map {
		o := object{}
		for i := range least {
			o.set(exampleKey(f, i), w.exampleField(last(f.Table), depth+1))
		}
		for _, r := range f.ListRules {
			if r.Kind != schema.DependentRequired || !o.has(r.Text) {
				continue
			}
			for _, name := range r.Names {
				if !o.has(name) {
					o.set(name, w.exampleField(last(f.Table), depth+1))
				}
			}
		}
		return o
	}
	list := []any{}
	for _, r := range f.ListRules {
		for range min(r.Least, 4) {
			list = append(list, w.exampleMatch(f, r.Match))
		}
	}
	for range least - int64(len(list)) {
		list = append(list, w.exampleValue(f, depth+1))
	}
	return list
}

// exampleMatch returns an element that an array must contain.
func (w *writer) exampleMatch(f *schema.Field, m *schema.Match) any {
	if len(m.Literals) > 0 {
		return m.Literals[0]
	}
	own := *f
	own.Rules, own.Numbers, own.Const = m.Rules, m.Numbers, m.Const
	return w.exampleValue(&own, deep)
}

func exampleKey(f *schema.Field, i int64) string {
	for _, r := range f.ListRules {
		if r.Kind == schema.KeyPattern {
			if text, ok := matching(r.RE2); ok && i == 0 {
				return text
			}
		}
		if r.Kind == schema.Keys && len(r.Match.Literals) > int(i) {
			return r.Match.Literals[i]
		}
		if r.Kind == schema.Keys && i == 0 {
			return exampleText(r.Match.Rules)
		}
	}
	return "key" + strings.Repeat("+", int(i))
}

func (w *writer) exampleValue(f *schema.Field, depth int) any {
	switch f.Kind {
	case wire.Bool:
		if f.Const != "" {
			return json.RawMessage(f.Const)
		}
		return true
	case wire.Enum:
		return literals(f.Enum)[0]
	case wire.Bytes:
		if f.Secret {
			return ""
		}
		n := 3
		for _, r := range f.Rules {
			if bound := int(r.Number.Num().Int64()); r.Kind == schema.MinLength && bound > n && bound <= 64 || r.Kind == schema.MaxLength && bound < n {
				n = bound
			}
		}
		return base64.StdEncoding.EncodeToString([]byte("novanovanovanovanovanovanovanovanovanovanovanovanovanovanovanova")[:n])
	case wire.String:
		if f.Secret {
			return "***"
		}
		return exampleText(f.Rules)
	case wire.Struct:
		return w.exampleTable(f.Table, depth+1)
	case wire.Union:
		member := 0
		if depth >= deep {
			member = w.layout.Unions[w.unions[f.Union]].Zero()
		}
		return w.exampleTable(f.Union.Members[member].Table, depth+1)
	}
	n := exampleNumber(f)
	if f.BigInt || f.Kind == wire.Uint64 {
		return n.String()
	}
	return n
}

var formats = map[string]string{"date-time": "2026-01-31T12:00:00Z", "date": "2026-01-31", "time": "12:00:00Z", "email": "ada@example.com",
	"uuid": "123e4567-e89b-12d3-a456-426614174000", "uri": "https://example.com/", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1"}

func exampleText(rules []schema.Rule) string {
	text := "text"
	for _, r := range rules {
		switch r.Kind {
		case schema.Format:
			return formats[r.Text]
		case schema.Pattern:
			if found, ok := matching(r.RE2); ok {
				return found
			}
		case schema.MinLength:
			if n := int(r.Number.Num().Int64()); n > len(text) && n <= 64 {
				text += strings.Repeat("x", n-len(text))
			}
		case schema.MaxLength:
			if n := r.Number.Num().Int64(); n < int64(len(text)) {
				text = text[:n]
			}
		}
	}
	return text
}

// exampleNumber returns a number within simple bounds.
func exampleNumber(f *schema.Field) json.Number {
	if len(f.Numbers) > 0 {
		return json.Number(strconv.FormatFloat(f.Numbers[0], 'f', -1, 64))
	}
	v, step := big.NewRat(1, 1), big.NewRat(1, 1)
	if f.Kind == wire.Float64 || f.Kind == wire.Float32 {
		v = big.NewRat(3, 2)
	}
	for _, r := range f.Rules {
		if r.Kind == schema.MultipleOf {
			v, step = new(big.Rat).Set(r.Number), r.Number
		}
	}
	for _, r := range f.Rules {
		switch r.Kind {
		case schema.Minimum:
			if v.Cmp(r.Number) < 0 {
				v = new(big.Rat).Set(r.Number)
			}
		case schema.ExclusiveMinimum:
			if v.Cmp(r.Number) <= 0 {
				v = new(big.Rat).Add(r.Number, step)
			}
		case schema.Maximum:
			if v.Cmp(r.Number) > 0 {
				v = new(big.Rat).Set(r.Number)
			}
		case schema.ExclusiveMaximum:
			if v.Cmp(r.Number) >= 0 {
				v = new(big.Rat).Sub(r.Number, step)
			}
		}
	}
	if v.IsInt() {
		return json.Number(v.Num().String())
	}
	if f.Kind != wire.Float64 && f.Kind != wire.Float32 { // a bound between two integers
		return json.Number(new(big.Int).Add(new(big.Int).Quo(v.Num(), v.Denom()), big.NewInt(1)).String())
	}
	x, _ := v.Float64()
	return json.Number(strconv.FormatFloat(x, 'g', -1, 64))
}
