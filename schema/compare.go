package schema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ignex/nova/wire"
)

// table compares what two objects are made of; at is the place of whoever has them.
func (c *comparer) table(path string, at Pos, a, b *Table) {
	if c.tables[[2]*Table{a, b}] {
		return
	}
	c.tables[[2]*Table{a, b}] = true
	if a.Shape != b.Shape && !c.bare {
		c.add(Breaking, at, path, "%s became %s", a.Shape.kind(), b.Shape.kind())
		return
	}
	var gone, fresh []*Field
	byID := map[int]*Field{}
	for _, f := range b.live() {
		byID[f.ID] = f
	}
	pairs(a.live(), b.live(), func(f *Field) string { return f.WireName },
		func(x, y *Field) { c.field(a.property(path, y), x, y) },
		func(f *Field) { gone = append(gone, f) },
		func(f *Field) { fresh = append(fresh, f) })
	for _, f := range gone {
		c.removed(a.property(path, f), f, byID[f.ID], fresh)
	}
	for _, f := range fresh {
		switch {
		case f.Presence == wire.Required:
			c.add(Note, f.Pos, b.property(path, f), "a new required property; from older writers it reads as its zero value (the first value of an enum)")
		default:
			c.add(Safe, f.Pos, b.property(path, f), "a new property that may be missing")
		}
	}
	if !c.bare {
		c.rules(path, b.Pos, a.Rules, b.Rules)
	}
	if !c.bare && a.AllowUnknown && !b.AllowUnknown {
		c.add(Note, b.Pos, path, "unknown properties in JSON are refused now")
	}
}

// live returns the fields of the schema: those removed and the type fields of
// unions left out.
func (t *Table) live() []*Field {
	return slices.DeleteFunc(slices.Clone(t.Fields), func(f *Field) bool { return f.Deprecated || f.Kind == wire.UnionType })
}

// property is the path of a field; tables of nova's own add nothing to it.
func (t *Table) property(path string, f *Field) string {
	if t.Shape != Plain {
		return path
	}
	if strings.HasSuffix(path, " request") || strings.HasSuffix(path, " response") {
		return path + " " + f.JSON
	}
	return path + "." + f.JSON
}

func (s Shape) kind() string {
	return [...]string{"an object", "a value that can be null or an element", "an array in an array", "an entry of a map"}[min(s, Entry)]
}

// removed judges a property that is gone; heir has its number now, if any.
func (c *comparer) removed(path string, f, heir *Field, fresh []*Field) {
	hint := ""
	for _, n := range fresh {
		if n.typeText() == f.typeText() && n.Presence == f.Presence {
			hint = fmt.Sprintf("; if it was renamed to %s: a new name is a new property for older readers", quote(n.JSON))
			break
		}
	}
	switch {
	case heir != nil:
		c.add(Breaking, heir.Pos, path, "it is gone and its number %d belongs to %s now: older readers take one for the other%s", f.ID, quote(heir.JSON), hint)
	case f.Presence == wire.Required:
		c.add(Breaking, f.Pos, path, "a required property is gone; older readers get its zero value%s", hint)
	case hint != "":
		c.add(Note, f.Pos, path, "a property that could be missing is gone%s", hint)
	default:
		c.add(Safe, f.Pos, path, "a property that could be missing is gone")
	}
}

// field compares a property that both have.
func (c *comparer) field(path string, a, b *Field) {
	if a.ID != b.ID {
		c.add(Breaking, b.Pos, path, "its number was %d and is %d: keep the lock file beside the schema", a.ID, b.ID)
	}
	switch {
	case a.Presence == b.Presence, c.bare && presenceLetter(a.Presence) == presenceLetter(b.Presence):
	case b.Presence == wire.Required:
		c.add(Breaking, b.Pos, path, "it could be missing and is required now; from older writers it may read as its zero value")
	case a.Presence == wire.Required:
		c.add(Note, b.Pos, path, "it was required and may be missing now; older readers see its zero value then")
	default:
		c.add(Safe, b.Pos, path, "optional and nullable are the same bytes; in JSON it is %s now", presenceText(b.Presence))
	}
	if a.kindText() != b.kindText() && !(c.bare && a.Kind == b.Kind && a.Vector == b.Vector) {
		c.add(Breaking, b.Pos, path, "it was %s and is %s", a.typeText(), b.typeText())
		return
	}
	if a.BigInt != b.BigInt && !c.bare {
		c.add(Note, b.Pos, path, "it was %s and is %s: the same bytes, another type in TypeScript", intText(a), intText(b))
	}
	if !c.bare {
		c.numbers(path, a, b)
		c.rules(path, b.Pos, a.Rules, b.Rules)
		c.rules(path, b.Pos, a.ListRules, b.ListRules)
	}
	switch {
	case a.Enum != nil && b.Enum != nil:
		c.enum(path, b.Pos, a.Enum, b.Enum)
	case a.Union != nil && b.Union != nil:
		c.union(path, b.Pos, a.Union, b.Union)
	case a.Table != nil && b.Table != nil:
		c.table(path, b.Pos, a.Table, b.Table)
	}
}

func presenceText(p wire.Presence) string {
	if p == wire.Nullable {
		return "null"
	}
	return "left out"
}

func intText(f *Field) string {
	if f.BigInt {
		return "a bigint"
	}
	return "an integer"
}

// kindText is the type as far as it tells types apart; what they are made of is
// compared apart.
func (f *Field) kindText() string {
	s := f.Kind.String()
	if f.Map {
		return "map " + s
	}
	if f.Vector {
		return "array " + s
	}
	return s
}

// typeText is the type as people read it.
func (f *Field) typeText() string {
	s := f.Kind.String()
	switch {
	case f.Enum != nil:
		s = "enum " + f.Enum.Name
	case f.Union != nil:
		s = "union " + f.Union.Name
	case f.Table != nil:
		s = f.Table.Name
	}
	switch {
	case f.Map:
		return "a map"
	case f.Vector:
		return "an array of " + s
	}
	return s
}

// rules notes constraints that are new or tighter.
func (c *comparer) rules(path string, at Pos, a, b []Rule) {
	for _, r := range b {
		i := slices.IndexFunc(a, func(x Rule) bool {
			return x.Kind == r.Kind && (r.Kind != DependentRequired || x.Text == r.Text)
		})
		switch {
		case i < 0:
			c.add(Note, at, path, "%s is new: what older writers send may be refused", r)
		case r.tighter(a[i]):
			c.add(Note, at, path, "%s was %s: what older writers send may be refused", r, a[i])
		}
	}
}

// tighter reports whether r refuses what the older rule of its kind allowed.
func (r Rule) tighter(older Rule) bool {
	switch r.Kind {
	case Minimum, ExclusiveMinimum, MinLength, MinItems, MinProperties:
		return r.Number.Cmp(older.Number) > 0
	case Maximum, ExclusiveMaximum, MaxLength, MaxItems, MaxProperties:
		return r.Number.Cmp(older.Number) < 0
	case MultipleOf:
		return r.Number.Cmp(older.Number) != 0
	case DependentRequired:
		return slices.ContainsFunc(r.Names, func(name string) bool { return !slices.Contains(older.Names, name) })
	case Contains:
		return r.Match.JSON() != older.Match.JSON() || r.Least > older.Least || r.Most >= 0 && (older.Most < 0 || r.Most < older.Most)
	case Keys:
		return r.Match.JSON() != older.Match.JSON()
	}
	return r.Text != older.Text
}

// String returns the rule as the schema has it, such as minLength 3.
func (r Rule) String() string {
	switch {
	case r.Kind == DependentRequired:
		return fmt.Sprintf("%s %q beside %q", r.Kind, r.Names, r.Text)
	case r.Kind == Contains:
		return fmt.Sprintf("%s of %s", r.counted(), clip(r.Match.JSON()))
	case r.Match != nil:
		return r.Kind.String() + " " + clip(r.Match.JSON())
	case r.Number != nil:
		return r.Kind.String() + " " + r.Number.RatString()
	case r.Text != "":
		return r.Kind.String() + " " + quote(r.Text)
	}
	return r.Kind.String()
}

// counted is how many elements match.
func (r Rule) counted() string {
	switch {
	case r.Most < 0:
		return fmt.Sprintf("contains at least %d", r.Least)
	case r.Least == 0:
		return fmt.Sprintf("contains at most %d", r.Most)
	}
	return fmt.Sprintf("contains %d to %d", r.Least, r.Most)
}

// numbers notes allowed numbers that are not allowed any more.
func (c *comparer) numbers(path string, a, b *Field) {
	if len(b.Numbers) == 0 {
		return
	}
	for _, n := range a.Numbers {
		if !slices.Contains(b.Numbers, n) {
			c.add(Note, b.Pos, path, "the value %v is not allowed any more", n)
		}
	}
	if len(a.Numbers) == 0 {
		c.add(Note, b.Pos, path, "only some numbers are allowed now")
	}
}

func (c *comparer) enum(path string, at Pos, a, b *Enum) {
	if c.enums[[2]*Enum{a, b}] {
		return
	}
	c.enums[[2]*Enum{a, b}] = true
	live := func(e *Enum) []EnumValue {
		return slices.DeleteFunc(slices.Clone(e.Values), func(v EnumValue) bool { return v.Removed })
	}
	pairs(live(a), live(b), func(v EnumValue) string { return v.Literal },
		func(x, y EnumValue) {
			if x.Number != y.Number {
				c.add(Breaking, at, path, "the number of %s was %d and is %d: keep the lock file beside the schema", quote(x.Literal), x.Number, y.Number)
			}
		},
		func(v EnumValue) {
			c.add(Breaking, at, path, "the value %s is gone; who still sends it is not understood", quote(v.Literal))
		},
		func(v EnumValue) {
			c.add(Safe, at, path, "a new value %s; older readers keep it as unknown", quote(v.Literal))
		})
}

func (c *comparer) union(path string, at Pos, a, b *Union) {
	if c.unions[[2]*Union{a, b}] {
		return
	}
	c.unions[[2]*Union{a, b}] = true
	if a.Tag != b.Tag && !c.bare {
		c.add(Note, at, path, "%s tells the members apart instead of %s: the same bytes, other code", quote(b.Tag), quote(a.Tag))
	}
	name := func(m UnionMember) string { return m.Value.Text }
	if c.bare {
		name = func(m UnionMember) string { return m.Table.Name }
	}
	pairs(a.Members, b.Members, name,
		func(x, y UnionMember) {
			if x.Number != y.Number {
				c.add(Breaking, at, path, "the number of the member %s was %d and is %d: keep the lock file beside the schema", name(x), x.Number, y.Number)
			}
			c.table(path+"("+strings.Trim(name(x), `"`)+")", at, x.Table, y.Table)
		},
		func(m UnionMember) {
			c.add(Breaking, at, path, "the member %s is gone; who still sends it is not understood", name(m))
		},
		func(m UnionMember) {
			c.add(Safe, at, path, "a new member %s; older readers keep it as unknown", name(m))
		})
}
