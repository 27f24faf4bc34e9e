package language

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/ignex/nova/schema"
	"github.com/ignex/nova/wire"
)

// drawer makes random values of a model in two forms side by side: the JSON of
// nova, and the JSON of flatc. It knows the mapping and no codec.
type drawer struct{ *rand.Rand }

const maxDraw = 6 // objects inside each other

func (d drawer) table(t *schema.Table, depth int) (nova map[string]any, flat *ordered) {
	nova, flat = map[string]any{}, &ordered{}
	for _, c := range t.Consts {
		nova[c.JSON] = json.RawMessage(c.Text)
	}
	for _, f := range t.Fields {
		if f.Deprecated || f.Kind == wire.UnionType {
			continue
		}
		if f.Presence.CanBeAbsent() && (depth > maxDraw || d.IntN(2) == 0) {
			if f.Presence == wire.Nullable {
				nova[f.JSON] = nil
			}
			continue
		}
		value, plain := d.field(f, depth)
		nova[f.JSON] = value
		if u, ok := plain.(member); ok {
			flat.set(f.FbsName+"_type", u.name)
			plain = u.value
		}
		flat.set(f.FbsName, plain)
	}
	return nova, flat
}

// ordered is a JSON object whose keys keep their order: flatc does not always
// find the type of a union that stands behind its value.
type ordered struct {
	keys   []string
	values []any
}

func (o *ordered) set(key string, value any) {
	o.keys, o.values = append(o.keys, key), append(o.values, value)
}

func (o *ordered) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, key := range o.keys {
		if i > 0 {
			b = append(b, ',')
		}
		value, err := json.Marshal(o.values[i])
		if err != nil {
			return nil, err
		}
		b = append(append(strconv.AppendQuote(b, key), ':'), value...)
	}
	return append(b, '}'), nil
}

// member is a union's value in flatc's form.
type member struct {
	name  string
	value any
}

func (d drawer) field(f *schema.Field, depth int) (nova, flat any) {
	if !f.Vector {
		return d.one(f, depth)
	}
	n := d.IntN(4)
	if depth > maxDraw {
		n = 0
	}
	list := []any{}
	if !f.Map {
		items := []any{}
		for range n {
			a, b := d.one(f, depth+1)
			items, list = append(items, a), append(list, b)
		}
		return items, list
	}
	object := map[string]any{}
	for range n {
		key := d.text()
		if _, twice := object[key]; twice {
			continue
		}
		a, b := d.table(f.Table, depth+1)
		object[key] = a["value"]
		b.values[0] = key
		list = append(list, b)
	}
	slices.SortFunc(list, func(a, b any) int {
		return strings.Compare(a.(*ordered).values[0].(string), b.(*ordered).values[0].(string))
	})
	return object, list
}

func (d drawer) one(f *schema.Field, depth int) (nova, flat any) {
	switch f.Kind {
	case wire.Bool:
		v := d.IntN(2) == 0
		return v, v
	case wire.Float64, wire.Float32:
		v := float64(d.IntN(1<<16)-1<<15) / 4
		return v, v
	case wire.Enum:
		v := f.Enum.Values[d.IntN(len(f.Enum.Values))]
		return v.Literal, v.FbsName
	case wire.String:
		s := d.text()
		return s, s
	case wire.Bytes:
		b, list := make([]byte, d.IntN(5)), []any{}
		for i := range b {
			b[i] = byte(d.Uint32())
			list = append(list, int(b[i]))
		}
		return base64.StdEncoding.EncodeToString(b), list
	case wire.Union:
		m := f.Union.Members[d.IntN(len(f.Union.Members))]
		a, b := d.table(m.Table, depth+1)
		return a, member{m.Table.FbsName, b}
	case wire.Struct:
		a, b := d.table(f.Table, depth+1)
		switch f.Table.Shape {
		case schema.Box, schema.Row:
			return a[f.Table.Fields[len(f.Table.Fields)-1].JSON], b
		}
		return a, b
	}
	text := d.integer(f)
	if f.BigInt || f.Kind == wire.Uint64 {
		return text, json.Number(text)
	}
	return json.Number(text), json.Number(text)
}

// integer draws within the range of the field, often at its ends.
func (d drawer) integer(f *schema.Field) string {
	if f.Kind == wire.Uint64 {
		return strconv.FormatUint(d.Uint64()>>d.IntN(64), 10)
	}
	bits, signed := 64, true
	fmt.Sscanf(f.Kind.String(), "int%d", &bits)
	if n, _ := fmt.Sscanf(f.Kind.String(), "uint%d", &bits); n == 1 {
		signed = false
	}
	if f.Kind == wire.Int64 && !f.BigInt {
		bits = 54 // within ±(2^53−1), but for the least, which is left out below
	}
	low, high := int64(0), int64(1)<<(bits-1)-1
	if signed {
		low = -high - 1
	} else {
		high = int64(1)<<bits - 1
	}
	if f.Kind == wire.Int64 && !f.BigInt {
		low++
	}
	switch d.IntN(4) {
	case 0:
		return strconv.FormatInt(low, 10)
	case 1:
		return strconv.FormatInt(high, 10)
	}
	return strconv.FormatInt(min(high, max(low, int64(d.Uint64())>>d.IntN(64))), 10)
}

func (d drawer) text() string {
	alphabet := []rune("abcXYZ 0\"\\/'<>\n\tßö漢\uffff😀\ue000")
	text := make([]rune, d.IntN(5))
	for i := range text {
		text[i] = alphabet[d.IntN(len(alphabet))]
	}
	if d.IntN(20) == 0 {
		return "__proto__"
	}
	return string(text)
}

// fieldOf is a field that holds a table, for the root of a value.
func fieldOf(t *schema.Table) *schema.Field { return &schema.Field{Kind: wire.Struct, Table: t} }
