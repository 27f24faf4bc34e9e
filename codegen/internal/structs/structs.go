// Package structs holds Go structs of every kind that nova takes as a schema.
package structs

import (
	"time"

	"github.com/ignex/nova/codegen/internal/structs/money"
)

//go:generate go run github.com/ignex/nova/cmd/nova generate .

//nova:call findOrders Find Found

// Side of the market.
type Side string

// The sides.
const (
	Sell Side = "sell"
	Buy  Side = "buy"
)

// Price in a currency that the symbol tells.
type Price float64

// Symbol of an instrument.
type Symbol string

// Symbols is a list with a name.
type Symbols []Symbol

// Level is a bitmask.
type Level uint8

// Meta is embedded in events.
type Meta struct {
	// ID counts the events.
	ID int64 `json:"id"`
	At time.Time
}

type hidden struct {
	Note string `json:"note,omitempty"`
}

// Quote is the best bid and ask.
//
//nova:event quote delivery=latest key=symbol retain=latest
type Quote struct {
	Meta
	hidden
	Symbol Symbol  `json:"symbol"` // as the exchange writes it
	Bid    Price   `json:"bid"`
	Ask    float64 `json:"ask" nova:"min=0"`
	Size   int     `json:"size"`
	Side   Side    `json:"side"`
	Live   bool    `json:"live"`
	Secret string  `json:"secret" nova:"secret,maxLength=40"`
}

// Kinds has a field of every type.
//
//nova:event kinds inbound
//nova:event kinds.copy delivery=must compress=false
type Kinds struct {
	I8    int8           `json:"i8"`
	I16   int16          `json:"i16"`
	I32   int32          `json:"i32"`
	I64   int64          `json:"i64"`
	Big   int64          `json:"big,string"`
	U8    Level          `json:"u8"`
	U16   uint16         `json:"u16"`
	U32   uint32         `json:"u32"`
	U64   uint64         `json:"u64,string"`
	F32   float32        `json:"f32"`
	Flag  bool           `json:"flag"`
	Raw   []byte         `json:"raw"`
	When  time.Time      `json:"when"`
	Money money.Amount   `json:"money"`
	Maybe *money.Amount  `json:"maybe,omitempty"`
	Skip  string         `json:"-"`
	Lists Lists          `json:"lists"`
	Maps  Maps           `json:"maps"`
	Opts  Options        `json:"opts"`
	Zeros Zeros          `json:"zeros"`
	Null  *int64         `json:"null" nova:"nullable"`
	Wait  time.Duration  `json:"wait"`
	Tags  map[string]int `json:"tags"`
}

// Lists are slices of everything.
type Lists struct {
	Ints    []int            `json:"ints"`
	Wides   []int64          `json:"wides"`
	Shorts  []int16          `json:"shorts"`
	Levels  []Level          `json:"levels"`
	Doubles []float64        `json:"doubles"`
	Prices  []Price          `json:"prices"`
	Flags   []bool           `json:"flags"`
	Texts   []string         `json:"texts"`
	Names   Symbols          `json:"names"`
	Sides   []Side           `json:"sides"`
	Times   []time.Time      `json:"times"`
	Sums    []money.Amount   `json:"sums"`
	Held    []*money.Amount  `json:"held"`
	Grid    [][]Price        `json:"grid"`
	Cube    [][][]int        `json:"cube"`
	Blobs   [][]byte         `json:"blobs"`
	Books   []map[Symbol]int `json:"books"`
	May     []string         `json:"may,omitempty"`
	None    []string         `json:"none" nova:"nullable"`
}

// Maps are maps of everything.
type Maps struct {
	Ints   map[string]int            `json:"ints"`
	Prices map[Symbol]Price          `json:"prices"`
	Sides  map[string]Side           `json:"sides"`
	Times  map[string]time.Time      `json:"times"`
	Sums   map[string]money.Amount   `json:"sums"`
	Held   map[string]*money.Amount  `json:"held"`
	Lists  map[string][]Price        `json:"lists"`
	Grids  map[string][][]int64      `json:"grids"`
	Deep   map[string]map[Symbol]int `json:"deep"`
	Raw    map[string][]byte         `json:"raw"`
	May    map[string]bool           `json:"may,omitempty"`
}

// Options are pointers.
type Options struct {
	Int   *int          `json:"int,omitempty"`
	Price *Price        `json:"price,omitempty"`
	Text  *string       `json:"text,omitempty"`
	Name  *Symbol       `json:"name,omitempty"`
	Side  *Side         `json:"side,omitempty"`
	Time  *time.Time    `json:"time,omitempty"`
	Flag  *bool         `json:"flag,omitempty"`
	Level *Level        `json:"level,omitempty"`
	F32   *float32      `json:"f32,omitempty"`
	Sum   *money.Amount `json:"sum,omitempty"`
	Raw   []byte        `json:"raw,omitempty"`
}

// Zeros are absent when zero.
type Zeros struct {
	Int   int       `json:"int,omitempty"`
	Price Price     `json:"price,omitempty"`
	Text  string    `json:"text,omitempty"`
	Name  Symbol    `json:"name,omitempty"`
	Side  Side      `json:"side,omitempty"`
	Time  time.Time `json:"time,omitzero"`
	Flag  bool      `json:"flag,omitempty"`
	Level Level     `json:"level,omitempty"`
}

// Node holds itself.
//
//nova:event tree
type Node struct {
	Name  string           `json:"name"`
	Next  *Node            `json:"next,omitempty"`
	Kids  []Node           `json:"kids"`
	Held  []*Node          `json:"held"`
	Named map[string]*Node `json:"named"`
}

// Shape is a circle, a square or a group.
//
//nova:union kind circle=Circle square=Square group=Group
type Shape interface{ NovaUnion() }

// Circle is round.
type Circle struct {
	R float64 `json:"r"`
}

// Square is not.
type Square struct {
	Side  int     `json:"side"`
	Marks []Level `json:"marks"`
}

// Group holds shapes.
type Group struct {
	Shapes []Shape `json:"shapes"`
}

// Drawing has shapes in all places.
//
//nova:event drawing
type Drawing struct {
	First Shape            `json:"first"`
	Maybe Shape            `json:"maybe,omitempty"`
	Null  Shape            `json:"null" nova:"nullable"`
	Named map[string]Shape `json:"named"`
	Plain Circle           `json:"plain"`
}

// Find asks for orders.
type Find struct {
	Symbol string `json:"symbol" nova:"minLength=1,pattern=^[A-Z,]+$"`
	Limit  int    `json:"limit,omitempty" nova:"min=1,max=100"`
	Sides  []Side `json:"sides" nova:"maxItems=2,uniqueItems"`
}

// Found are the orders.
type Found struct {
	Quotes []Quote `json:"quotes"`
}
