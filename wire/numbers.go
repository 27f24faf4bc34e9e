package wire

import (
	"encoding/binary"
	"math"
)

// Narrow are the numbers that a field holds besides int64 and float64.
type Narrow interface {
	int8 | int16 | int32 | uint8 | uint16 | uint32 | uint64 | float32
}

// narrowSize returns the bytes of one T.
func narrowSize[T Narrow]() int {
	var v T
	switch any(v).(type) {
	case int8, uint8:
		return 1
	case int16, uint16:
		return 2
	case uint64:
		return 8
	}
	return 4
}

// loadNumber reads the T at the start of b.
func loadNumber[T Narrow](b []byte) T {
	var v T
	switch p := any(&v).(type) {
	case *int8:
		*p = int8(b[0])
	case *uint8:
		*p = b[0]
	case *int16:
		*p = int16(binary.LittleEndian.Uint16(b))
	case *uint16:
		*p = binary.LittleEndian.Uint16(b)
	case *int32:
		*p = int32(binary.LittleEndian.Uint32(b))
	case *uint32:
		*p = binary.LittleEndian.Uint32(b)
	case *uint64:
		*p = binary.LittleEndian.Uint64(b)
	case *float32:
		*p = math.Float32frombits(binary.LittleEndian.Uint32(b))
	}
	return v
}

// storeNumber writes v at the start of b.
func storeNumber[T Narrow](b []byte, v T) {
	switch v := any(v).(type) {
	case int8:
		b[0] = byte(v)
	case uint8:
		b[0] = v
	case int16:
		binary.LittleEndian.PutUint16(b, uint16(v))
	case uint16:
		binary.LittleEndian.PutUint16(b, v)
	case int32:
		binary.LittleEndian.PutUint32(b, uint32(v))
	case uint32:
		binary.LittleEndian.PutUint32(b, v)
	case uint64:
		binary.LittleEndian.PutUint64(b, v)
	case float32:
		binary.LittleEndian.PutUint32(b, math.Float32bits(v))
	}
}

// Number reads a narrow number; absent is 0.
func Number[T Narrow](r *Reader, t TableRef, id int, name string) T {
	at := r.field(t, id, narrowSize[T](), name)
	if at == 0 {
		var zero T
		return zero
	}
	return loadNumber[T](r.buf[at:])
}

// Numbers reads a vector of narrow numbers; nil when absent.
func Numbers[T Narrow](r *Reader, t TableRef, id int, name string) []T {
	size := narrowSize[T]()
	at, n, ok := r.Vector(t, id, size, name)
	if !ok {
		return nil
	}
	v := make([]T, n)
	for i := range v {
		v[i] = loadNumber[T](r.buf[at+size*i:])
	}
	return v
}

// AppendNumbers appends a vector of narrow numbers.
func AppendNumbers[T Narrow](b []byte, base, slot int, v []T) []byte {
	size := narrowSize[T]()
	b, at := AppendVector(b, base, slot, len(v), size)
	for i, x := range v {
		storeNumber(b[at+size*i:], x)
	}
	return b
}

// Union reads which member of a union is there, and where the reference to it
// stands. Member 0 is none: the union is absent, or reading has failed.
func (r *Reader) Union(t TableRef, id int, name string) (member uint8, at int) {
	kind := r.field(t, id-1, 1, name)
	at = r.field(t, id, 4, name)
	if kind != 0 {
		member = r.buf[kind]
	}
	if (member == 0) != (at == 0) && r.err == nil {
		r.fail(name, "a union has a type without a value, or a value without a type")
	}
	if r.err != nil {
		return 0, 0
	}
	return member, at
}

// Member reads the table of a union. When ok, the caller reads it and calls Leave.
func (r *Reader) Member(at int, name string) (c TableRef, ok bool) {
	pos, ok := r.follow(at, name)
	if !ok {
		return TableRef{}, false
	}
	c = r.enter(pos, name)
	return c, r.err == nil
}
