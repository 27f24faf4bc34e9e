package schema

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"

	"github.com/ignex/nova/wire"
)

// Lock is nova.lock.json: the numbers a schema has given out. The user commits
// it beside the schema; reading the schema with it keeps every number for good.
type Lock struct {
	Tables map[string]LockTable
	Enums  map[string]map[string]int32 // literal → value, removed ones included
	Unions map[string]map[string]int
	Events map[string]LockEvent
	Calls  map[string]LockCall
	// Types has the type and presence of each field as in [Model.Fingerprint], by
	// table and wire name; Removed the literals and members that are gone, by enum and
	// union. Lock files of older versions have neither.
	Types   map[string]map[string]string
	Removed map[string][]string

	pos map[string]Pos // of tables and enums, by "tables/NAME"
}

// LockTable holds the ids of one table by wire name.
type LockTable struct {
	Fields     map[string]int // removed ones included
	Deprecated []string       // wire names of removed fields, sorted
}

// LockEvent is one event.
type LockEvent struct {
	ID    uint32
	Table string
}

// LockCall is one call.
type LockCall struct {
	Request  string
	Response string
}

// NewLock returns the lock of a model. A table or enum that is only in the lock
// the model was read with stays in the new one: its numbers are given out.
func NewLock(m *Model) *Lock {
	l := &Lock{Tables: map[string]LockTable{}, Enums: map[string]map[string]int32{}, Unions: map[string]map[string]int{},
		Events: map[string]LockEvent{}, Calls: map[string]LockCall{}, Types: map[string]map[string]string{}, Removed: map[string][]string{}}
	if m.lock != nil {
		maps.Copy(l.Tables, m.lock.Tables)
		maps.Copy(l.Enums, m.lock.Enums)
		maps.Copy(l.Unions, m.lock.Unions)
		maps.Copy(l.Types, m.lock.Types)
		maps.Copy(l.Removed, m.lock.Removed)
	}
	for _, t := range m.Tables {
		lt := LockTable{Fields: map[string]int{}}
		for _, f := range t.Fields {
			lt.Fields[f.WireName] = f.ID
			if f.Deprecated {
				lt.Deprecated = append(lt.Deprecated, f.WireName)
			}
		}
		slices.Sort(lt.Deprecated)
		l.Tables[t.Name] = lt
		l.Types[t.Name] = t.lockTypes()
	}
	for _, e := range m.Enums {
		values := map[string]int32{}
		for _, v := range e.Values {
			values[v.Literal] = v.Number
		}
		l.Enums[e.Name] = values
		l.remove(e.Name, e.gone())
	}
	for _, u := range m.Unions {
		numbers := maps.Clone(u.removed)
		if numbers == nil {
			numbers = map[string]int{}
		}
		for _, member := range u.Members {
			numbers[member.Table.Name] = member.Number
		}
		l.Unions[u.Name] = numbers
		l.remove(u.Name, slices.Sorted(maps.Keys(u.removed)))
	}
	for _, e := range m.Events {
		l.Events[e.Name] = LockEvent{e.ID, e.Table.Name}
	}
	for _, c := range m.Calls {
		l.Calls[c.Name] = LockCall{c.Request.Name, c.Response.Name}
	}
	return l
}

// A table's entry is {wire name: id, "deprecated": [wire names]}. A field that
// is itself called deprecated is written with an underscore behind it, which no
// wire name ends in.
const (
	deprecatedKey   = "deprecated"
	deprecatedField = "deprecated_"
)

// Encode returns the file: keys sorted, two spaces of indent, a line feed at the
// end.
func (l *Lock) Encode() []byte {
	tables := map[string]map[string]any{}
	for name, t := range l.Tables {
		entry := map[string]any{}
		for field, id := range t.Fields {
			if field == deprecatedKey {
				field = deprecatedField
			}
			entry[field] = id
		}
		if len(t.Deprecated) > 0 {
			entry[deprecatedKey] = t.Deprecated
		}
		tables[name] = entry
	}
	events, calls := map[string]any{}, map[string]any{}
	for name, e := range l.Events {
		events[name] = map[string]any{"id": e.ID, "table": e.Table}
	}
	for name, c := range l.Calls {
		calls[name] = map[string]any{"request": c.Request, "response": c.Response}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	file := map[string]any{"wire": wire.Version, "tables": tables, "enums": l.Enums, "unions": l.Unions, "events": events, "calls": calls}
	if len(l.Types) > 0 {
		file["types"] = l.Types
	}
	if len(l.Removed) > 0 {
		file["removed"] = l.Removed
	}
	// Maps of strings and numbers cannot fail to encode.
	_ = enc.Encode(file)
	return b.Bytes()
}

var lockName = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

const lockFix = "restore the file from version control"

// ReadLock reads nova.lock.json. The error is of type [Errors].
func ReadLock(file string, data []byte) (*Lock, error) {
	root, problems := parse(file, data)
	if root == nil {
		for i := range problems {
			problems[i].Fix = lockFix // nobody writes this file by hand
		}
		excerpts(problems, file, data)
		return nil, problems
	}
	l := &lockReader{file: file, problems: problems, lock: &Lock{Tables: map[string]LockTable{}, Enums: map[string]map[string]int32{},
		Unions: map[string]map[string]int{}, Events: map[string]LockEvent{}, Calls: map[string]LockCall{},
		Types: map[string]map[string]string{}, Removed: map[string][]string{}, pos: map[string]Pos{}}}
	l.document(root)
	if len(l.problems) > 0 {
		sortProblems(l.problems)
		excerpts(l.problems, file, data)
		return nil, l.problems
	}
	return l.lock, nil
}

type lockReader struct {
	file     string
	lock     *Lock
	problems Errors
}

func (l *lockReader) fail(n *node, found string) {
	l.problems = append(l.problems, Problem{Pos: l.pos(n), Found: found, Fix: lockFix})
}

func (l *lockReader) pos(n *node) Pos {
	return Pos{File: l.file, Line: n.line, Column: n.col, Pointer: n.pointer()}
}

// object returns the members of n, or reports that it has none.
func (l *lockReader) object(n *node) []member {
	if n.kind != nodeObject {
		l.fail(n, n.describe()+" where an object should stand")
	}
	return n.members
}

func (l *lockReader) document(root *node) {
	if v := root.get("wire"); v == nil || v.text != strconv.Itoa(wire.Version) {
		l.fail(root, fmt.Sprintf("the lock file is not of wire version %d", wire.Version))
		return
	}
	for _, section := range l.object(root) {
		for _, m := range l.section(section) {
			switch section.key {
			case "tables":
				l.lock.pos["tables/"+m.key] = l.pos(m.value)
				l.lock.Tables[m.key] = l.table(m.value)
			case "enums":
				l.lock.pos["enums/"+m.key] = l.pos(m.value)
				l.lock.Enums[m.key] = l.enum(m.value)
			case "unions":
				l.lock.Unions[m.key] = l.union(m.value)
			case "events":
				e := LockEvent{Table: m.value.str("table")}
				if id := m.value.get("id"); id != nil {
					e.ID = uint32(l.integer(id, math.MaxUint32))
				}
				if e.ID != wire.EventID(m.key) {
					l.fail(m.value, fmt.Sprintf("the id of the event %s is not the hash of its name", quote(m.key)))
				}
				l.lock.Events[m.key] = e
			case "calls":
				l.lock.Calls[m.key] = LockCall{m.value.str("request"), m.value.str("response")}
			case "types":
				l.lock.Types[m.key] = l.types(m)
			case "removed":
				for _, item := range m.value.items {
					l.lock.Removed[m.key] = append(l.lock.Removed[m.key], item.text)
				}
			}
		}
	}
}

// section returns the members of a known section of the file.
func (l *lockReader) section(m member) []member {
	switch m.key {
	case "wire":
		return nil
	case "tables", "enums", "unions", "events", "calls", "types", "removed":
		return l.object(m.value)
	}
	l.fail(m.value, "unknown key "+quote(m.key))
	return nil
}

func (l *lockReader) integer(n *node, most int64) int64 {
	v, err := strconv.ParseInt(n.text, 10, 64)
	if n.kind != nodeNumber || err != nil || v < 0 || v > most {
		l.fail(n, fmt.Sprintf("%s where a number from 0 to %d should stand", n.describe(), most))
		return -1
	}
	return v
}

func (l *lockReader) table(n *node) LockTable {
	t := LockTable{Fields: map[string]int{}}
	byID := map[int]string{}
	for _, m := range l.object(n) {
		if m.key == deprecatedKey {
			for _, item := range m.value.items {
				t.Deprecated = append(t.Deprecated, item.text)
			}
			if m.value.kind != nodeArray {
				l.fail(m.value, m.value.describe()+" where a list of names should stand")
			}
			continue
		}
		name := m.key
		if name == deprecatedField {
			name = deprecatedKey
		}
		if !lockName.MatchString(name) {
			l.fail(m.value, quote(name)+" is no field name")
		}
		id := int(l.integer(m.value, math.MaxUint16))
		if other, taken := byID[id]; taken && id >= 0 {
			l.fail(m.value, fmt.Sprintf("the fields %s and %s have the same id %d", other, quote(name), id))
		}
		byID[id], t.Fields[name] = quote(name), id
	}
	for _, name := range slices.Sorted(maps.Keys(t.Fields)) {
		if t.Fields[name] >= len(t.Fields) {
			l.fail(n, fmt.Sprintf("the ids have gaps: %s is %d in a table of %d fields", quote(name), t.Fields[name], len(t.Fields)))
			break
		}
	}
	for _, name := range t.Deprecated {
		if _, ok := t.Fields[name]; !ok {
			l.fail(n, "\"deprecated\" names "+quote(name)+", which has no id")
		}
	}
	slices.Sort(t.Deprecated)
	return t
}

// maxEnumValue leaves room for new literals below the limit of int32.
const maxEnumValue = math.MaxInt32 - maxLiterals

func (l *lockReader) enum(n *node) map[string]int32 {
	values := map[string]int32{}
	byNumber := map[int32]string{}
	for _, m := range l.object(n) {
		v := int32(l.integer(m.value, maxEnumValue))
		if other, taken := byNumber[v]; taken && v >= 0 {
			l.fail(m.value, fmt.Sprintf("the literals %s and %s have the same value %d", other, quote(m.key), v))
		}
		byNumber[v], values[m.key] = quote(m.key), v
	}
	if _, ok := byNumber[0]; !ok {
		l.fail(n, "no literal has the value 0")
	}
	return values
}

// apply gives the fields and literals of a model their pinned numbers. New ones
// get the next free numbers in document order; removed ones stay as deprecated
// fields and removed values.
func (l *Lock) apply(m *Model) []Problem {
	m.lock = l
	m.Warnings = append(l.foreign(m), l.renamed(m)...)
	var problems []Problem
	for _, t := range m.Tables {
		if pinned, ok := l.Tables[t.Name]; ok {
			problems = append(problems, l.applyTable(t, pinned)...)
		}
	}
	for _, e := range m.Enums {
		if pinned, ok := l.Enums[e.Name]; ok {
			applyEnum(e, pinned)
		}
	}
	for _, u := range m.Unions {
		if pinned, ok := l.Unions[u.Name]; ok {
			problems = append(problems, applyUnion(u, pinned)...)
		}
	}
	return problems
}

func (l *Lock) applyTable(t *Table, pinned LockTable) []Problem {
	var problems []Problem
	next := len(pinned.Fields)
	present, removed := map[string]bool{}, map[string]bool{}
	for _, name := range pinned.Deprecated {
		removed[name] = true
	}
	for _, f := range t.Fields {
		present[f.WireName] = true
		id, ok := pinned.Fields[f.WireName]
		switch {
		case !ok:
			f.ID = next
			next++
		case removed[f.WireName]:
			at := l.pos["tables/"+t.Name]
			problems = append(problems, Problem{Pos: f.Pos,
				Found: fmt.Sprintf("the property %s was removed from %s earlier and its id %d stays taken", quote(f.JSON), t.Name, id),
				Fix: fmt.Sprintf("give it a new name, or, when its type is what it was, take %q out of \"deprecated\" in %s",
					f.WireName, at.File)})
		default:
			f.ID = id
			problems = append(problems, l.sameType(t, f)...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(pinned.Fields)) {
		if !present[name] {
			t.Fields = append(t.Fields, &Field{ID: pinned.Fields[name], WireName: name, Deprecated: true, Pos: t.Pos})
		}
	}
	slices.SortStableFunc(t.Fields, func(a, b *Field) int { return a.ID - b.ID })
	for i, f := range t.Fields {
		if f.Kind == wire.Union && (i == 0 || t.Fields[i-1].Kind != wire.UnionType || t.Fields[i-1].Union != f.Union) {
			problems = append(problems, Problem{Pos: f.Pos,
				Found: fmt.Sprintf("the property %s of %s is a union now and was none when its id %d was given out", quote(f.JSON), t.Name, f.ID),
				Fix:   "give it a new name; the old one stays taken"})
		}
	}
	return problems
}

func applyEnum(e *Enum, pinned map[string]int32) {
	next := int32(0)
	for _, v := range pinned {
		next = max(next, v+1)
	}
	present := map[string]bool{}
	for i := range e.Values {
		v := &e.Values[i]
		present[v.Literal] = true
		if number, ok := pinned[v.Literal]; ok {
			v.Number = number
		} else {
			v.Number = next
			next++
		}
	}
	for literal, number := range pinned {
		if !present[literal] {
			e.Values = append(e.Values, EnumValue{Literal: literal, Number: number, Removed: true})
		}
	}
	slices.SortFunc(e.Values, func(a, b EnumValue) int { return cmp.Compare(a.Number, b.Number) })
}
