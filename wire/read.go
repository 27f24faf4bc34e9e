package wire

import (
	"encoding/binary"
	"math"
	"strconv"
	"unicode/utf8"
)

// MaxDepth is the number of tables on one path, the root included.
const MaxDepth = 64

// DecodeError says where in a value a FlatBuffer is malformed.
type DecodeError struct {
	Path   string // e.g. "positions[3].symbol"; "" = the root
	Reason string
}

// Error returns the path and the reason.
func (e *DecodeError) Error() string {
	if e.Path == "" {
		return "malformed payload: " + e.Reason
	}
	return "malformed payload: " + e.Path + ": " + e.Reason
}

// Reader verifies and reads one size-prefixed FlatBuffer in one pass: every
// offset, length, vtable and depth is checked against the buffer before use,
// and what one decode may produce is bounded (tables visited ≤ length / 4;
// bytes of strings and vectors ≤ 16 × length + 64 KiB), since offsets may alias.
// The first failure sticks: later reads return zero values.
// Generated code uses it; a Reader serves one decode.
type Reader struct {
	buf    []byte
	tables int // visits left
	bytes  int // bytes left
	depth  int
	err    *DecodeError
}

// TableRef is the place of one verified table in the buffer of its Reader.
// The zero value reads as a table without fields.
type TableRef struct {
	pos    int
	vtable []byte // the sizes of vtable and table, then the offset of each field
}

// Root checks the prefix of data and returns its root table.
func (r *Reader) Root(data []byte) TableRef {
	// Field by field: assigning a whole Reader is a copy through a temporary,
	// and costs a quarter of decoding a small message.
	r.buf = data
	r.tables = len(data) / 4
	r.bytes = 16*len(data) + 64<<10
	r.depth = 0
	r.err = nil
	if len(data) < 2*PrefixLen || uint64(binary.LittleEndian.Uint32(data)) != uint64(len(data)-PrefixLen) {
		r.fail("", "the size prefix does not match the length")
		return TableRef{}
	}
	pos, ok := r.follow(PrefixLen, "")
	if !ok {
		return TableRef{}
	}
	return r.enter(pos, "")
}

// Err returns the first failure as a *DecodeError, or nil.
func (r *Reader) Err() error {
	if r.err == nil {
		return nil
	}
	return r.err
}

// Failed reports whether a read has failed.
func (r *Reader) Failed() bool { return r.err != nil }

func (r *Reader) fail(name, reason string) {
	if r.err == nil {
		r.err = &DecodeError{Path: name, Reason: reason}
	}
}

// Leave ends the reading of the nested table that Struct returned.
func (r *Reader) Leave(name string) {
	r.depth--
	if r.err != nil {
		r.err.Path = join(name, r.err.Path)
	}
}

// LeaveElem ends the reading of the element that Elem returned.
func (r *Reader) LeaveElem(name string, i int) {
	r.depth--
	if r.err != nil {
		r.err.Path = join(index(name, i), r.err.Path)
	}
}

func index(name string, i int) string { return name + "[" + strconv.Itoa(i) + "]" }

func join(name, rest string) string {
	switch {
	case rest == "":
		return name
	case name == "" || rest[0] == '[':
		return name + rest
	}
	return name + "." + rest
}

// follow reads the unsigned forward offset at slot, which lies in the buffer,
// and returns its target, at which at least 4 bytes stand.
func (r *Reader) follow(slot int, name string) (int, bool) {
	target := slot + int(binary.LittleEndian.Uint32(r.buf[slot:]))
	if target <= slot || target > len(r.buf)-4 {
		r.fail(name, "an offset points outside the buffer")
		return 0, false
	}
	return target, true
}

// enter verifies the table at pos, where 4 bytes stand.
func (r *Reader) enter(pos int, name string) TableRef {
	if r.depth++; r.depth > MaxDepth {
		r.fail(name, "tables are nested deeper than 64")
		return TableRef{}
	}
	if r.tables--; r.tables < 0 {
		r.fail(name, "more tables than the buffer can hold")
		return TableRef{}
	}
	vt := pos - int(int32(binary.LittleEndian.Uint32(r.buf[pos:])))
	if vt < 0 || vt > len(r.buf)-4 {
		r.fail(name, "the vtable lies outside the buffer")
		return TableRef{}
	}
	size := int(binary.LittleEndian.Uint16(r.buf[vt:]))
	if size < 4 || size&1 != 0 || vt+size > len(r.buf) {
		r.fail(name, "the vtable has a wrong size")
		return TableRef{}
	}
	return TableRef{pos: pos, vtable: r.buf[vt : vt+size : vt+size]}
}

// field returns the index of a field of size bytes, or 0 when it is absent. The
// table's own size, which the vtable also gives, decides nothing: google's
// builder for Go shares a vtable between tables of different sizes when their
// offsets are equal.
func (r *Reader) field(t TableRef, id, size int, name string) int {
	entry := 4 + 2*id
	if entry >= len(t.vtable) {
		return 0
	}
	at := int(binary.LittleEndian.Uint16(t.vtable[entry:]))
	if at == 0 {
		return 0
	}
	if at < 4 || t.pos+at+size > len(r.buf) {
		r.fail(name, "the field reaches outside the buffer")
		return 0
	}
	return t.pos + at
}

// word reads 8 bytes; absent is 0. It is field written out once more: most
// fields are such, and one call each is what reading them costs.
func (r *Reader) word(t TableRef, id int, name string) uint64 {
	entry := 4 + 2*id
	if entry >= len(t.vtable) {
		return 0
	}
	at := int(binary.LittleEndian.Uint16(t.vtable[entry:]))
	if at == 0 {
		return 0
	}
	end := t.pos + at + 8
	if at < 4 || end > len(r.buf) {
		r.fail(name, "the field reaches outside the buffer")
		return 0
	}
	return binary.LittleEndian.Uint64(r.buf[end-8 : end])
}

// Row returns the inline part of a table, of size bytes, when the table stands as
// our encoders write it: behind exactly this vtable, and whole. Otherwise it
// returns nil, and nothing has failed: fields are then read one by one.
func (r *Reader) Row(t TableRef, vtable string, size int) []byte {
	if string(t.vtable) != vtable || t.pos+size > len(r.buf) {
		return nil
	}
	return r.buf[t.pos : t.pos+size : t.pos+size]
}

// Has reports whether the scalar field id is present.
func (r *Reader) Has(t TableRef, id int) bool {
	entry := 4 + 2*id
	return entry < len(t.vtable) && binary.LittleEndian.Uint16(t.vtable[entry:]) != 0
}

// Bool reads a bool; any byte but 0 is true, absent is false.
func (r *Reader) Bool(t TableRef, id int, name string) bool {
	at := r.field(t, id, 1, name)
	return at != 0 && r.buf[at] != 0
}

// Int64 reads an int64; absent is 0.
func (r *Reader) Int64(t TableRef, id int, name string) int64 { return int64(r.word(t, id, name)) }

// Float64 reads a double, bit-exact; absent is 0.
func (r *Reader) Float64(t TableRef, id int, name string) float64 {
	return math.Float64frombits(r.word(t, id, name))
}

// Enum reads an enum number, known or not; absent is 0.
func (r *Reader) Enum(t TableRef, id int, name string) int32 {
	at := r.field(t, id, 4, name)
	if at == 0 {
		return 0
	}
	return int32(binary.LittleEndian.Uint32(r.buf[at:]))
}

// Struct reads a nested table. When ok, the caller reads it and calls Leave.
func (r *Reader) Struct(t TableRef, id int, name string) (c TableRef, ok bool) {
	at := r.field(t, id, 4, name)
	if at == 0 || r.err != nil {
		return TableRef{}, false
	}
	pos, ok := r.follow(at, name)
	if !ok {
		return TableRef{}, false
	}
	c = r.enter(pos, name)
	return c, r.err == nil
}

// Vector reads a vector of elements of size bytes: the index of the first
// element and their number. ok is false when the field is absent or malformed.
func (r *Reader) Vector(t TableRef, id, size int, name string) (at, n int, ok bool) {
	slot := r.field(t, id, 4, name)
	if slot == 0 || r.err != nil {
		return 0, 0, false
	}
	pos, ok := r.follow(slot, name)
	if !ok {
		return 0, 0, false
	}
	count := uint64(binary.LittleEndian.Uint32(r.buf[pos:]))
	if count*uint64(size) > uint64(len(r.buf)-pos-4) {
		r.fail(name, "a vector reaches outside the buffer")
		return 0, 0, false
	}
	if !r.spend(int(count)*size, name) {
		return 0, 0, false
	}
	return pos + 4, int(count), true
}

func (r *Reader) spend(n int, name string) bool {
	if r.bytes -= n; r.bytes < 0 {
		r.fail(name, "the value is far larger than its buffer")
		return false
	}
	return true
}

// Structs reads a vector of tables: like Vector, and it makes sure before the
// caller allocates that the budget holds n tables more.
func (r *Reader) Structs(t TableRef, id int, name string) (at, n int, ok bool) {
	at, n, ok = r.Vector(t, id, 4, name)
	if ok && n > r.tables {
		r.fail(name, "more tables than the buffer can hold")
		return 0, 0, false
	}
	return at, n, ok
}

// Elem reads the table i of a vector. When ok, the caller reads it and calls
// LeaveElem; when not, reading has failed.
func (r *Reader) Elem(at, i int, name string) (c TableRef, ok bool) {
	pos, ok := r.follow(at+4*i, "")
	if ok {
		c = r.enter(pos, "")
		ok = r.err == nil
	}
	if !ok {
		r.err.Path = join(index(name, i), r.err.Path)
	}
	return c, ok
}

// text reads the string that the reference at slot points to.
func (r *Reader) text(slot int, name string) (string, bool) {
	pos, ok := r.follow(slot, name)
	if !ok {
		return "", false
	}
	size := binary.LittleEndian.Uint32(r.buf[pos:])
	if uint64(size) >= uint64(len(r.buf)-pos-4) {
		r.fail(name, "a string reaches outside the buffer")
		return "", false
	}
	n := int(size)
	b := r.buf[pos+4 : pos+4+n+1]
	if b[n] != 0 {
		r.fail(name, "a string does not end with NUL")
		return "", false
	}
	if !r.spend(n, name) {
		return "", false
	}
	if b = b[:n]; !shortASCII(b) && !utf8.Valid(b) {
		r.fail(name, "a string is not valid UTF-8")
		return "", false
	}
	return string(b), true
}

// shortASCII reports whether b is ASCII of 4 to 16 bytes, as most names are.
func shortASCII(b []byte) bool {
	n := len(b)
	switch {
	case n >= 8 && n <= 16:
		return (binary.LittleEndian.Uint64(b)|binary.LittleEndian.Uint64(b[n-8:]))&0x8080808080808080 == 0
	case n >= 4 && n < 8:
		return (binary.LittleEndian.Uint32(b)|binary.LittleEndian.Uint32(b[n-4:]))&0x80808080 == 0
	}
	return false
}

// String reads a string; absent is "".
func (r *Reader) String(t TableRef, id int, name string) string {
	slot := r.field(t, id, 4, name)
	if slot == 0 || r.err != nil {
		return ""
	}
	s, _ := r.text(slot, name)
	return s
}

// Bytes reads a [ubyte] vector as a copy; nil when absent.
func (r *Reader) Bytes(t TableRef, id int, name string) []byte {
	at, n, ok := r.Vector(t, id, 1, name)
	if !ok {
		return nil
	}
	return append(make([]byte, 0, n), r.buf[at:at+n]...)
}

// Strings reads a vector of strings; nil when absent.
func (r *Reader) Strings(t TableRef, id int, name string) []string {
	at, n, ok := r.Vector(t, id, 4, name)
	if !ok {
		return nil
	}
	v := make([]string, n)
	for i := range v {
		if v[i], ok = r.text(at+4*i, ""); !ok {
			r.err.Path = index(name, i)
			return nil
		}
	}
	return v
}

// Float64s reads a vector of doubles; nil when absent.
func (r *Reader) Float64s(t TableRef, id int, name string) []float64 {
	at, n, ok := r.Vector(t, id, 8, name)
	if !ok {
		return nil
	}
	v := make([]float64, n)
	for i := range v {
		v[i] = math.Float64frombits(binary.LittleEndian.Uint64(r.buf[at+8*i:]))
	}
	return v
}

// Int64s reads a vector of int64; nil when absent.
func (r *Reader) Int64s(t TableRef, id int, name string) []int64 {
	at, n, ok := r.Vector(t, id, 8, name)
	if !ok {
		return nil
	}
	v := make([]int64, n)
	for i := range v {
		v[i] = int64(binary.LittleEndian.Uint64(r.buf[at+8*i:]))
	}
	return v
}

// Bools reads a vector of bool; nil when absent.
func (r *Reader) Bools(t TableRef, id int, name string) []bool {
	at, n, ok := r.Vector(t, id, 1, name)
	if !ok {
		return nil
	}
	v := make([]bool, n)
	for i := range v {
		v[i] = r.buf[at+i] != 0
	}
	return v
}

// Enums reads a vector of enum numbers; nil when absent.
func Enums[E ~int32](r *Reader, t TableRef, id int, name string) []E {
	at, n, ok := r.Vector(t, id, 4, name)
	if !ok {
		return nil
	}
	v := make([]E, n)
	for i := range v {
		v[i] = E(binary.LittleEndian.Uint32(r.buf[at+4*i:]))
	}
	return v
}

// Opt returns a pointer to v when the scalar field id is present, else nil.
func Opt[T any](r *Reader, t TableRef, id int, v T) *T {
	if !r.Has(t, id) {
		return nil
	}
	p := new(T)
	*p = v
	return p
}
