package wire

import (
	"fmt"
	"strconv"
	"strings"
)

// The schema-driven codec: JSON text ↔ FlatBuffer by a [Layout] alone, for
// programs without generated code (command, HTTP API, page). It writes the same
// bytes as generated code. dynamic_scan.go knows JSON's syntax, dynamic_encode.go
// and dynamic_decode.go its meaning.

const (
	// MaxJSON bounds the JSON text that EncodeJSON reads, in bytes.
	MaxJSON = 16 << 20

	// maxDynamic bounds what one EncodeJSON or AppendJSON writes: a small input
	// may stand for a large output (`{}` for a table of many optional fields,
	// offsets that alias).
	maxDynamic = 64 << 20

	// maxNesting bounds objects and arrays inside each other: 64 tables with a
	// vector around each.
	maxNesting = 2 * MaxDepth
)

// JSONError says which value of a JSON text cannot be encoded, and what to
// write instead.
type JSONError struct {
	Pointer string // RFC 6901 pointer of the value, "" = the whole text
	Message string
}

// Error returns the pointer and the message.
func (e *JSONError) Error() string {
	if e.Pointer == "" {
		return e.Message
	}
	return e.Pointer + ": " + e.Message
}

func jsonErrorf(format string, args ...any) *JSONError {
	return &JSONError{Message: fmt.Sprintf(format, args...)}
}

// under moves the error below the property of that name. It is called while
// returning, so that paths cost nothing when all is well.
func (e *JSONError) under(property string) *JSONError {
	e.Pointer = "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(property) + e.Pointer
	return e
}

// underIndex moves the error below the element i.
func (e *JSONError) underIndex(i int) *JSONError {
	e.Pointer = "/" + strconv.Itoa(i) + e.Pointer
	return e
}

// FindEvent returns the event of that name, or an error that names the nearest
// one and all others.
func (l *Layout) FindEvent(name string) (*Event, error) {
	if e := l.EventByName(name); e != nil {
		return e, nil
	}
	names := make([]string, len(l.Events))
	for i := range l.Events {
		names[i] = l.Events[i].Name
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("unknown event %s; schema %s has no events", quote(name), l.Package)
	}
	if near := nearest(name, names); near != "" {
		return nil, fmt.Errorf("unknown event %s; did you mean %q? (events of schema %s: %s)", quote(name), near, l.Package, list(names))
	}
	return nil, fmt.Errorf("unknown event %s; schema %s has %s", quote(name), l.Package, list(names))
}

// AppendFrameJSON appends the unnumbered frame of an event of this layout: its
// envelope, and the payload that EncodeJSON makes of the JSON text, with the
// errors of EncodeJSON.
func (l *Layout) AppendFrameJSON(dst []byte, event *Event, text []byte) ([]byte, error) {
	b, err := l.EncodeJSON(AppendHeader(dst, event.ID), event.Table, text)
	if err != nil {
		return dst, err
	}
	return b, nil
}

// FrameJSON reads a whole frame: it appends the payload as JSON text to dst and
// returns the event. Errors are those of ParseFrame and AppendJSON, and one for
// an event id that the layout does not know.
func (l *Layout) FrameJSON(dst []byte, frame []byte) (*Event, []byte, error) {
	h, payload, err := ParseFrame(frame)
	if err != nil {
		return nil, dst, err
	}
	event := l.EventByID(h.ID)
	if event == nil {
		return nil, dst, fmt.Errorf("schema %s has no event with id %#x", l.Package, h.ID)
	}
	b, err := l.AppendJSON(dst, event.Table, payload)
	return event, b, err
}
