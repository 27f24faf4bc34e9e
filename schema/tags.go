package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ignex/nova/wire"
)

// dropTags takes the properties that tell the members of unions apart out of
// the members' tables: the number of the member says what they hold. It does so
// wherever such an object stands, as its type is one.
func (r *reader) dropTags() {
	tagged := map[*Table]map[string]string{}
	for _, u := range r.model.Unions {
		for _, m := range u.Members {
			if tagged[m.Table] == nil {
				tagged[m.Table] = map[string]string{}
			}
			tagged[m.Table][u.Tag] = m.Value.Text
		}
	}
	if len(tagged) == 0 {
		return
	}
	for _, t := range r.model.Tables {
		if tagged[t] == nil {
			continue
		}
		fields := t.Fields
		t.Fields = nil
		for _, f := range fields {
			if value, ok := tagged[t][f.JSON]; ok && f.Kind != wire.UnionType {
				t.Consts = append(t.Consts, Const{f.JSON, value})
			} else if f.Kind != wire.UnionType { // add brings it along
				t.add(f)
			}
		}
	}
	for _, e := range r.model.Events {
		if e.Key != nil && tagged[e.Table] != nil && tagged[e.Table][e.Key.JSON] != "" {
			r.problems = append(r.problems, Problem{Pos: e.Pos, Found: fmt.Sprintf("the key %s of the event %s is a constant that tells it apart in a union, and is not written", quote(e.Key.JSON), quote(e.Name)),
				Fix: "choose another property"})
		}
	}
	used := map[*Enum]bool{}
	for _, t := range r.model.Tables {
		for _, f := range t.Fields {
			used[f.Enum] = true
		}
	}
	r.model.Enums = slices.DeleteFunc(r.model.Enums, func(e *Enum) bool { return !used[e] })
}

// endless refuses tables whose every value holds another one of them: no value
// of theirs ends.
func (r *reader) endless() {
	ends := map[*Table]bool{}
	complete := func(f *Field) bool {
		switch {
		case f.Presence.CanBeAbsent() || f.Vector:
			return true
		case f.Kind == wire.Union && f.Union != nil && len(f.Union.Members) > 0:
			return slices.ContainsFunc(f.Union.Members, func(m UnionMember) bool { return ends[m.Table] })
		case f.Kind == wire.Struct && f.Table != nil:
			return ends[f.Table]
		}
		return true
	}
	for changed := true; changed; {
		changed = false
		for _, t := range r.model.Tables {
			if !ends[t] && !slices.ContainsFunc(t.Fields, func(f *Field) bool { return !complete(f) }) {
				ends[t], changed = true, true
			}
		}
	}
	for _, t := range r.model.Tables {
		if ends[t] {
			continue
		}
		// Tell the tables of the circle, not those that only hold one of them.
		for _, f := range t.Fields {
			if !complete(f) && f.Table != nil && r.reaches(f.Table, t, map[*Table]bool{}) {
				r.problems = append(r.problems, Problem{Pos: f.Pos, Found: fmt.Sprintf("every %s requires another %s inside: no value ends", t.Name, t.Name),
					Fix: "make the property optional, or an array"})
				return
			}
		}
	}
	for _, t := range r.model.Tables {
		if !ends[t] {
			r.problems = append(r.problems, Problem{Pos: t.Pos, Found: fmt.Sprintf("every %s requires another %s inside: no value ends", t.Name, t.Name),
				Fix: "make a property optional, or an array"})
			return
		}
	}
}

// reaches reports whether a required path leads from one table to another.
func (r *reader) reaches(from, to *Table, seen map[*Table]bool) bool {
	if from == to {
		return true
	}
	if seen[from] {
		return false
	}
	seen[from] = true
	for _, f := range from.Fields {
		if f.Table != nil && !f.Presence.CanBeAbsent() && !f.Vector && r.reaches(f.Table, to, seen) {
			return true
		}
	}
	return false
}

// jsonText returns a string as JSON.
func jsonText(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always has a JSON form
	return strings.TrimSuffix(b.String(), "\n")
}
