package wire

import (
	"encoding/binary"
	"math"
)

// EncodeJSON appends the size-prefixed FlatBuffer of a table given as JSON text,
// byte for byte what generated code writes for the same value. Every error is a
// *JSONError; dst is then returned as it was.
//
// A missing property and null are the same for an optional or nullable field
// and an error for a required one. Integers may be numbers or strings, doubles
// also "NaN", "Infinity" and "-Infinity", bytes are base64 in either alphabet,
// padded or not. Unknown and repeated properties are errors.
func (l *Layout) EncodeJSON(dst []byte, table int, text []byte) ([]byte, error) {
	s := scanner{src: text}
	if err := s.scan(); err != nil {
		return dst, err
	}
	e := jsonEncoder{layout: l, src: text, tokens: s.tokens, b: dst, base: len(dst)}
	e.b = append(e.b, make([]byte, 2*PrefixLen)...)
	if err := e.structure(table, e.base+PrefixLen, 0); err != nil {
		return dst, err
	}
	b, err := Finish(e.b, e.base)
	if err != nil {
		return dst, jsonErrorf("%s", err)
	}
	return b, nil
}

// jsonEncoder turns the tokens of one text into one FlatBuffer.
type jsonEncoder struct {
	layout *Layout
	src    []byte
	tokens []token
	// values holds, for each table being written, the token of each field by
	// id, or -1: a stack, since children are written before the table is done.
	values []int32
	b      []byte
	base   int
	depth  int // tables being written
}

// room refuses a value that has grown beyond all reason.
func (e *jsonEncoder) room(n int) *JSONError {
	if len(e.b)-e.base+n > maxDynamic {
		return jsonErrorf("the value is too big: more than %d MiB encoded; split it", maxDynamic>>20)
	}
	return nil
}

// structure writes the table that slot refers to, with its own vtable.
func (e *jsonEncoder) structure(table, slot, at int) *JSONError {
	t := &e.layout.Tables[table]
	if err := e.room(len(t.vtable) + t.inline); err != nil {
		return err
	}
	e.b = pad(e.b, e.base, len(t.vtable), t.align)
	e.b = append(e.b, t.vtable...)
	pos := len(e.b)
	e.inline(t, len(t.vtable))
	setRef(e.b, slot, pos)
	return e.fields(t, pos, at)
}

// inline appends a table of zeros whose vtable stands distance bytes before it.
func (e *jsonEncoder) inline(t *Table, distance int) {
	pos := len(e.b)
	e.b = extend(e.b, t.inline)
	clear(e.b[pos:])
	binary.LittleEndian.PutUint32(e.b[pos:], uint32(distance))
}

// fields fills the table at pos from the object token at.
func (e *jsonEncoder) fields(t *Table, pos, at int) *JSONError {
	if e.depth++; e.depth > MaxDepth {
		return jsonErrorf("objects are nested deeper than %d", MaxDepth)
	}
	if t.Box {
		return e.box(t, pos, at)
	}
	first := len(e.values)
	if err := e.match(t, at); err != nil {
		return err
	}
	for id := range t.Fields {
		f := &t.Fields[id]
		if f.hidden() {
			continue
		}
		value := int(e.values[first+id])
		if value < 0 || e.tokens[value].kind == tokNull {
			if !f.Presence.CanBeAbsent() {
				return e.absent(f, value)
			}
			e.leaveOut(t, pos, id)
			continue
		}
		if err := e.field(t, id, pos, value); err != nil {
			return err.under(f.JSON)
		}
	}
	e.values = e.values[:first]
	e.depth--
	return nil
}

// match pushes the value token of each field onto e.values.
func (e *jsonEncoder) match(t *Table, at int) *JSONError {
	object := e.tokens[at]
	if object.kind != tokObject {
		return e.wrong("an object", at)
	}
	first := len(e.values)
	for range t.Fields {
		e.values = append(e.values, -1)
	}
	var ignored map[string]struct{}
	id, constants := -1, 0
	for i := at + 1; i < int(object.next); {
		key, value := e.tokens[i], i+1
		i = int(e.tokens[value].next)
		id = t.find(e.src, key, id+1)
		if id >= 0 {
			if e.values[first+id] >= 0 {
				return jsonErrorf("the property stands twice in one object; keep one").under(t.Fields[id].JSON)
			}
			e.values[first+id] = int32(value)
			continue
		}
		name := textOf(e.src, key)
		if want := t.constant(name); want != "" {
			if !e.equals(value, want) {
				return e.wrong(want, value).under(name)
			}
			constants++
		} else if !t.AllowUnknown {
			return unknownProperty(t, name)
		}
		if _, twice := ignored[name]; twice {
			return jsonErrorf("the property stands twice in one object; keep one").under(name)
		}
		if ignored == nil {
			ignored = map[string]struct{}{}
		}
		ignored[name] = struct{}{}
	}
	if constants < len(t.Consts) {
		return e.missingConstant(t, at)
	}
	return nil
}

func unknownProperty(t *Table, name string) *JSONError {
	known := make([]string, 0, len(t.Fields)+len(t.Consts))
	for _, c := range t.Consts {
		known = append(known, c.JSON)
	}
	for i := range t.Fields {
		if !t.Fields[i].hidden() {
			known = append(known, t.Fields[i].JSON)
		}
	}
	err := jsonErrorf("unknown property; %s has %s", t.Name, list(known))
	if near := nearest(name, known); near != "" {
		err = jsonErrorf("unknown property of %s; did you mean %q?", t.Name, near)
	} else if len(known) == 0 {
		err = jsonErrorf("unknown property; %s has no properties, write {}", t.Name)
	}
	return err.under(name)
}

// absent reports a required field without a value.
func (e *jsonEncoder) absent(f *Field, value int) *JSONError {
	if value < 0 {
		return jsonErrorf("the required property is missing; write %s", e.layout.wants(f)).under(f.JSON)
	}
	return jsonErrorf("null is not allowed here; write %s", e.layout.wants(f)).under(f.JSON)
}

// field writes one present value of the table at pos: inline, or after the table.
func (e *jsonEncoder) field(t *Table, id, pos, at int) *JSONError {
	f := &t.Fields[id]
	slot := pos + f.offset
	switch {
	case f.Map:
		return e.object(f, slot, at)
	case f.Vector:
		return e.vector(f, slot, at)
	}
	switch f.Kind {
	case Union:
		return e.union(f, pos+t.Fields[id-1].offset, slot, at)
	case Struct:
		return e.structure(f.Ref, slot, at)
	case String:
		return e.text(f, slot, at)
	case Bytes:
		v, err := e.bytes(f, at)
		if err != nil {
			return err
		}
		if err := e.room(len(v)); err != nil {
			return err
		}
		e.b = AppendBytes(e.b, e.base, slot, v)
		return nil
	default:
		return e.scalar(f, slot, at)
	}
}

// scalar writes a value of fixed size at slot.
func (e *jsonEncoder) scalar(f *Field, slot, at int) *JSONError {
	switch f.Kind {
	case Bool:
		v, err := e.bool(f, at)
		if err != nil {
			return err
		}
		e.b[slot] = BoolByte(v)
	case Int64:
		v, err := e.int64(f, at)
		if err != nil {
			return err
		}
		binary.LittleEndian.PutUint64(e.b[slot:], uint64(v))
	case Float64:
		v, err := e.float64(f, at)
		if err != nil {
			return err
		}
		binary.LittleEndian.PutUint64(e.b[slot:], math.Float64bits(v))
	case Enum:
		v, err := e.enum(f, at)
		if err != nil {
			return err
		}
		binary.LittleEndian.PutUint32(e.b[slot:], uint32(v))
	default:
		return e.narrow(f, slot, at)
	}
	return nil
}

func (e *jsonEncoder) text(f *Field, slot, at int) *JSONError {
	if e.tokens[at].kind != tokString {
		return e.wrong(e.layout.wantsOne(f), at)
	}
	s := textOf(e.src, e.tokens[at])
	if err := e.room(3 * len(s)); err != nil { // a bad byte becomes three
		return err
	}
	e.b = AppendString(e.b, e.base, slot, s)
	return nil
}

// vector writes the elements of an array, references before what they refer to.
func (e *jsonEncoder) vector(f *Field, slot, at int) *JSONError {
	array := e.tokens[at]
	if array.kind != tokArray {
		return e.wrong(e.layout.wants(f), at)
	}
	size := f.Kind.size()
	if err := e.room(int(array.n) * size); err != nil {
		return err
	}
	b, first := AppendVector(e.b, e.base, slot, int(array.n), size)
	e.b = b
	shared := -1
	if f.Kind == Struct && array.n > 0 && !e.layout.Tables[f.Ref].canAbsent {
		e.b = pad(e.b, e.base, 0, 2)
		shared = len(e.b)
		e.b = append(e.b, e.layout.Tables[f.Ref].vtable...)
	}
	value := at + 1
	for i := range int(array.n) {
		if err := e.element(f, first+i*size, value, shared); err != nil {
			return err.underIndex(i)
		}
		value = int(e.tokens[value].next)
	}
	return nil
}

func (e *jsonEncoder) element(f *Field, slot, at, shared int) *JSONError {
	if e.tokens[at].kind == tokNull {
		return jsonErrorf("null is not allowed in an array; write %s or leave the element out", e.layout.wantsOne(f))
	}
	switch {
	case f.Kind == Struct && shared >= 0:
		t := &e.layout.Tables[f.Ref]
		if err := e.room(t.inline); err != nil {
			return err
		}
		e.b = pad(e.b, e.base, 0, t.align)
		pos := len(e.b)
		e.inline(t, pos-shared)
		setRef(e.b, slot, pos)
		return e.fields(t, pos, at)
	case f.Kind == Struct:
		return e.structure(f.Ref, slot, at)
	case f.Kind == String:
		return e.text(f, slot, at)
	default:
		return e.scalar(f, slot, at)
	}
}
