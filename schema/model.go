// Package schema reads an event schema into a [Model]: JSON Schema as both
// TypeBox lines emit it, in document order, with the place of every error.
package schema

import "github.com/ignex/nova/wire"

// Model is a schema after reading: every name decided, every number pinned,
// every reference resolved. Code generation and [Model.Layout] need nothing else.
type Model struct {
	Package string // Go package name
	Doc     string // title and description of the document, "" when absent

	Enums  []*Enum  // those that are used, in order of first use
	Unions []*Union // those that are used, in order of first use
	Tables []*Table // those that are used, in order of first use
	Events []*Event // in document order
	Calls  []*Call  // in document order

	Warnings []Problem // accepted, but worth a look

	lock *Lock // what it was read with
	bare bool  // it is what a lock file knows: names, numbers and types
}

// Enum is a set of string literals.
type Enum struct {
	Name    string // Go and TypeScript type
	FbsName string // differs only where FlatBuffers cannot spell Name
	Doc     string
	Pos     Pos
	Values  []EnumValue // by number
}

// EnumValue is one literal with its pinned number.
type EnumValue struct {
	Literal string
	Number  int32
	GoName  string // constant, e.g. SideBuy
	FbsName string // enumerator in .fbs
	Removed bool   // gone from the schema, its number stays taken
}

// Union is a set of objects told apart by a property with a constant value.
type Union struct {
	Name    string // Go interface, TypeScript type
	FbsName string
	Doc     string
	Pos     Pos
	Tag     string        // the property that tells the members apart; it is not written
	Members []UnionMember // by number; those that are gone are left out

	removed map[string]int // numbers of the lock without a member
}

// UnionMember is one object of a union with its pinned number, from 1.
type UnionMember struct {
	Number int
	Value  Const // of the property that tells it apart
	Table  *Table
}

// Const is a property whose value the schema fixes and that is not written.
type Const struct {
	JSON string // property as written
	Text string // the value as JSON text: a string, a number, true or false
}

// Shape tells what a table stands for.
type Shape uint8

const (
	Plain Shape = iota // an object of the schema
	Box                // {value}: what FlatBuffers takes in a table only
	Row                // {items}: an array inside an array
	Entry              // {key, value}: one entry of a map
)

// Table is an object of the schema: a struct in Go, an interface in TypeScript,
// a table in FlatBuffers.
type Table struct {
	Name         string // Go and TypeScript type
	FbsName      string // differs only where flatc cannot compile Name
	Doc          string
	Pos          Pos
	AllowUnknown bool     // additionalProperties: true
	Shape        Shape    // what it stands for
	Consts       []Const  // properties that tell it apart in unions
	Rules        []Rule   // of the object as a whole
	Fields       []*Field // by id; ids are gapless
}

// Field is one property of an object.
type Field struct {
	ID         int
	JSON       string // property as written
	GoName     string // exported Go field
	WireName   string // snake_case
	FbsName    string // WireName, renamed where flatc cannot compile it
	Doc        string
	Pos        Pos
	Kind       wire.Kind // wire.UnionType: the field before a union, without a property of its own
	Vector     bool
	Map        bool   // a vector of entries
	Enum       *Enum  // when Kind is wire.Enum
	Union      *Union // when Kind is wire.Union or wire.UnionType
	Table      *Table // when Kind is wire.Struct
	Presence   wire.Presence
	BigInt     bool
	Secret     bool
	Deprecated bool // removed from the schema; only ID and WireName have a meaning

	Rules     []Rule // of the value, or of each element
	ListRules []Rule // of the array or map as a whole

	Numbers []float64 // const or enum of numbers: the allowed values

	Const string // JSON text of the one value it can have, "" = several
}

// Event is one event of the schema with its options.
type Event struct {
	Name     string
	ID       uint32
	GoName   string // descriptor, e.g. QuoteEvent
	TSName   string // descriptor, e.g. quote
	Doc      string
	Pos      Pos
	Table    *Table
	Delivery wire.Delivery
	Key      *Field // of delivery or retain "latest"; nil = none
	Inbound  bool
	Retain   wire.Retain
	Internal bool
	Compress bool
}

// Call is one typed request and response.
type Call struct {
	Name     string
	GoName   string // descriptor, e.g. GetQuoteCall
	TSName   string // descriptor, e.g. getQuote
	Doc      string
	Pos      Pos
	Request  *Table
	Response *Table
}
