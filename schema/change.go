package schema

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ignex/nova/wire"
)

// Severity says what a change does to those who still have the older schema.
type Severity uint8

// The severities, the mildest first.
const (
	Safe     Severity = iota // both directions go on as before
	Note                     // works, but somebody should know
	Breaking                 // readers or writers of one of the two are misled or refused
)

// String returns "safe", "note" or "breaking".
func (s Severity) String() string { return [...]string{"safe", "note", "breaking"}[min(s, Breaking)] }

// MarshalText implements encoding.TextMarshaler.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Change is one difference between two schemas.
type Change struct {
	Severity Severity `json:"severity"`
	Path     string   `json:"path"` // event or call, then properties: "quote.bid", "call getQuote request.symbol"
	What     string   `json:"what"`
	Pos      Pos      `json:"-"` // in the newer schema, or the older one when it is gone; zero for a lock file
}

func (c Change) String() string { return fmt.Sprintf("%-8s  %s: %s", c.Severity, c.Path, c.What) }

// CompareOptions change what counts as a break. The zero value works.
type CompareOptions struct {
	// Strict makes a removed event or call a break instead of a note.
	Strict bool
}

// Compare returns what changed from older to newer, the worst first, then by path.
// Both have to be read with their lock files: numbers are compared as they are.
// Names of types do not matter, only what events and calls are made of.
func Compare(older, newer *Model, o CompareOptions) []Change {
	c := &comparer{gone: Note, bare: older.bare, tables: map[[2]*Table]bool{}, enums: map[[2]*Enum]bool{}, unions: map[[2]*Union]bool{}}
	if o.Strict {
		c.gone = Breaking
	}
	c.events(older, newer)
	c.calls(older, newer)
	slices.SortStableFunc(c.list, func(a, b Change) int {
		return cmp.Or(cmp.Compare(b.Severity, a.Severity), strings.Compare(a.Path, b.Path))
	})
	return c.list
}

// comparer walks two models side by side; each pair of types is looked at where it
// is met first.
type comparer struct {
	gone   Severity // of removed events and calls
	bare   bool     // the older is what a lock file knows
	list   []Change
	tables map[[2]*Table]bool
	enums  map[[2]*Enum]bool
	unions map[[2]*Union]bool
}

func (c *comparer) add(s Severity, pos Pos, path, format string, args ...any) {
	c.list = append(c.list, Change{s, path, fmt.Sprintf(format, args...), pos})
}

// pairs calls both for what two lists have in common by name, in the order of the
// older, and gone and fresh for the rest.
func pairs[T any](older, newer []T, name func(T) string, both func(a, b T), gone, fresh func(T)) {
	index := map[string]int{}
	for i, x := range newer {
		index[name(x)] = i
	}
	had := map[string]bool{}
	for _, x := range older {
		had[name(x)] = true
		if i, ok := index[name(x)]; ok {
			both(x, newer[i])
		} else {
			gone(x)
		}
	}
	for _, x := range newer {
		if !had[name(x)] {
			fresh(x)
		}
	}
}

func (c *comparer) events(older, newer *Model) {
	pairs(older.Events, newer.Events, func(e *Event) string { return e.Name },
		c.event,
		func(e *Event) {
			c.add(c.gone, e.Pos, e.Name, "the event is gone; who still publishes it is refused, who still listens hears nothing")
		},
		func(e *Event) { c.add(Safe, e.Pos, e.Name, "a new event; older clients skip it") })
}

func (c *comparer) event(a, b *Event) {
	note := func(what string, was, is any) {
		if was != is {
			c.add(Note, b.Pos, a.Name, "%s was %v and is %v", what, was, is)
		}
	}
	if c.bare {
		c.table(a.Name, b.Pos, a.Table, b.Table)
		return
	}
	note("delivery", deliveryText(a.Delivery), deliveryText(b.Delivery))
	note("the key", keyName(a), keyName(b))
	note("retain", retainText(a.Retain), retainText(b.Retain))
	note("internal", a.Internal, b.Internal)
	switch {
	case a.Inbound && !b.Inbound:
		c.add(Note, b.Pos, a.Name, "clients may not send it any more")
	case b.Inbound && !a.Inbound:
		c.add(Safe, b.Pos, a.Name, "clients may send it")
	}
	c.table(a.Name, b.Pos, a.Table, b.Table)
}

func deliveryText(d wire.Delivery) string {
	return [...]string{"not given", "must", "drop", "latest"}[min(d, wire.DeliverLatest)]
}

func retainText(r wire.Retain) string {
	return [...]string{"true", "false", "latest"}[min(r, wire.RetainLatest)]
}

func keyName(e *Event) string {
	if e.Key == nil {
		return "none"
	}
	return quote(e.Key.JSON)
}

func (c *comparer) calls(older, newer *Model) {
	pairs(older.Calls, newer.Calls, func(x *Call) string { return x.Name },
		func(a, b *Call) {
			c.table("call "+a.Name+" request", b.Pos, a.Request, b.Request)
			c.table("call "+a.Name+" response", b.Pos, a.Response, b.Response)
		},
		func(x *Call) {
			c.add(c.gone, x.Pos, "call "+x.Name, "the call is gone; who still makes it is answered unimplemented")
		},
		func(x *Call) {
			c.add(Safe, x.Pos, "call "+x.Name, "a new call; older servers answer unimplemented")
		})
}
