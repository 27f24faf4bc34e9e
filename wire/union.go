package wire

import "fmt"

// UnionLayout is a set of tables of which a field holds one, told apart in JSON
// by a property with a constant value.
type UnionLayout struct {
	Name    string
	Tag     string // the property; each member's table has it among its Consts
	Members []UnionMember

	zero int // the member that a missing required union reads as; index into Members
}

// UnionMember pairs a table with its pinned number, from 1.
type UnionMember struct {
	ID    uint8
	Table int // index into Layout.Tables
}

// Const is a property with a fixed value.
type Const struct {
	JSON  string // property
	Value string // as JSON text
}

// UnknownMember stands for a member of a union that this schema does not have.
// A newer schema wrote it; what it holds is not read, and it cannot be encoded.
type UnknownMember struct {
	ID uint8 // of the member in its union
}

// NovaUnion marks the members of unions.
func (UnknownMember) NovaUnion() {}

// Zero returns the index of the member that a missing required union reads as:
// the first of those that need the fewest objects inside.
func (u *UnionLayout) Zero() int { return u.zero }

// member returns the member with that number, or nil.
func (u *UnionLayout) member(id uint8) *UnionMember {
	for i := range u.Members {
		if u.Members[i].ID == id {
			return &u.Members[i]
		}
	}
	return nil
}

// constant returns the JSON text of a property with a fixed value, "" for none.
func (t *Table) constant(property string) string {
	for _, c := range t.Consts {
		if c.JSON == property {
			return c.Value
		}
	}
	return ""
}

func isEntry(t *Table) bool {
	return len(t.Fields) >= 2 && t.Fields[0].Kind == String && !t.Fields[0].Vector && !t.Fields[0].Presence.CanBeAbsent() &&
		!t.Fields[len(t.Fields)-1].Deprecated
}

// initUnions checks the unions and finds what a missing one reads as.
func (l *Layout) initUnions() error {
	for i := range l.Tables {
		if err := l.Tables[i].checkParts(); err != nil {
			return fmt.Errorf("table %s: %w", l.Tables[i].Name, err)
		}
	}
	for i := range l.Unions {
		u := &l.Unions[i]
		seen := map[uint8]bool{0: true}
		if len(u.Members) == 0 {
			return fmt.Errorf("union %s has no members", u.Name)
		}
		for _, m := range u.Members {
			if m.Table < 0 || m.Table >= len(l.Tables) {
				return fmt.Errorf("union %s: table %d does not exist", u.Name, m.Table)
			}
			if seen[m.ID] {
				return fmt.Errorf("union %s: the number %d stands twice or is 0", u.Name, m.ID)
			}
			if l.Tables[m.Table].constant(u.Tag) == "" {
				return fmt.Errorf("union %s: table %s has no constant %q", u.Name, l.Tables[m.Table].Name, u.Tag)
			}
			seen[m.ID] = true
		}
	}
	if len(l.Unions) > 0 {
		l.chooseZeros()
	}
	return nil
}

// checkParts spells constants in one way and checks that a box holds something.
func (t *Table) checkParts() error {
	for j := range t.Consts {
		c := &t.Consts[j]
		text, err := constantText([]byte(c.Value))
		if err != nil {
			return fmt.Errorf("property %s: %w", c.JSON, err)
		}
		c.Value = text
	}
	if t.Box && (len(t.Fields) == 0 || t.Fields[len(t.Fields)-1].Deprecated) {
		return fmt.Errorf("nothing that it stands for")
	}
	return nil
}

// chooseZeros gives every table the height of its smallest value, counted in
// tables on a path, and every union its lowest member. Heights only fall, so
// that this ends; what has no finite value keeps the height of infinity.
func (l *Layout) chooseZeros() {
	const infinite = 1 << 30
	height := make([]int, len(l.Tables))
	for i := range height {
		height[i] = infinite
	}
	lowest := func(u *UnionLayout) int {
		best := 0
		for i := range u.Members {
			if height[u.Members[i].Table] < height[u.Members[best].Table] {
				best = i
			}
		}
		return best
	}
	for changed := true; changed; {
		changed = false
		for i := range l.Tables {
			h := 1
			for j := range l.Tables[i].Fields {
				f := &l.Tables[i].Fields[j]
				if f.Deprecated || f.Presence.CanBeAbsent() || f.Vector {
					continue
				}
				switch f.Kind {
				case Struct:
					h = max(h, min(infinite, 1+height[f.Ref]))
				case Union:
					u := &l.Unions[f.Ref]
					h = max(h, min(infinite, 1+height[u.Members[lowest(u)].Table]))
				}
			}
			if h < height[i] {
				height[i], changed = h, true
			}
		}
	}
	for i := range l.Unions {
		l.Unions[i].zero = lowest(&l.Unions[i])
	}
}
