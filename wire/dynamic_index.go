package wire

// unknownPrefix begins the text of an enum number without a literal.
const unknownPrefix = "unknown:"

// manyNames is the count above which a search by name uses a map.
const manyNames = 16

// index prepares the lookups that the schema-driven codec needs. Layout.Init
// calls it.
func (l *Layout) index() {
	for i := range l.Tables {
		t := &l.Tables[i]
		t.byJSON = nil
		if len(t.Fields) <= manyNames {
			continue
		}
		t.byJSON = make(map[string]int, len(t.Fields))
		for id := range t.Fields {
			if f := &t.Fields[id]; !f.hidden() {
				t.byJSON[f.JSON] = id
			}
		}
	}
	for i := range l.Enums {
		e := &l.Enums[i]
		e.byLiteral, e.byNumber = nil, nil
		if len(e.Values) <= manyNames {
			continue
		}
		e.byLiteral = make(map[string]int32, len(e.Values))
		e.byNumber = make(map[int32]string, len(e.Values))
		for _, v := range e.Values {
			e.byLiteral[v.Literal] = v.Number
			e.byNumber[v.Number] = v.Literal
		}
	}
}

// hidden reports whether the field has no property.
func (f *Field) hidden() bool { return f.Deprecated || f.Kind == UnionType }

// find returns the id of the field a key names, or -1. Keys mostly come in the
// order of the fields: hint is tried first.
func (t *Table) find(src []byte, key token, hint int) int {
	name := src[key.start:key.end]
	if key.escaped {
		name = []byte(textOf(src, key))
	}
	if hint < len(t.Fields) && t.Fields[hint].JSON == string(name) && !t.Fields[hint].hidden() {
		return hint
	}
	if t.byJSON != nil {
		if id, ok := t.byJSON[string(name)]; ok {
			return id
		}
		return -1
	}
	for id := range t.Fields {
		if f := &t.Fields[id]; f.JSON == string(name) && !f.hidden() {
			return id
		}
	}
	return -1
}

// number returns the number of a literal.
func (e *EnumType) number(literal string) (int32, bool) {
	if e.byLiteral != nil {
		n, ok := e.byLiteral[literal]
		return n, ok
	}
	for _, v := range e.Values {
		if v.Literal == literal {
			return v.Number, true
		}
	}
	return 0, false
}

// literal returns the literal of a number.
func (e *EnumType) literal(number int32) (string, bool) {
	if e.byNumber != nil {
		s, ok := e.byNumber[number]
		return s, ok
	}
	for _, v := range e.Values {
		if v.Number == number {
			return v.Literal, true
		}
	}
	return "", false
}

// literals lists what the schema still names.
func (e *EnumType) literals() []string {
	names := make([]string, 0, len(e.Values))
	for _, v := range e.Values {
		if !v.Removed {
			names = append(names, v.Literal)
		}
	}
	return names
}
