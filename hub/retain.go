package hub

import (
	"strconv"

	"github.com/ignex/nova/session"
	"github.com/ignex/nova/wire"
)

// frameKey returns the key of a published frame, for conflation.
func (h *Hub) frameKey(f *session.Frame) string {
	return eventKey(h.layout, f.Event, f.Wire()[wire.HeaderLen:])
}

// eventKey returns the bytes of an event's key field with the event's id in
// front, "" when the event has none or this value lacks it.
func eventKey(layout *wire.Layout, event *wire.Event, payload []byte) string {
	if event.Key == "" {
		return ""
	}
	table := &layout.Tables[event.Table]
	for id := range table.Fields {
		f := &table.Fields[id]
		if f.Name != event.Key {
			continue
		}
		value, ok := keyValue(f, id, payload)
		if !ok {
			return ""
		}
		return strconv.FormatUint(uint64(event.ID), 36) + "\x00" + value
	}
	return ""
}

func keyValue(f *wire.Field, id int, payload []byte) (string, bool) {
	var r wire.Reader
	t := r.Root(payload)
	if r.Failed() || f.Vector || !r.Has(t, id) {
		return "", false
	}
	var value string
	switch f.Kind {
	case wire.String:
		value = r.String(t, id, f.JSON)
	case wire.Bytes:
		value = string(r.Bytes(t, id, f.JSON))
	case wire.Int64:
		value = strconv.FormatInt(r.Int64(t, id, f.JSON), 10)
	case wire.Enum:
		value = strconv.FormatInt(int64(r.Enum(t, id, f.JSON)), 10)
	case wire.Bool:
		value = strconv.FormatBool(r.Bool(t, id, f.JSON))
	default:
		return "", false
	}
	return value, !r.Failed()
}
