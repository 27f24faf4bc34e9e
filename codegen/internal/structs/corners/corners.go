// Package corners has Go structs whose names are in the way.
package corners

import (
	t "time"

	"github.com/ignex/nova/codegen/internal/structs/corners/wire"
)

type (
	// Map is a name that TypeScript has.
	//
	//nova:event in-progress.map retain=false
	Map struct {
		wire.Base
		page[int]
		Name   string `json:"name"` // less deep than that of Base
		String string `json:"toString"`
		Öl     int    `json:"öl"`
		User   int    `json:"user_ID"`
		Type   Type   `json:"type"`
		// Records of the runtime's name.
		Record  Record            `json:"record"`
		Reader  *wire.Reader      `json:"reader"`
		Readers []*wire.Reader    `json:"readers"`
		When    []t.Time          `json:"when"`
		Tags    map[wire.Tag]Type `json:"tags"`
		hidden  int               `json:"-"`
		Lock    chan int          `json:"-"`
	}

	// Record is empty.
	Record struct{}

	// Type is an enum with an empty literal, which is its zero value.
	Type string
)

// The types, one of them by another way.
const (
	None   Type = ""
	Plain       = Type("plain")
	Again  Type = "plain"
	InProg Type = "in-progress"
)

type page[T any] struct {
	Items []T `json:"items"`
	Total T   `json:"total,omitempty"`
}

// Validate is written by hand, and stays.
func (m *Map) Validate() error {
	if m.hidden < 0 {
		return errNegative
	}
	return nil
}

type negative string

func (n negative) Error() string { return string(n) }

const errNegative = negative("hidden is negative")

// time is taken.
var time = len("time")

// Total uses it.
func Total(m *Map) int { return m.Total + time }

// Self is a set of itself.
//
//nova:event self
type Self struct {
	All map[string][]Self `json:"all" nova:"maxProperties=100"`
}

//nova:call do Self Record
