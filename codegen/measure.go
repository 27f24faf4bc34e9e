package codegen

import (
	"fmt"

	"github.com/ignex/nova/wire"
)

// measure computes for every table its height, whether it can hold itself, has
// int64s or unions in it, and refuses what no reader would accept.
func (in *input) measure() error {
	m := &measurer{number: map[*table]int{}, low: map[*table]int{}, onStack: map[*table]bool{}}
	for _, t := range in.tables {
		if m.number[t] == 0 {
			m.visit(t)
		}
	}
	for _, t := range in.tables {
		if t.height > wire.MaxDepth && !t.circle {
			return fmt.Errorf("%s: %s nests objects deeper than %d, which no reader accepts; flatten it", t.Pos, t.Name, wire.MaxDepth)
		}
	}
	for _, t := range in.tables {
		for _, f := range t.fields {
			if f.mayBeNil() {
				f.target.walk = true
			}
		}
	}
	// Below a circle depths are known of values only: all of it is walked.
	var below func(t *table)
	below = func(t *table) {
		for _, f := range t.fields {
			for _, c := range f.targets() {
				if !c.walk || !c.circle {
					first := !c.walk
					c.walk = true
					if first {
						below(c)
					}
				}
			}
		}
	}
	for _, t := range in.tables {
		if t.circle {
			t.walk = true
			below(t)
		}
	}
	return nil
}

// measurer finds the strongly connected tables (Tarjan 1972): they come children
// first, so that what holds of children is known when their owners are measured.
type measurer struct {
	count       int
	number, low map[*table]int
	stack       []*table
	onStack     map[*table]bool
}

func (m *measurer) visit(t *table) {
	m.count++
	m.number[t], m.low[t] = m.count, m.count
	m.stack = append(m.stack, t)
	m.onStack[t] = true
	loop := false
	for _, f := range t.fields {
		for _, c := range f.targets() {
			loop = loop || c == t
			if m.number[c] == 0 {
				m.visit(c)
				m.low[t] = min(m.low[t], m.low[c])
			} else if m.onStack[c] {
				m.low[t] = min(m.low[t], m.number[c])
			}
		}
	}
	if m.low[t] != m.number[t] {
		return
	}
	var group []*table
	for {
		last := m.stack[len(m.stack)-1]
		m.stack = m.stack[:len(m.stack)-1]
		m.onStack[last] = false
		group = append(group, last)
		if last == t {
			break
		}
	}
	combine(group, loop || len(group) > 1)
}

// combine measures tables that hold each other, or one alone.
func combine(group []*table, circle bool) {
	var int64s, walk bool
	for _, t := range group {
		t.height = 1
		for _, f := range t.fields {
			int64s = int64s || f.Kind == wire.Int64 && !f.BigInt
			walk = walk || f.union != nil || f.literal() || f.mayBeNil()
			for _, c := range f.targets() {
				int64s, walk, circle = int64s || c.int64s, walk || c.walk, circle || c.circle
				t.height = max(t.height, 1+c.height)
			}
		}
	}
	for _, t := range group {
		t.int64s, t.walk, t.circle = int64s, walk || circle, circle
	}
}
