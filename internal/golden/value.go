package golden

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/ignex/nova/wire"
)

// Value is one table: wire field name → bool, int64, float64, int32 (enum),
// string, []byte, Value, or []any of these. A missing key is an absent field.
type Value map[string]any

// Complete gives every required field that is missing its zero value, in v and
// below, as decoders must.
func Complete(l *wire.Layout, table int, v Value) Value {
	out := Value{}
	for i := range l.Tables[table].Fields {
		f := &l.Tables[table].Fields[i]
		if f.Deprecated {
			continue
		}
		x, ok := v[f.Name]
		switch {
		case !ok && f.Presence.CanBeAbsent():
			continue
		case !ok:
			x = zero(l, f)
		}
		out[f.Name] = completeField(l, f, x)
	}
	return out
}

func completeField(l *wire.Layout, f *wire.Field, x any) any {
	if f.Kind != wire.Struct {
		return x
	}
	if !f.Vector {
		return Complete(l, f.Ref, x.(Value))
	}
	out := []any{}
	for _, e := range x.([]any) {
		out = append(out, Complete(l, f.Ref, e.(Value)))
	}
	return out
}

func zero(l *wire.Layout, f *wire.Field) any {
	if f.Vector {
		return []any{}
	}
	switch f.Kind {
	case wire.Bool:
		return false
	case wire.Int64:
		return int64(0)
	case wire.Float64:
		return 0.0
	case wire.Enum:
		return int32(0)
	case wire.String:
		return ""
	case wire.Bytes:
		return []byte{}
	default:
		return Complete(l, f.Ref, Value{})
	}
}

// Diff says where two values differ; "" means nowhere. Doubles are compared by
// their bits, except that every NaN equals every other.
func Diff(got, want any) string {
	switch w := want.(type) {
	case Value:
		g, ok := got.(Value)
		if !ok {
			break
		}
		for name := range g {
			if _, ok := w[name]; !ok {
				return fmt.Sprintf(".%s: got %v, want it absent", name, g[name])
			}
		}
		for name := range w {
			if _, ok := g[name]; !ok {
				return fmt.Sprintf(".%s: absent, want %v", name, w[name])
			}
			if d := Diff(g[name], w[name]); d != "" {
				return "." + name + d
			}
		}
		return ""
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			break
		}
		for i := range w {
			if d := Diff(g[i], w[i]); d != "" {
				return fmt.Sprintf("[%d]%s", i, d)
			}
		}
		return ""
	case float64:
		if g, ok := got.(float64); ok && (math.Float64bits(g) == math.Float64bits(w) || g != g && w != w) {
			return ""
		}
	case []byte:
		if g, ok := got.([]byte); ok && bytes.Equal(g, w) {
			return ""
		}
	default:
		if got == want {
			return ""
		}
	}
	return fmt.Sprintf(": got %#v, want %#v", got, want)
}

// exact is a Value as JSON that loses nothing: int64 as decimal text, doubles as
// 16 hex digits of their bits, bytes as base64.
func exact(l *wire.Layout, table int, v Value) map[string]any {
	out := map[string]any{}
	for i := range l.Tables[table].Fields {
		f := &l.Tables[table].Fields[i]
		x, ok := v[f.Name]
		if !ok {
			continue
		}
		if !f.Vector {
			out[f.Name] = exactOne(l, f, x)
			continue
		}
		list := []any{}
		for _, e := range x.([]any) {
			list = append(list, exactOne(l, f, e))
		}
		out[f.Name] = list
	}
	return out
}

func exactOne(l *wire.Layout, f *wire.Field, x any) any {
	switch x := x.(type) {
	case int64:
		return strconv.FormatInt(x, 10)
	case float64:
		return fmt.Sprintf("%016x", math.Float64bits(x))
	case []byte:
		return base64.StdEncoding.EncodeToString(x)
	case Value:
		return exact(l, f.Ref, x)
	}
	return x
}

// fromExact reads what exact wrote.
func fromExact(l *wire.Layout, table int, text json.RawMessage) (Value, error) {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, err
	}
	out := Value{}
	for i := range l.Tables[table].Fields {
		f := &l.Tables[table].Fields[i]
		x, ok := raw[f.Name]
		if !ok {
			continue
		}
		delete(raw, f.Name)
		var err error
		if f.Vector {
			out[f.Name], err = fromExactList(l, f, x)
		} else {
			out[f.Name], err = fromExactOne(l, f, x)
		}
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", f.Name, err)
		}
	}
	if len(raw) > 0 {
		return nil, fmt.Errorf("unknown fields %v", raw)
	}
	return out, nil
}

func fromExactList(l *wire.Layout, f *wire.Field, text json.RawMessage) (any, error) {
	var items []json.RawMessage
	if err := json.Unmarshal(text, &items); err != nil {
		return nil, err
	}
	list := []any{}
	for _, item := range items {
		x, err := fromExactOne(l, f, item)
		if err != nil {
			return nil, err
		}
		list = append(list, x)
	}
	return list, nil
}

func fromExactOne(l *wire.Layout, f *wire.Field, text json.RawMessage) (any, error) {
	if f.Kind == wire.Struct {
		return fromExact(l, f.Ref, text)
	}
	switch f.Kind {
	case wire.Bool:
		return as[bool](text)
	case wire.Enum:
		return as[int32](text)
	case wire.Bytes:
		return as[[]byte](text)
	}
	s, err := as[string](text)
	if err != nil || f.Kind == wire.String {
		return s, err
	}
	if f.Kind == wire.Int64 {
		return strconv.ParseInt(s.(string), 10, 64)
	}
	bits, err := strconv.ParseUint(s.(string), 16, 64)
	return math.Float64frombits(bits), err
}

func as[T any](text json.RawMessage) (any, error) {
	var x T
	err := json.Unmarshal(text, &x)
	return x, err
}
