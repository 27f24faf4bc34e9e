package wire

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"strconv"
)

// AppendJSON verifies the size-prefixed FlatBuffer of a table and appends it as
// compact JSON, properties in the order of field ids. Errors are *DecodeError,
// as from generated code; dst is then returned as it was.
//
// An absent optional field is left out, an absent nullable one is null. An int64
// beyond ±(2^53−1) and every bigint is a string, bytes are base64, NaN and the
// infinities are strings, doubles are the shortest text that reads back exactly,
// and an enum number without a literal is "unknown:7".
func (l *Layout) AppendJSON(dst []byte, table int, payload []byte) ([]byte, error) {
	w := jsonWriter{layout: l, b: dst, limit: len(dst) + maxDynamic}
	if t := w.r.Root(payload); !w.r.Failed() {
		w.table(&l.Tables[table], t)
	}
	if err := w.r.Err(); err != nil {
		return dst, err
	}
	return w.b, nil
}

// jsonWriter reads one FlatBuffer and writes it as JSON. It stops at the first
// failure, which its Reader holds.
type jsonWriter struct {
	layout *Layout
	r      Reader
	b      []byte
	limit  int
	zeros  int // absent required tables being written
}

func (w *jsonWriter) table(t *Table, at TableRef) {
	if len(w.b) > w.limit {
		w.r.fail("", "the JSON text is far larger than its buffer")
		return
	}
	if t.Box {
		w.box(t, at)
		return
	}
	open := len(w.b)
	w.b = append(w.b, '{')
	for _, c := range t.Consts {
		if len(w.b) > open+1 {
			w.b = append(w.b, ',')
		}
		w.b = append(append(appendJSONString(w.b, c.JSON), ':'), c.Value...)
	}
	for id := range t.Fields {
		f := &t.Fields[id]
		if f.hidden() {
			continue
		}
		absent := f.Presence.CanBeAbsent() && !w.r.Has(at, id)
		if f.Kind == Union && f.Presence.CanBeAbsent() { // it stands in two fields
			kind, _ := w.r.Union(at, id, f.JSON)
			if absent = kind == 0; w.r.Failed() {
				return
			}
		}
		if absent && f.Presence != Nullable {
			continue
		}
		if len(w.b) > open+1 {
			w.b = append(w.b, ',')
		}
		w.b = append(appendJSONString(w.b, f.JSON), ':')
		if absent {
			w.b = append(w.b, "null"...)
		} else {
			w.field(f, at, id)
		}
		if w.r.Failed() {
			return
		}
	}
	w.b = append(w.b, '}')
}

func (w *jsonWriter) field(f *Field, at TableRef, id int) {
	switch {
	case f.Map:
		w.object(f, at, id)
		return
	case f.Vector:
		w.vector(f, at, id)
		return
	}
	switch f.Kind {
	case Bool:
		w.b = strconv.AppendBool(w.b, w.r.Bool(at, id, f.JSON))
	case Int64:
		w.b = appendJSONInt64(w.b, w.r.Int64(at, id, f.JSON), f.BigInt)
	case Float64:
		w.b = appendJSONFloat64(w.b, w.r.Float64(at, id, f.JSON))
	case Enum:
		w.b = w.layout.Enums[f.Ref].appendJSON(w.b, w.r.Enum(at, id, f.JSON))
	case String:
		w.b = appendJSONString(w.b, w.r.String(at, id, f.JSON))
	case Bytes:
		w.b = append(w.b, '"')
		if first, n, ok := w.r.Vector(at, id, 1, f.JSON); ok {
			w.b = base64.StdEncoding.AppendEncode(w.b, w.r.buf[first:first+n])
		}
		w.b = append(w.b, '"')
	case Struct:
		w.structure(f, at, id)
	case Union:
		w.union(f, at, id)
	default:
		if first := w.r.field(at, id, f.Kind.size(), f.JSON); first != 0 {
			w.b = appendNarrow(w.b, f.Kind, w.r.buf[first:])
		} else {
			w.b = append(w.b, zeroNarrow(f.Kind)...)
		}
	}
}

// structure writes a nested table; an absent required one is a table of zeros.
func (w *jsonWriter) structure(f *Field, at TableRef, id int) {
	t := &w.layout.Tables[f.Ref]
	if c, ok := w.r.Struct(at, id, f.JSON); ok {
		w.table(t, c)
		w.r.Leave(f.JSON)
		return
	}
	if w.r.Failed() {
		return
	}
	w.absentTable(t, f.JSON)
}

func (w *jsonWriter) vector(f *Field, at TableRef, id int) {
	first, n, ok := 0, 0, false
	if f.Kind == Struct {
		first, n, ok = w.r.Structs(at, id, f.JSON)
	} else {
		first, n, ok = w.r.Vector(at, id, f.Kind.size(), f.JSON)
	}
	w.b = append(w.b, '[')
	for i := 0; ok && i < n; i++ {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		if len(w.b) > w.limit {
			w.r.fail(f.JSON, "the JSON text is far larger than its buffer")
		} else {
			w.element(f, first, i)
		}
		ok = !w.r.Failed()
	}
	w.b = append(w.b, ']')
}

func (w *jsonWriter) element(f *Field, first, i int) {
	buf := w.r.buf
	switch f.Kind {
	case Bool:
		w.b = strconv.AppendBool(w.b, buf[first+i] != 0)
	case Int64:
		w.b = appendJSONInt64(w.b, int64(binary.LittleEndian.Uint64(buf[first+8*i:])), f.BigInt)
	case Float64:
		w.b = appendJSONFloat64(w.b, math.Float64frombits(binary.LittleEndian.Uint64(buf[first+8*i:])))
	case Enum:
		w.b = w.layout.Enums[f.Ref].appendJSON(w.b, int32(binary.LittleEndian.Uint32(buf[first+4*i:])))
	case String:
		s, ok := w.r.text(first+4*i, "")
		if !ok {
			w.r.err.Path = index(f.JSON, i)
			return
		}
		w.b = appendJSONString(w.b, s)
	case Struct:
		c, ok := w.r.Elem(first, i, f.JSON)
		if !ok {
			return
		}
		w.table(&w.layout.Tables[f.Ref], c)
		w.r.LeaveElem(f.JSON, i)
	default:
		w.b = appendNarrow(w.b, f.Kind, buf[first+f.Kind.size()*i:])
	}
}

func (e *EnumType) appendJSON(b []byte, number int32) []byte {
	if literal, ok := e.literal(number); ok {
		return appendJSONString(b, literal)
	}
	b = append(b, `"`+unknownPrefix...)
	return append(strconv.AppendInt(b, int64(number), 10), '"')
}

func appendJSONInt64(b []byte, v int64, asString bool) []byte {
	if !asString && SafeInt64(v) {
		return strconv.AppendInt(b, v, 10)
	}
	return append(strconv.AppendInt(append(b, '"'), v, 10), '"')
}

// appendJSONFloat64 writes the shortest text that reads back as v, in the form
// of ECMA-262 Number::toString; -0 stays -0.
func appendJSONFloat64(b []byte, v float64) []byte {
	switch {
	case math.IsNaN(v):
		return append(b, `"NaN"`...)
	case math.IsInf(v, 1):
		return append(b, `"Infinity"`...)
	case math.IsInf(v, -1):
		return append(b, `"-Infinity"`...)
	}
	if a := math.Abs(v); a == 0 || a >= 1e-6 && a < 1e21 {
		return strconv.AppendFloat(b, v, 'f', -1, 64)
	}
	b = strconv.AppendFloat(b, v, 'e', -1, 64)
	if n := len(b); b[n-4] == 'e' && b[n-2] == '0' { // e-07 → e-7
		b = append(b[:n-2], b[n-1])
	}
	return b
}

// appendJSONString writes a valid UTF-8 string, escaping only what JSON demands.
func appendJSONString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	from := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, `\n`...)
		case '\r':
			b = append(b, `\r`...)
		case '\t':
			b = append(b, `\t`...)
		default:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(append(b, s[from:]...), '"')
}

// CheckInt64 returns an *Int64Error for the first plain int64 of a table that a
// browser cannot hold exactly, like the method of generated types, or the
// *DecodeError of a malformed payload.
func (l *Layout) CheckInt64(table int, payload []byte) error {
	var r Reader
	t := r.Root(payload)
	var found *Int64Error
	if !r.Failed() {
		found = l.findUnsafe(&r, &l.Tables[table], t)
	}
	if err := r.Err(); err != nil {
		return err
	}
	if found != nil {
		return found
	}
	return nil
}

func (l *Layout) findUnsafe(r *Reader, t *Table, at TableRef) *Int64Error {
	for id := range t.Fields {
		f := &t.Fields[id]
		var found *Int64Error
		switch {
		case f.Deprecated || f.BigInt || f.Kind != Int64 && f.Kind != Struct && f.Kind != Union:
		case f.Kind == Union:
			found = l.findUnsafeMember(r, f, at, id)
		case f.Kind == Struct && !f.Vector:
			if c, ok := r.Struct(at, id, f.JSON); ok {
				found = l.findUnsafe(r, &l.Tables[f.Ref], c)
				r.Leave(f.JSON)
			}
			if found != nil {
				found.Path = join(f.JSON, found.Path)
			}
		case f.Kind == Struct:
			found = l.findUnsafeElement(r, f, at, id)
		case f.Vector:
			for i, v := range r.Int64s(at, id, f.JSON) {
				if !SafeInt64(v) {
					return &Int64Error{Path: index(f.JSON, i), Value: v}
				}
			}
		default:
			if v := r.Int64(at, id, f.JSON); !SafeInt64(v) {
				return &Int64Error{Path: f.JSON, Value: v}
			}
		}
		if found != nil || r.Failed() {
			return found
		}
	}
	return nil
}

func (l *Layout) findUnsafeElement(r *Reader, f *Field, at TableRef, id int) *Int64Error {
	first, n, _ := r.Structs(at, id, f.JSON)
	for i := range n {
		c, ok := r.Elem(first, i, f.JSON)
		if !ok {
			return nil
		}
		found := l.findUnsafe(r, &l.Tables[f.Ref], c)
		r.LeaveElem(f.JSON, i)
		if found != nil {
			found.Path = join(index(f.JSON, i), found.Path)
			return found
		}
		if r.Failed() {
			return nil
		}
	}
	return nil
}
