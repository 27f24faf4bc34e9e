package hub

import (
	"context"

	"github.com/ignex/nova"
	"github.com/ignex/nova/wire"
)

// WatchFrame implements nova.Hub.
func (h *Hub) WatchFrame(event *wire.Event, fn nova.FrameHandler) (off func(), err error) {
	state, err := h.stateOf(event, fn != nil)
	if err != nil {
		return nil, err
	}
	return state.add(&handler{fn: fn}), nil
}

// OnAny calls fn for every event that clients may send, behind the event's own
// handlers. It allows none. payload is the size-prefixed FlatBuffer, valid until fn
// returns. off ends it.
func (h *Hub) OnAny(fn func(ctx context.Context, from *nova.Client, event *wire.Event, payload []byte) error) (off func()) {
	var offs []func()
	for _, state := range h.events {
		offs = append(offs, state.add(&handler{any: true, fn: func(ctx context.Context, from *nova.Client, payload []byte) error {
			return fn(ctx, from, state.event, payload)
		}}))
	}
	return func() {
		for _, off := range offs {
			off()
		}
	}
}
