package schema

import (
	"fmt"
	"strings"

	"github.com/ignex/nova/wire"
)

// finish applies the lock, gives the names that depend on all of the schema,
// and checks what only the whole can show.
func (r *reader) finish() {
	m := r.model
	r.dropTags()
	r.endless()
	r.heights()
	if r.opts.Lock != nil {
		r.problems = append(r.problems, r.opts.Lock.apply(m)...)
	}
	for _, e := range m.Enums {
		e.FbsName = asciiName(e.Name)
		nameEnum(e)
		r.checkEnumerators(e)
	}
	for _, u := range m.Unions {
		u.FbsName = asciiName(u.Name)
	}
	nameTablesFBS(m.Tables)
	for _, t := range m.Tables {
		if err := checkSize(t); err != nil {
			r.problems = append(r.problems, Problem{Pos: t.Pos, Found: fmt.Sprintf("the object %s is too big for one table: %v", t.Name, err),
				Fix: "split it into nested objects"})
		}
	}
	r.checkScopes()
}

// checkSize asks the layout whether a table fits, alone: sizes do not depend on
// what references point to.
func checkSize(t *Table) error {
	alone := wire.Table{Name: t.Name}
	for _, f := range t.Fields {
		kind := f.Kind
		switch kind {
		case 0, wire.Struct, wire.Enum, wire.Bytes, wire.Union:
			kind = wire.String // 4 bytes as well
		case wire.UnionType:
			kind = wire.Bool // 1 byte as well
		}
		alone.Fields = append(alone.Fields, wire.Field{Name: f.WireName, Kind: kind, Vector: f.Vector, Deprecated: f.Deprecated})
	}
	layout := wire.Layout{Tables: []wire.Table{alone}}
	return layout.Init()
}

func (r *reader) checkEnumerators(e *Enum) {
	names := map[string]string{}
	for _, v := range e.Values {
		if other, taken := names[v.FbsName]; taken {
			r.problems = append(r.problems, Problem{Pos: e.Pos, Found: fmt.Sprintf("the literals %s and %s are both %s in FlatBuffers",
				quote(other), quote(v.Literal), v.FbsName), Fix: "rename one of the two"})
		}
		names[v.FbsName] = v.Literal
	}
}

// scope is one set of names that must differ.
type scope struct {
	reader *reader
	where  string
	fold   bool // names that differ in case only are the same
	owners map[string]owner
}

type owner struct {
	what string
	pos  Pos
	name string
}

func (r *reader) scope(where string, fold bool) *scope {
	return &scope{reader: r, where: where, fold: fold, owners: map[string]owner{}}
}

func (s *scope) add(name, what string, pos Pos) {
	key := name
	if s.fold {
		key = strings.ToLower(name)
	}
	old, taken := s.owners[key]
	if !taken {
		s.owners[key] = owner{what, pos, name}
		return
	}
	if !s.reader.clash(old.pos, pos) {
		return
	}
	found := fmt.Sprintf("%s and %s (line %d, %s) are both called %s in %s", what, old.what, old.pos.Line, clip(old.pos.Pointer), name, s.where)
	if old.name != name {
		found = fmt.Sprintf("the names of %s and %s (line %d, %s) differ in case only; file names of %s are made of them",
			what, old.what, old.pos.Line, clip(old.pos.Pointer), s.where)
	}
	s.reader.problems = append(s.reader.problems, Problem{Pos: pos, Found: found, Fix: "rename one of the two"})
}

// checkScopes refuses names that generated code would declare twice.
func (r *reader) checkScopes() {
	m := r.model
	types, goScope, ts := r.scope("FlatBuffers", true), r.scope("Go", false), r.scope("TypeScript", false)
	for _, t := range m.Tables {
		what := "the object " + t.Name
		types.add(t.FbsName, what, t.Pos)
		goScope.add(t.Name, what, t.Pos)
		ts.add(t.Name, what, t.Pos)
	}
	for _, t := range m.Tables {
		ts.add("validate"+t.Name, "the validator of "+t.Name, t.Pos)
	}
	for _, u := range m.Unions {
		what := "the union " + u.Name
		types.add(u.FbsName, what, u.Pos)
		goScope.add(u.Name, what, u.Pos)
		ts.add(u.Name, what, u.Pos)
	}
	for _, e := range m.Enums {
		what := "the enum " + e.Name
		types.add(e.FbsName, what, e.Pos)
		goScope.add(e.Name, what, e.Pos)
		goScope.add("Parse"+e.Name, "the parser of "+e.Name, e.Pos)
		ts.add(e.Name, what, e.Pos)
		for _, v := range e.Values {
			goScope.add(v.GoName, fmt.Sprintf("the literal %s of %s", quote(v.Literal), e.Name), e.Pos)
		}
	}
	for _, e := range m.Events {
		goScope.add(e.GoName, "the event "+quote(e.Name), e.Pos)
		ts.add(e.TSName, "the event "+quote(e.Name), e.Pos)
	}
	for _, c := range m.Calls {
		if r.root.get("events").get(c.Name) != nil || r.root.get("controlEvents").get(c.Name) != nil {
			continue // told once already
		}
		goScope.add(c.GoName, "the call "+quote(c.Name), c.Pos)
		ts.add(c.TSName, "the call "+quote(c.Name), c.Pos)
	}
}
