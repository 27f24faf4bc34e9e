package wire

import (
	"encoding/binary"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// The schema-driven codec of unions, maps and tables that stand for their one
// field.

// leaveOut marks field id of the table at pos as absent, of a union both parts.
func (e *jsonEncoder) leaveOut(t *Table, pos, id int) {
	entry := pos - len(t.vtable) + 4 + 2*id
	binary.LittleEndian.PutUint16(e.b[entry:], 0)
	if t.Fields[id].Kind == Union {
		binary.LittleEndian.PutUint16(e.b[entry-2:], 0)
	}
}

// box writes the one field of a table that stands for it.
func (e *jsonEncoder) box(t *Table, pos, at int) *JSONError {
	id := len(t.Fields) - 1
	f := &t.Fields[id]
	if e.tokens[at].kind != tokNull {
		if err := e.field(t, id, pos, at); err != nil {
			return err
		}
	} else if f.Presence.CanBeAbsent() {
		e.leaveOut(t, pos, id)
	} else {
		return jsonErrorf("null is not allowed here; write %s", e.layout.wants(f))
	}
	e.depth--
	return nil
}

// equals reports whether a value is the constant that want is the text of.
func (e *jsonEncoder) equals(at int, want string) bool {
	t := e.tokens[at]
	text := string(e.src[t.start:t.end])
	switch {
	case t.kind == tokString && want[0] == '"':
		return string(appendJSONString(nil, ToValid(textOf(e.src, t)))) == want
	case t.kind == tokNumber && want[0] != '"':
		a, errA := strconv.ParseFloat(text, 64)
		b, errB := strconv.ParseFloat(want, 64)
		return errA == nil && errB == nil && a == b
	}
	return t.kind != tokString && text == want
}

// missingConstant names the constant that the object at lacks.
func (e *jsonEncoder) missingConstant(t *Table, at int) *JSONError {
	for _, c := range t.Consts {
		if e.property(at, c.JSON) < 0 {
			return jsonErrorf("the required property is missing; write %s", c.Value).under(c.JSON)
		}
	}
	return jsonErrorf("the property stands twice in one object; keep one").under(t.Consts[0].JSON)
}

// property returns the value of a property of the object at, or -1.
func (e *jsonEncoder) property(at int, name string) int {
	for i := at + 1; i < int(e.tokens[at].next); i = int(e.tokens[i+1].next) {
		if textOf(e.src, e.tokens[i]) == name {
			return i + 1
		}
	}
	return -1
}

// union writes the member whose constant the object has.
func (e *jsonEncoder) union(f *Field, kind, slot, at int) *JSONError {
	u := &e.layout.Unions[f.Ref]
	if e.tokens[at].kind != tokObject {
		return e.wrong(e.layout.wants(f), at)
	}
	var known []string
	tag := e.property(at, u.Tag)
	for _, m := range u.Members {
		want := e.layout.Tables[m.Table].constant(u.Tag)
		known = append(known, want)
		if tag >= 0 && e.equals(tag, want) {
			e.b[kind] = m.ID
			return e.structure(m.Table, slot, at)
		}
	}
	oneOf := "one of " + strings.Join(known[:min(len(known), maxListed)], ", ")
	if tag < 0 {
		return jsonErrorf("the required property is missing; it tells the members of %s apart: write %s", u.Name, oneOf).under(u.Tag)
	}
	return e.wrong(oneOf, tag).under(u.Tag)
}

// object writes a map: entries sorted by the bytes of their keys.
func (e *jsonEncoder) object(f *Field, slot, at int) *JSONError {
	type entry struct {
		key   string
		value int
	}
	object := e.tokens[at]
	if object.kind != tokObject {
		return e.wrong(e.layout.wants(f), at)
	}
	var entries []entry
	for i := at + 1; i < int(object.next); i = int(e.tokens[i+1].next) {
		entries = append(entries, entry{ToValid(textOf(e.src, e.tokens[i])), i + 1})
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return strings.Compare(a.key, b.key) })
	if err := e.room(4 * len(entries)); err != nil {
		return err
	}
	t := &e.layout.Tables[f.Ref]
	b, first := AppendVector(e.b, e.base, slot, len(entries), 4)
	e.b = b
	shared := -1
	if !t.canAbsent && len(entries) > 0 {
		e.b = pad(e.b, e.base, 0, 2)
		shared = len(e.b)
		e.b = append(e.b, t.vtable...)
	}
	for i, x := range entries {
		if i > 0 && entries[i-1].key == x.key {
			return jsonErrorf("the key stands twice in one object; keep one").under(x.key)
		}
		if err := e.entry(t, first+4*i, shared, x.key, x.value); err != nil {
			return err.under(x.key)
		}
	}
	return nil
}

func (e *jsonEncoder) entry(t *Table, slot, shared int, key string, at int) *JSONError {
	id := len(t.Fields) - 1
	if e.tokens[at].kind == tokNull {
		return jsonErrorf("null is not allowed in a map; write %s or leave the key out", e.layout.wants(&t.Fields[id]))
	}
	if err := e.room(len(t.vtable) + t.inline + len(key)); err != nil {
		return err
	}
	if e.depth++; e.depth > MaxDepth {
		return jsonErrorf("objects are nested deeper than %d", MaxDepth)
	}
	if shared < 0 {
		e.b = pad(e.b, e.base, len(t.vtable), t.align)
		shared = len(e.b)
		e.b = append(e.b, t.vtable...)
	} else {
		e.b = pad(e.b, e.base, 0, t.align)
	}
	pos := len(e.b)
	e.inline(t, pos-shared)
	setRef(e.b, slot, pos)
	e.b = AppendString(e.b, e.base, pos+t.Fields[0].offset, key)
	if err := e.field(t, id, pos, at); err != nil {
		return err
	}
	e.depth--
	return nil
}

func (w *jsonWriter) box(t *Table, at TableRef) {
	id := len(t.Fields) - 1
	f := &t.Fields[id]
	absent := f.Presence.CanBeAbsent() && !w.r.Has(at, id)
	if f.Kind == Union && f.Presence.CanBeAbsent() {
		kind, _ := w.r.Union(at, id, f.JSON)
		absent = kind == 0
	}
	if absent {
		w.b = append(w.b, "null"...)
	} else {
		w.field(f, at, id)
	}
}

// union writes the member that is there; of a missing union the one that stands
// for it.
func (w *jsonWriter) union(f *Field, at TableRef, id int) {
	u := &w.layout.Unions[f.Ref]
	kind, slot := w.r.Union(at, id, f.JSON)
	if w.r.Failed() {
		return
	}
	if kind == 0 {
		w.absentTable(&w.layout.Tables[u.Members[u.zero].Table], f.JSON)
		return
	}
	m := u.member(kind)
	if m == nil {
		w.b = append(appendJSONString(append(w.b, '{'), u.Tag), `:"`+unknownPrefix...)
		w.b = append(strconv.AppendUint(w.b, uint64(kind), 10), `"}`...)
		return
	}
	if c, ok := w.r.Member(slot, f.JSON); ok {
		w.table(&w.layout.Tables[m.Table], c)
		w.r.Leave(f.JSON)
	}
}

// absentTable writes a required table that is missing: one of zeros.
func (w *jsonWriter) absentTable(t *Table, name string) {
	// A layout in which a table requires itself would never end.
	if w.zeros++; w.zeros > MaxDepth {
		w.r.fail(name, "tables are nested deeper than 64")
		return
	}
	w.table(t, TableRef{})
	w.zeros--
}

// object writes a map as one JSON object. Of equal keys the last counts.
func (w *jsonWriter) object(f *Field, at TableRef, id int) {
	type span struct{ start, end int }
	t := &w.layout.Tables[f.Ref]
	first, n, ok := w.r.Structs(at, id, f.JSON)
	w.b = append(w.b, '{')
	open := len(w.b)
	spans := map[string]span{} // of the last entry of each key
	for i := 0; ok && i < n; i++ {
		if len(w.b) > w.limit {
			w.r.fail(f.JSON, "the JSON text is far larger than its buffer")
			return
		}
		c, found := w.r.Elem(first, i, f.JSON)
		if !found {
			return
		}
		start := len(w.b)
		key := w.r.String(c, 0, t.Fields[0].JSON)
		w.b = append(appendJSONString(w.b, key), ':')
		w.field(&t.Fields[len(t.Fields)-1], c, len(t.Fields)-1)
		w.b = append(w.b, ',')
		w.r.LeaveElem(f.JSON, i)
		spans[key] = span{start, len(w.b)}
		ok = !w.r.Failed()
	}
	if ok && len(spans) < n {
		last := slices.SortedFunc(maps.Values(spans), func(a, b span) int { return a.start - b.start })
		end := open
		for _, s := range last {
			end += copy(w.b[end:], w.b[s.start:s.end])
		}
		w.b = w.b[:end]
	}
	if len(w.b) > open {
		w.b = w.b[:len(w.b)-1] // the last comma
	}
	w.b = append(w.b, '}')
}

// findUnsafeMember is findUnsafe for a union.
func (l *Layout) findUnsafeMember(r *Reader, f *Field, at TableRef, id int) *Int64Error {
	kind, slot := r.Union(at, id, f.JSON)
	m := l.Unions[f.Ref].member(kind)
	if m == nil {
		return nil
	}
	c, ok := r.Member(slot, f.JSON)
	if !ok {
		return nil
	}
	found := l.findUnsafe(r, &l.Tables[m.Table], c)
	r.Leave(f.JSON)
	if found != nil {
		found.Path = join(f.JSON, found.Path)
	}
	return found
}
