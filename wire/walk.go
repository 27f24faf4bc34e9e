package wire

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// EncodeError says which value cannot be encoded.
type EncodeError struct {
	Path   string // e.g. "positions[3].symbol"; "" = the root
	Reason string
}

// Error returns the path and the reason.
func (e *EncodeError) Error() string {
	if e.Path == "" {
		return "cannot encode: " + e.Reason
	}
	return "cannot encode: " + e.Path + ": " + e.Reason
}

// Walk looks through a value before it is encoded: generated code of types that
// can contain themselves, or hold unions, walks over all tables to find what
// has no bytes (a cycle of pointers, more than [MaxDepth] tables on a path, a
// union without a value). The zero value is ready for one walk.
type Walk struct {
	depth  int
	tables int
	err    *EncodeError
	big    bool
}

// Enter begins a table and reports whether to go on; Leave ends it.
func (w *Walk) Enter(name string) bool {
	w.tables++
	switch {
	case w.err != nil || w.big:
		return false
	case w.depth == MaxDepth:
		w.Fail(name, "tables are nested deeper than 64, or a pointer leads back to its owner")
		return false
	case w.tables > MaxPayload/4:
		w.big = true
		return false
	}
	w.depth++
	return true
}

// Leave ends the table that Enter began under that name.
func (w *Walk) Leave(name string) {
	w.depth--
	if w.err != nil {
		w.err.Path = join(name, w.err.Path)
	}
}

// EnterElem begins element i of a list.
func (w *Walk) EnterElem(name string, i int) bool {
	if w.err != nil || w.big {
		return false
	}
	if w.Enter("") {
		return true
	}
	if w.err != nil {
		w.err.Path = join(index(name, i), w.err.Path)
	}
	return false
}

// LeaveElem ends the element that EnterElem began.
func (w *Walk) LeaveElem(name string, i int) {
	w.depth--
	if w.err != nil {
		w.err.Path = join(index(name, i), w.err.Path)
	}
}

// EnterKey begins the value of a key of a map.
func (w *Walk) EnterKey(name, key string) bool {
	if w.err != nil || w.big {
		return false
	}
	if w.Enter("") {
		return true
	}
	if w.err != nil {
		w.err.Path = JoinKey(name, key, w.err.Path)
	}
	return false
}

// LeaveKey ends the value that EnterKey began.
func (w *Walk) LeaveKey(name, key string) {
	w.depth--
	if w.err != nil {
		w.err.Path = JoinKey(name, key, w.err.Path)
	}
}

// Join puts a path behind a name: a.b, a[1].
func Join(name, rest string) string { return join(name, rest) }

// JoinIndex puts a path behind element i of a list: a[1].b.
func JoinIndex(name string, i int, rest string) string { return join(index(name, i), rest) }

// JoinKey puts a path behind a key of a map: a["k"].b.
func JoinKey(name, key, rest string) string { return join(name+"["+quote(key)+"]", rest) }

// Fail says that the field has no bytes. The first failure stays.
func (w *Walk) Fail(name, reason string) {
	if w.err == nil {
		w.err = &EncodeError{Path: name, Reason: reason}
	}
}

// FailMember says that a union holds no value of its members.
func (w *Walk) FailMember(name, union string, v any) {
	switch v := v.(type) {
	case nil:
		w.Fail(name, "no value; set a member of "+union)
	case UnknownMember:
		w.Fail(name, "member "+strconv.Itoa(int(v.ID))+" of "+union+" is of a newer schema and cannot be encoded again")
	default:
		w.Fail(name, "the value is a nil pointer or no member of "+union)
	}
}

// FailLiteral reports a string that is no literal of an enum. Generated code of
// enums that Go holds as strings calls it.
func (w *Walk) FailLiteral(name, enum, v, literals string) {
	w.Fail(name, quote(v)+" is no "+enum+": want one of "+literals)
}

// Err returns what was found: an *EncodeError, ErrTooBig, or nil.
func (w *Walk) Err() error {
	if w.err != nil {
		return w.err
	}
	if w.big {
		return ErrTooBig
	}
	return nil
}

// SortedKeys returns the keys of a map in the order of their bytes on the wire.
func SortedKeys[K ~string, V any](m map[K]V) []K {
	keys := slices.AppendSeq(make([]K, 0, len(m)), maps.Keys(m))
	slices.Sort(keys)
	for _, k := range keys {
		if !utf8.ValidString(string(k)) { // it will be written otherwise
			slices.SortFunc(keys, func(a, b K) int {
				if c := strings.Compare(ToValid(string(a)), ToValid(string(b))); c != 0 {
					return c
				}
				return strings.Compare(string(a), string(b))
			})
			break
		}
	}
	return keys
}
