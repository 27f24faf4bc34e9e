package golden

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/ignex/nova/wire"
)

// Fill copies v into a generated struct, which to points to. Fields are found by
// their json tags, so that the names the generator chose do not matter.
func Fill(l *wire.Layout, table int, v Value, to any) {
	fillStruct(l, table, v, reflect.ValueOf(to).Elem())
}

// fieldOf returns the struct field whose json tag names the property.
func fieldOf(s reflect.Value, property string) reflect.Value {
	for i := range s.NumField() {
		if tag, _, _ := strings.Cut(s.Type().Field(i).Tag.Get("json"), ","); tag == property {
			return s.Field(i)
		}
	}
	panic(fmt.Sprintf("%s has no field for %q", s.Type(), property))
}

func fillStruct(l *wire.Layout, table int, v Value, s reflect.Value) {
	for i := range l.Tables[table].Fields {
		f := &l.Tables[table].Fields[i]
		x, ok := v[f.Name]
		if f.Deprecated || !ok {
			continue
		}
		to := fieldOf(s, f.JSON)
		if !f.Vector {
			fillOne(l, f, x, to)
			continue
		}
		list := x.([]any)
		to.Set(reflect.MakeSlice(to.Type(), len(list), len(list)))
		for i, e := range list {
			fillOne(l, f, e, to.Index(i))
		}
	}
}

func fillOne(l *wire.Layout, f *wire.Field, x any, to reflect.Value) {
	if to.Kind() == reflect.Pointer {
		to.Set(reflect.New(to.Type().Elem()))
		to = to.Elem()
	}
	if f.Kind == wire.Struct {
		fillStruct(l, f.Ref, x.(Value), to)
		return
	}
	to.Set(reflect.ValueOf(x).Convert(to.Type()))
}

// Extract is the way back of Fill.
func Extract(l *wire.Layout, table int, from any) Value {
	return extractStruct(l, table, reflect.ValueOf(from).Elem())
}

func extractStruct(l *wire.Layout, table int, s reflect.Value) Value {
	v := Value{}
	for i := range l.Tables[table].Fields {
		f := &l.Tables[table].Fields[i]
		if f.Deprecated {
			continue
		}
		from := fieldOf(s, f.JSON)
		absent := f.Presence.CanBeAbsent() && (from.Kind() == reflect.Pointer || from.Kind() == reflect.Slice) && from.IsNil()
		switch {
		case absent:
		case f.Vector:
			list := []any{}
			for i := range from.Len() {
				list = append(list, extractOne(l, f, from.Index(i)))
			}
			v[f.Name] = list
		default:
			v[f.Name] = extractOne(l, f, from)
		}
	}
	return v
}

func extractOne(l *wire.Layout, f *wire.Field, from reflect.Value) any {
	if from.Kind() == reflect.Pointer {
		from = from.Elem()
	}
	switch f.Kind {
	case wire.Struct:
		return extractStruct(l, f.Ref, from)
	case wire.Bool:
		return from.Bool()
	case wire.Int64:
		return from.Int()
	case wire.Float64:
		return from.Float()
	case wire.Enum:
		return int32(from.Int())
	case wire.String:
		return from.String()
	default:
		return append([]byte{}, from.Bytes()...)
	}
}
