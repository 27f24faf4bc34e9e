package schema

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// applyUnion gives the members of a union their pinned numbers.
func applyUnion(u *Union, pinned map[string]int) []Problem {
	next := 0
	for _, n := range pinned {
		next = max(next, n)
	}
	u.removed = maps.Clone(pinned)
	for i := range u.Members {
		m := &u.Members[i]
		if n, ok := pinned[m.Table.Name]; ok {
			m.Number = n
			delete(u.removed, m.Table.Name)
		} else {
			next++
			m.Number = next
		}
	}
	slices.SortFunc(u.Members, func(a, b UnionMember) int { return cmp.Compare(a.Number, b.Number) })
	if next > maxMembers {
		return []Problem{{Pos: u.Pos, Found: fmt.Sprintf("the union %s needs the number %d, and numbers end at %d", u.Name, next, maxMembers),
			Fix: "start a new union under another name"}}
	}
	return nil
}

// union reads the numbers of a union's members, by table.
func (l *lockReader) union(n *node) map[string]int {
	values := map[string]int{}
	byNumber := map[int]string{}
	for _, m := range l.object(n) {
		v := int(l.integer(m.value, maxMembers))
		if v == 0 {
			l.fail(m.value, "the member "+quote(m.key)+" has the number 0, which stands for none")
		}
		if other, taken := byNumber[v]; taken && v > 0 {
			l.fail(m.value, fmt.Sprintf("the members %s and %s have the same number %d", other, quote(m.key), v))
		}
		byNumber[v], values[m.key] = quote(m.key), v
	}
	return values
}
