package hub

import (
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
	key, ok := layout.Key(event, payload)
	if !ok {
		return ""
	}
	return key
}
