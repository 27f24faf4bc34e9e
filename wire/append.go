package wire

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// The Append functions write a FlatBuffer forwards: a table first, then what it
// refers to, depth first in the order of field ids. base is the index in b of
// the size prefix; alignment counts from it (FlatBuffers internals, "size
// prefixed buffers"). slot is the index in b of the 4-byte reference to patch.
// Generated code calls them; applications have no use for them.

// extend returns b with n more bytes of any content.
func extend(b []byte, n int) []byte {
	if len(b)+n <= cap(b) {
		return b[:len(b)+n]
	}
	return slices.Grow(b, n)[:len(b)+n]
}

// Finish writes the size prefix at base. It fails with ErrTooBig above MaxPayload.
func Finish(b []byte, base int) ([]byte, error) {
	size := len(b) - base - PrefixLen
	if size > MaxPayload {
		return b[:base], ErrTooBig
	}
	binary.LittleEndian.PutUint32(b[base:], uint32(size))
	return b, nil
}

// setRef makes the reference at slot point to the index target.
func setRef(b []byte, slot, target int) {
	binary.LittleEndian.PutUint32(b[slot:], uint32(target-slot))
}

// pad appends zeros until ahead bytes more would end on a multiple of align,
// which is 8 at most.
func pad(b []byte, base, ahead, align int) []byte {
	n := len(b)
	fill := -(n - base + ahead) & (align - 1)
	if n+8 <= cap(b) { // one store costs less than a copy of a few bytes
		if fill < 4 { // at least 4 bytes always follow: nothing behind them is touched
			binary.LittleEndian.PutUint32(b[n:n+4], 0)
		} else {
			binary.LittleEndian.PutUint64(b[n:n+8], 0)
		}
		return b[:n+fill]
	}
	return append(b, "\x00\x00\x00\x00\x00\x00\x00"[:fill]...)
}

// AppendTable appends a table and its own vtable: template is the vtable of
// vtable bytes followed by the inline part. It returns the index of the table.
func AppendTable(b []byte, base, slot int, template string, vtable, align int) ([]byte, int) {
	b = pad(b, base, vtable, align)
	table := len(b) + vtable
	b = append(b, template...)
	setRef(b, slot, table)
	return b, table
}

// AppendVTable appends the vtable that the elements of one vector share and
// returns its index.
func AppendVTable(b []byte, base int, vtable string) ([]byte, int) {
	b = pad(b, base, 0, 2)
	return append(b, vtable...), len(b)
}

// Align appends zeros until b ends on a multiple of align, which is 4 or 8.
func Align(b []byte, base, align int) []byte { return pad(b, base, 0, align) }

// LinkElement sets the two references of an element of a vector: from the table
// back to the vtable it shares, and from slot to the table. All are indexes in b.
func LinkElement(b []byte, slot, table, vtable int) {
	binary.LittleEndian.PutUint32(b[table:], uint32(table-vtable))
	setRef(b, slot, table)
}

// AppendVector appends a vector of n elements of size bytes each, with any
// content, and returns the index of the first.
func AppendVector(b []byte, base, slot, n, size int) ([]byte, int) {
	b = pad(b, base, 4, max(size, 4))
	setRef(b, slot, len(b))
	b = extend(b, 4+n*size)
	at := len(b) - n*size
	binary.LittleEndian.PutUint32(b[at-4:], uint32(n))
	return b, at
}

// AppendString appends a string with its terminating NUL. Each maximal subpart
// of bad UTF-8 becomes one U+FFFD (WHATWG Encoding, "UTF-8 decode").
//
// Names and symbols are short and plain ASCII: two overlapping words copy and
// check them in a third of the time of copy and utf8.ValidString.
func AppendString(b []byte, base, slot int, s string) []byte {
	at, n := len(b), len(s)
	start := at + -(at-base)&3 + 4
	b = extend(b, start+n+1-at)
	binary.LittleEndian.PutUint32(b[at:], 0) // the padding, if any
	binary.LittleEndian.PutUint32(b[start-4:], uint32(n))
	text := b[start : start+n+1]
	high := uint64(0x8080808080808080)
	switch {
	case n > 16:
	case n >= 8:
		v, w := load64(s), load64(s[n-8:])
		binary.LittleEndian.PutUint64(text, v)
		binary.LittleEndian.PutUint64(text[n-8:], w)
		high &= v | w
	case n >= 4:
		v, w := load32(s), load32(s[n-4:])
		binary.LittleEndian.PutUint32(text, v)
		binary.LittleEndian.PutUint32(text[n-4:], w)
		high &= uint64(v | w)
	}
	if high != 0 {
		if !utf8.ValidString(s) {
			return AppendString(b[:at], base, slot, ToValid(s))
		}
		copy(text, s)
	}
	text[n] = 0
	setRef(b, slot, start-4)
	return b
}

func load32(s string) uint32 {
	_ = s[3]
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
}

func load64(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// AppendBytes appends a [ubyte] vector.
func AppendBytes(b []byte, base, slot int, v []byte) []byte {
	b, at := AppendVector(b, base, slot, len(v), 1)
	copy(b[at:], v)
	return b
}

// AppendStrings appends a vector of strings.
func AppendStrings(b []byte, base, slot int, v []string) []byte {
	b, at := AppendVector(b, base, slot, len(v), 4)
	for i, s := range v {
		b = AppendString(b, base, at+4*i, s)
	}
	return b
}

// AppendFloat64s appends a vector of doubles, bit-exact.
func AppendFloat64s(b []byte, base, slot int, v []float64) []byte {
	b, at := AppendVector(b, base, slot, len(v), 8)
	for i, x := range v {
		binary.LittleEndian.PutUint64(b[at+8*i:], math.Float64bits(x))
	}
	return b
}

// AppendInt64s appends a vector of int64.
func AppendInt64s(b []byte, base, slot int, v []int64) []byte {
	b, at := AppendVector(b, base, slot, len(v), 8)
	for i, x := range v {
		binary.LittleEndian.PutUint64(b[at+8*i:], uint64(x))
	}
	return b
}

// AppendBools appends a vector of bool, one byte each.
func AppendBools(b []byte, base, slot int, v []bool) []byte {
	b, at := AppendVector(b, base, slot, len(v), 1)
	for i, x := range v {
		b[at+i] = BoolByte(x)
	}
	return b
}

// AppendEnums appends a vector of enum numbers.
func AppendEnums[E ~int32](b []byte, base, slot int, v []E) []byte {
	b, at := AppendVector(b, base, slot, len(v), 4)
	for i, x := range v {
		binary.LittleEndian.PutUint32(b[at+4*i:], uint32(x))
	}
	return b
}

// BoolByte returns 1 for true, 0 for false.
func BoolByte(v bool) byte {
	if v {
		return 1
	}
	return 0
}

// ToValid returns s with each maximal subpart of an ill-formed sequence
// replaced by one U+FFFD. Go's own conversions replace every byte, or a whole
// run; browsers follow this rule, and both sides must write the same bytes.
func ToValid(s string) string {
	var out strings.Builder
	out.Grow(len(s) + 8)
	for i := 0; i < len(s); {
		if r, n := utf8.DecodeRuneInString(s[i:]); r != utf8.RuneError || n > 1 {
			out.WriteString(s[i : i+n])
			i += n
			continue
		}
		i += subpart(s[i:])
		out.WriteRune(utf8.RuneError)
	}
	return out.String()
}

// subpart returns the length of the maximal subpart at the start of s, which
// does not begin with a well-formed sequence (Unicode 15, table 3-7 and D93b).
func subpart(s string) int {
	lo, hi, need := byte(0x80), byte(0xBF), 0
	switch c := s[0]; {
	case c >= 0xC2 && c <= 0xDF:
		need = 1
	case c == 0xE0:
		lo, need = 0xA0, 2
	case c == 0xED:
		hi, need = 0x9F, 2
	case c >= 0xE1 && c <= 0xEF:
		need = 2
	case c == 0xF0:
		lo, need = 0x90, 3
	case c == 0xF4:
		hi, need = 0x8F, 3
	case c >= 0xF1 && c <= 0xF3:
		need = 3
	}
	n := 1
	for ; n <= need && n < len(s) && s[n] >= lo && s[n] <= hi; n++ {
		lo, hi = 0x80, 0xBF
	}
	return n
}
