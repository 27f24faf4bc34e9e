package wire

import (
	"fmt"
	"math"
)

// Kind is the wire type of one value: of a field, or of each element when the
// field is a vector.
type Kind uint8

// The kinds of values a field can hold, with their FlatBuffers type.
const (
	Bool      Kind = iota + 1 // bool, 1 byte
	Int64                     // int64, 8 bytes
	Float64                   // double, 8 bytes, bit-exact
	Enum                      // an enum based on int32, 4 bytes
	String                    // UTF-8 string
	Bytes                     // [ubyte]
	Struct                    // a table, by reference
	Int8                      // int8, 1 byte
	Int16                     // int16, 2 bytes
	Int32                     // int32, 4 bytes
	Uint8                     // uint8, 1 byte
	Uint16                    // uint16, 2 bytes
	Uint32                    // uint32, 4 bytes
	Uint64                    // uint64, 8 bytes
	Float32                   // float, 4 bytes
	UnionType                 // which member the union in the next field holds, 1 byte
	Union                     // a table of one of several types, by reference
)

var kindNames = [...]string{"", "bool", "int64", "double", "enum", "string", "bytes", "table",
	"int8", "int16", "int32", "uint8", "uint16", "uint32", "uint64", "float", "uniontype", "union"}

// String returns the name used in error messages and in the fingerprint.
func (k Kind) String() string {
	if k > 0 && int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// size returns the bytes of one value inside a table or a vector. References
// (strings, vectors, tables) are 4-byte offsets.
func (k Kind) size() int {
	switch k {
	case Bool, Int8, Uint8, UnionType:
		return 1
	case Int16, Uint16:
		return 2
	case Int64, Float64, Uint64:
		return 8
	default:
		return 4
	}
}

// Presence says whether a field can be absent, and what JSON calls that.
type Presence uint8

const (
	Required         Presence = iota // always present
	Optional                         // absent = the key is missing
	Nullable                         // absent = null
	OptionalNullable                 // absent = the key is missing; null is read as absent
)

// CanBeAbsent reports whether a value may be missing on the wire.
func (p Presence) CanBeAbsent() bool { return p != Required }

// Layout is a schema lowered to what bytes need: tables, enums, events and
// calls as plain data. The schema-driven codec, the HTTP API, the trace and the
// page read it; generated code carries it as a literal.
//
// A Layout is immutable once [Layout.Init] returned without error and may then
// be read by any number of goroutines.
type Layout struct {
	Package     string
	Fingerprint string // 16 hex digits, see docs/protocol.md
	Enums       []EnumType
	Unions      []UnionLayout
	Tables      []Table
	Events      []Event
	Calls       []Call

	byID   map[uint32]*Event
	byName map[string]*Event
}

// EnumType is a closed set of string literals with pinned numbers.
type EnumType struct {
	Name   string
	Values []EnumValue

	// Lookups of the schema-driven codec, nil for few values; see index.
	byLiteral map[string]int32
	byNumber  map[int32]string
}

// EnumValue pairs a literal with its pinned number.
type EnumValue struct {
	Literal string
	Number  int32
	Removed bool // no longer in the schema; kept because numbers are never reused
}

// Table is one FlatBuffers table.
type Table struct {
	Name string
	// Fields stand in the order of their ids; ids are gapless from 0. A
	// deprecated field keeps its id and is never written or read.
	Fields []Field
	// Consts are properties whose value the schema fixes; they are in JSON and
	// not on the wire.
	Consts []Const
	// Box says that the JSON form of the table is that of its last field alone:
	// it stands only where FlatBuffers wants a table.
	Box bool
	// AllowUnknown accepts (and ignores) JSON properties the schema does not name.
	AllowUnknown bool

	// Computed by Init from the rules in docs/protocol.md ("How our encoders
	// place things").
	vtable    []byte // complete vtable, every field present
	inline    int    // bytes of the table itself, soffset included
	align     int    // 4 or 8, counted from the size prefix
	canAbsent bool   // some field can be absent, so the vtable varies

	byJSON map[string]int // property → id, nil for few fields; see index
}

// Field is one field of a table.
type Field struct {
	Name       string // wire name, snake_case
	JSON       string // property name as the schema writes it
	Kind       Kind
	Vector     bool // a vector of Kind
	Map        bool // a vector of tables {key, value}, sorted by key, that JSON writes as one object
	Ref        int  // index into Enums, Unions or Tables for Enum, Union and Struct
	Presence   Presence
	BigInt     bool // int64 that JSON writes as a string and TypeScript as bigint
	Secret     bool // shown as *** in trace, page and logs
	Deprecated bool

	offset int // inside the table; computed by Init
}

// IsRef reports whether the field's inline slot is an offset to data outside
// the table.
func (f *Field) IsRef() bool {
	return f.Vector || f.Kind == String || f.Kind == Bytes || f.Kind == Struct || f.Kind == Union
}

// Offset returns where the field's value or reference stands inside its table.
func (f *Field) Offset() int { return f.offset }

// Size returns the bytes of the field's inline slot.
func (f *Field) Size() int {
	if f.Vector {
		return 4
	}
	return f.Kind.size()
}

// VTable returns the table's vtable with every field present. The caller must
// not change it.
func (t *Table) VTable() []byte { return t.vtable }

// Inline returns the size of the table's inline part, its soffset included.
func (t *Table) Inline() int { return t.inline }

// Align returns the alignment of the table's first byte, counted from the size
// prefix: 8 when it holds an 8-byte value, else 4.
func (t *Table) Align() int { return t.align }

// CanBeAbsent reports whether any field of the table may be missing, so that
// its vtable differs between values.
func (t *Table) CanBeAbsent() bool { return t.canAbsent }

// Delivery is what the server may do with an event when a consumer is slow.
type Delivery uint8

const (
	DeliverDefault Delivery = iota // the connection's backpressure policy
	DeliverMust                    // never lost silently
	DeliverDrop                    // the oldest unsent goes first
	DeliverLatest                  // a newer frame of the same key replaces an unsent older one
)

// Retain says what topic history keeps of an event.
type Retain uint8

const (
	RetainAll    Retain = iota // recorded with an offset
	RetainNone                 // not recorded, no offset
	RetainLatest               // the newest per key, for newcomers
)

// Event is one event of the schema: its name, its id and its options.
type Event struct {
	Name     string
	ID       uint32 // [EventID] of Name
	Table    int    // index into Layout.Tables
	Delivery Delivery
	Key      string // wire name of the key field of DeliverLatest and RetainLatest; "" = none
	Inbound  bool   // clients may send it
	Retain   Retain
	Internal bool // routed to its own handler only; never traced, bridged or recorded
	Compress bool // worth compressing; true unless the schema says false
}

// Call is one typed request and response.
type Call struct {
	Name     string
	Request  int // index into Layout.Tables
	Response int
}

// maxInline is the first size a table or vtable must not reach: readers treat
// vtable entries as signed 16-bit numbers.
const maxInline = 32768

// Init computes where every field stands and indexes the events. It must be
// called once before the layout is used; it returns an error when the layout
// contradicts itself. Calling it again is harmless.
func (l *Layout) Init() error {
	for i := range l.Tables {
		if err := l.place(&l.Tables[i]); err != nil {
			return fmt.Errorf("table %s: %w", l.Tables[i].Name, err)
		}
	}
	if err := l.initUnions(); err != nil {
		return err
	}
	l.index()
	l.byID = make(map[uint32]*Event, len(l.Events))
	l.byName = make(map[string]*Event, len(l.Events))
	for i := range l.Events {
		e := &l.Events[i]
		if e.Table < 0 || e.Table >= len(l.Tables) {
			return fmt.Errorf("event %s: table %d does not exist", e.Name, e.Table)
		}
		if id := EventID(e.Name); e.ID != id {
			return fmt.Errorf("event %s: id %#x is not the hash of its name (%#x)", e.Name, e.ID, id)
		}
		if other := l.byID[e.ID]; other != nil {
			return fmt.Errorf("events %s and %s have the same id %#x", other.Name, e.Name, e.ID)
		}
		l.byID[e.ID], l.byName[e.Name] = e, e
	}
	for _, c := range l.Calls {
		if max(c.Request, c.Response) >= len(l.Tables) || min(c.Request, c.Response) < 0 {
			return fmt.Errorf("call %s: tables %d and %d do not both exist", c.Name, c.Request, c.Response)
		}
	}
	return nil
}

// EventByID returns the event with that id, or nil.
func (l *Layout) EventByID(id uint32) *Event { return l.byID[id] }

// EventByName returns the event with that name, or nil.
func (l *Layout) EventByName(name string) *Event { return l.byName[name] }

// place assigns inline offsets. A table starts with its 4-byte soffset, so a
// 4-byte hole precedes the 8-byte values: the first 4-byte field fills it, or
// else as many 2-byte and then 1-byte fields as fit. Then come 8-, 4-, 2- and
// 1-byte fields, each group in the order of ids.
func (l *Layout) place(t *Table) error {
	t.align, t.canAbsent = 4, false
	bySize := map[int][]*Field{}
	for i := range t.Fields {
		f := &t.Fields[i]
		f.offset = 0
		if f.Deprecated {
			continue
		}
		if err := l.checkRef(t, i); err != nil {
			return fmt.Errorf("field %s: %w", f.Name, err)
		}
		if f.Presence.CanBeAbsent() {
			t.canAbsent = true
		}
		bySize[f.Size()] = append(bySize[f.Size()], f)
	}
	at := 4
	take := func(size int, until int) {
		group := bySize[size]
		for len(group) > 0 && at+size <= until {
			group[0].offset = at
			at += size
			group = group[1:]
		}
		bySize[size] = group
	}
	if len(bySize[8]) > 0 {
		t.align = 8
		take(4, 8)
		take(2, 8)
		take(1, 8)
		at = 8
	}
	take(8, math.MaxInt)
	take(4, math.MaxInt)
	take(2, math.MaxInt)
	take(1, math.MaxInt)
	t.inline = at
	size := 4 + 2*len(t.Fields)
	if at >= maxInline || size >= maxInline {
		return fmt.Errorf("%d fields in %d bytes are too many for one table (limit %d bytes)", len(t.Fields), at, maxInline-1)
	}
	t.vtable = make([]byte, 0, size)
	t.vtable = appendU16(appendU16(t.vtable, size), t.inline)
	for i := range t.Fields {
		t.vtable = appendU16(t.vtable, t.Fields[i].offset)
	}
	return nil
}

func (l *Layout) checkRef(t *Table, id int) error {
	f := &t.Fields[id]
	switch f.Kind {
	case Enum:
		if f.Ref < 0 || f.Ref >= len(l.Enums) {
			return fmt.Errorf("enum %d does not exist", f.Ref)
		}
	case Struct:
		if f.Ref < 0 || f.Ref >= len(l.Tables) {
			return fmt.Errorf("table %d does not exist", f.Ref)
		}
		if f.Map && (!f.Vector || !isEntry(&l.Tables[f.Ref])) {
			return fmt.Errorf("a map needs a vector of tables of a key and a value")
		}
	case Union:
		if f.Ref < 0 || f.Ref >= len(l.Unions) {
			return fmt.Errorf("union %d does not exist", f.Ref)
		}
		if f.Vector || id == 0 || t.Fields[id-1].Kind != UnionType || t.Fields[id-1].Deprecated {
			return fmt.Errorf("a union needs the field of its type before it")
		}
	case UnionType:
		if f.Vector || id+1 == len(t.Fields) || t.Fields[id+1].Kind != Union || t.Fields[id+1].Deprecated {
			return fmt.Errorf("the type of a union needs the union after it")
		}
	case Bytes:
		if f.Vector {
			return fmt.Errorf("a vector of bytes needs a wrapper table")
		}
	case Bool, Int64, Float64, String, Int8, Int16, Int32, Uint8, Uint16, Uint32, Uint64, Float32:
	default:
		return fmt.Errorf("unknown kind %d", f.Kind)
	}
	return nil
}

func appendU16(b []byte, v int) []byte { return append(b, byte(v), byte(v>>8)) }
