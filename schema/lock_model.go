package schema

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ignex/nova/wire"
)

// remove notes what is gone of an enum or union.
func (l *Lock) remove(name string, gone []string) {
	if delete(l.Removed, name); len(gone) > 0 {
		l.Removed[name] = gone
	}
}

// gone returns the literals that are gone, sorted.
func (e *Enum) gone() (list []string) {
	for _, v := range e.Values {
		if v.Removed {
			list = append(list, v.Literal)
		}
	}
	slices.Sort(list)
	return list
}

// lockTypes returns the types of the fields that are there.
func (t *Table) lockTypes() map[string]string {
	types := map[string]string{}
	for _, f := range t.Fields {
		if !f.Deprecated {
			types[f.WireName] = f.wireType() + " " + presenceLetter(f.Presence)
		}
	}
	return types
}

// types reads the types of one table.
func (l *lockReader) types(m member) map[string]string {
	types := map[string]string{}
	for _, f := range l.object(m.value) {
		if _, _, ok := parseLockType(f.value.text); !ok {
			l.fail(f.value, f.value.describe()+` where a type such as "string r" should stand`)
		}
		types[f.key] = f.value.text
	}
	return types
}

// sameType refuses another type under a number that was given out.
func (l *Lock) sameType(t *Table, f *Field) []Problem {
	text := l.Types[t.Name][f.WireName]
	was, _, ok := parseLockType(text)
	if !ok || was.kind == f.Kind && was.vector == f.Vector {
		return nil
	}
	was.name, _, _ = strings.Cut(text, " ")
	return []Problem{{Pos: f.Pos,
		Found: fmt.Sprintf("the property %s of %s was %s when its number %d was given out and is %s now: older readers and writers misread it",
			quote(f.JSON), t.Name, was.name, f.ID, f.wireType()),
		Fix: fmt.Sprintf("give it a new name (nova check tells what else changed), or take %q out of \"types\" in %s when nothing older is left",
			f.WireName, l.pos["tables/"+t.Name].File)}}
}

// lockType is a type as the lock file writes it.
type lockType struct {
	kind   wire.Kind
	vector bool
	name   string // of the enum, union or table
}

func parseLockType(s string) (t lockType, p wire.Presence, ok bool) {
	s, letter, _ := strings.Cut(s, " ")
	switch letter {
	case "r":
		p = wire.Required
	case "n":
		p = wire.Nullable
	case "o":
		p = wire.Optional
	default:
		return t, p, false
	}
	if strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") {
		t.vector, s = true, s[1:len(s)-1]
	}
	kind, name, named := strings.Cut(s, ":")
	t.name = name
	for k := wire.Bool; k <= wire.Union; k++ {
		if k.String() == kind && named == (k == wire.Enum || k == wire.Union || k == wire.Struct) {
			t.kind = k
			return t, p, true
		}
	}
	return t, p, false
}

// Model returns what the lock file knows of the schema that it was written for, to
// be compared; nil when it has no types, as those of older versions.
func (l *Lock) Model() *Model {
	if len(l.Types) == 0 {
		return nil
	}
	m := &Model{bare: true}
	enums, unions, tables := map[string]*Enum{}, map[string]*Union{}, map[string]*Table{}
	for name, values := range l.Enums {
		e := &Enum{Name: name}
		for literal, n := range values {
			e.Values = append(e.Values, EnumValue{Literal: literal, Number: n, Removed: slices.Contains(l.Removed[name], literal)})
		}
		enums[name] = e
	}
	for name := range l.Tables {
		tables[name] = &Table{Name: name}
	}
	for name, members := range l.Unions {
		u := &Union{Name: name}
		for table, n := range members {
			if t := tables[table]; t != nil && !slices.Contains(l.Removed[name], table) {
				u.Members = append(u.Members, UnionMember{Number: n, Table: t})
			}
		}
		unions[name] = u
	}
	for name, t := range tables {
		for _, wireName := range slices.Sorted(maps.Keys(l.Types[name])) {
			of, presence, _ := parseLockType(l.Types[name][wireName])
			t.Fields = append(t.Fields, &Field{
				ID: l.Tables[name].Fields[wireName], JSON: wireName, WireName: wireName, Kind: of.kind, Vector: of.vector,
				Enum: enums[of.name], Union: unions[of.name], Table: tables[of.name], Presence: presence,
			})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.Events)) {
		if t := tables[l.Events[name].Table]; t != nil {
			m.Events = append(m.Events, &Event{Name: name, Table: t})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.Calls)) {
		request, response := tables[l.Calls[name].Request], tables[l.Calls[name].Response]
		if request != nil && response != nil {
			m.Calls = append(m.Calls, &Call{Name: name, Request: request, Response: response})
		}
	}
	return m
}
