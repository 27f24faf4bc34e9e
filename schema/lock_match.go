package schema

import (
	"fmt"
	"maps"
	"slices"
)

// foreign warns of a lock that another schema of the same folder seems to have
// written: the two have no event and no call in common, and a type of one name
// holds other things, which become removed properties.
func (l *Lock) foreign(m *Model) []Problem {
	common := slices.ContainsFunc(m.Events, func(e *Event) bool { _, ok := l.Events[e.Name]; return ok }) ||
		slices.ContainsFunc(m.Calls, func(c *Call) bool { _, ok := l.Calls[c.Name]; return ok })
	if common || len(m.Events)+len(m.Calls) == 0 || len(l.Events)+len(l.Calls) == 0 {
		return nil
	}
	for _, t := range m.Tables {
		if pinned, ok := l.Tables[t.Name]; ok && !t.hasAll(pinned.live()) {
			return []Problem{{Pos: t.Pos,
				Found: fmt.Sprintf("%s looks like that of another schema: it has none of these events and calls, and another %s", l.pos["tables/"+t.Name].File, t.Name),
				Fix:   "when two schemas stand in one folder, restore the lock file and move one of them to a folder of its own"}}
		}
	}
	return nil
}

// renamed warns of types that look like pinned ones under a new name and whose
// numbers move: a lock pins by name, and what was read before cannot be read
// any more.
func (l *Lock) renamed(m *Model) []Problem {
	var warnings []Problem
	warn := func(pos Pos, what, name, old string) {
		warnings = append(warnings, Problem{Pos: pos,
			Found: fmt.Sprintf("%s %s looks like %s of the lock file under a new name, and its numbers change: older readers and writers misread it", what, name, old),
			Fix:   fmt.Sprintf("when it is the same type, restore the lock file, rename %q to %q in it and generate again", old, name)})
	}
	tables, enums := map[string]bool{}, map[string]bool{}
	for _, t := range m.Tables {
		tables[t.Name] = true
	}
	for _, e := range m.Enums {
		enums[e.Name] = true
	}
	for _, t := range m.Tables {
		if _, pinned := l.Tables[t.Name]; pinned {
			continue
		}
		for _, old := range slices.Sorted(maps.Keys(l.Tables)) {
			if live := l.Tables[old].live(); !tables[old] && len(live) > 1 && t.hasAll(live) && t.moves(live) {
				warn(t.Pos, "the object", t.Name, old)
				break
			}
		}
	}
	for _, e := range m.Enums {
		if _, pinned := l.Enums[e.Name]; pinned {
			continue
		}
		for _, old := range slices.Sorted(maps.Keys(l.Enums)) {
			if !enums[old] && len(l.Enums[old]) > 1 && e.moves(l.Enums[old]) {
				warn(e.Pos, "the enum", e.Name, old)
				break
			}
		}
	}
	return warnings
}

// live returns the ids of the fields that are not removed.
func (t LockTable) live() map[string]int {
	ids := map[string]int{}
	for name, id := range t.Fields {
		if !slices.Contains(t.Deprecated, name) {
			ids[name] = id
		}
	}
	return ids
}

func (t *Table) hasAll(ids map[string]int) bool {
	found := 0
	for _, f := range t.Fields {
		if _, ok := ids[f.WireName]; ok {
			found++
		}
	}
	return found == len(ids)
}

// moves reports whether a field has another id than there.
func (t *Table) moves(ids map[string]int) bool {
	return slices.ContainsFunc(t.Fields, func(f *Field) bool {
		id, ok := ids[f.WireName]
		return ok && id != f.ID
	})
}

// moves reports whether all pinned literals are here and one has another number.
func (e *Enum) moves(pinned map[string]int32) bool {
	found, moved := 0, false
	for _, v := range e.Values {
		if number, ok := pinned[v.Literal]; ok {
			found++
			moved = moved || number != v.Number
		}
	}
	return moved && found == len(pinned)
}
