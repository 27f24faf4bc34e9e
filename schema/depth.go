package schema

import (
	"fmt"

	"github.com/ignex/nova/wire"
)

// measure counts the tables that every value of t holds: two required objects on
// each of 30 levels are a thousand million, in a Go struct as in every frame.
// Those still being read count for nothing: see endless.
func (r *reader) measure(t *Table, at *node) {
	required, heaviest := 1, 0
	for _, f := range t.Fields {
		if f.Table != nil && f.Presence == wire.Required && !f.Vector {
			required += r.required[f.Table]
			heaviest = max(heaviest, r.required[f.Table])
		}
	}
	r.required[t] = min(required, maxRequired+1)
	if required > maxRequired && heaviest <= maxRequired { // larger ones were told already
		r.fail(at, fmt.Sprintf("every %s holds more than %d objects, all of them required", t.Name, maxRequired), "make some of them optional, or nest fewer")
	}
}

// heights refuses tables that nest deeper than any reader accepts. Tables that
// can hold themselves, or others that can, have no height: there the depth is
// that of the value.
func (r *reader) heights() {
	parents, missing, height := map[*Table][]*Table{}, map[*Table]int{}, map[*Table]int{}
	var ready []*Table
	for _, t := range r.model.Tables {
		for _, c := range t.children() {
			parents[c] = append(parents[c], t)
			missing[t]++
		}
		if missing[t] == 0 {
			ready = append(ready, t)
		}
	}
	for len(ready) > 0 {
		t := ready[0]
		ready = ready[1:]
		height[t]++
		if height[t] == maxTables+1 {
			r.problems = append(r.problems, Problem{Pos: t.Pos, Found: fmt.Sprintf("below %s objects are nested deeper than %d", t.Name, maxTables), Fix: "flatten them"})
		}
		for _, p := range parents[t] {
			height[p] = max(height[p], height[t])
			if missing[p]--; missing[p] == 0 {
				ready = append(ready, p)
			}
		}
	}
}

// children returns the tables that a table refers to, once for each reference.
func (t *Table) children() []*Table {
	var out []*Table
	for _, f := range t.Fields {
		if f.Table != nil {
			out = append(out, f.Table)
		}
		if f.Kind == wire.Union && f.Union != nil {
			for _, m := range f.Union.Members {
				out = append(out, m.Table)
			}
		}
	}
	return out
}
