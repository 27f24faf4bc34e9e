package golden

import (
	"strings"

	"github.com/ignex/nova/wire"
)

// AsNPMReads returns v as npm's flatbuffers would show it: a BOM at the start
// of a string is dropped, and an absent vector is an empty one.
func AsNPMReads(l *wire.Layout, table int, v Value) Value { return asNPM(l, table, v, true) }

// AsNPMWrites returns v as npm's flatbuffers writes it: its object API has
// empty vectors where ours are absent.
func AsNPMWrites(l *wire.Layout, table int, v Value) Value { return asNPM(l, table, v, false) }

func asNPM(l *wire.Layout, table int, v Value, dropBOM bool) Value {
	var convert func(f *wire.Field, x any) any
	convert = func(f *wire.Field, x any) any {
		switch x := x.(type) {
		case string:
			if dropBOM {
				return strings.TrimPrefix(x, "\ufeff")
			}
		case Value:
			return asNPM(l, f.Ref, x, dropBOM)
		case []any:
			list := []any{}
			for _, e := range x {
				list = append(list, convert(f, e))
			}
			return list
		}
		return x
	}
	out := Value{}
	for i := range l.Tables[table].Fields {
		f := &l.Tables[table].Fields[i]
		x, ok := v[f.Name]
		switch {
		case f.Deprecated:
		case ok:
			out[f.Name] = convert(f, x)
		case f.Vector:
			out[f.Name] = []any{}
		case f.Kind == wire.Bytes:
			out[f.Name] = []byte{}
		}
	}
	return out
}
