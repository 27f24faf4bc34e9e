package nova

import (
	"context"
	"sync/atomic"

	"github.com/ignex/nova/wire"
)

// Hub is what descriptors need of a hub. Package hub implements it; tests may.
type Hub interface {
	// PublishFrame hands one publication to its receivers. It does not keep
	// p.Frame after it returned. It returns once the publication is accepted,
	// waiting for room within ctx. Errors carry a Code: Invalid (unknown event,
	// bad target), Exhausted (no room), FailedPrecondition (closed).
	PublishFrame(ctx context.Context, p Publication) (Result, error)
	// HandleFrame registers fn for an inbound event and allows clients to send
	// it. off unregisters fn; it may be called from within fn.
	HandleFrame(event *wire.Event, fn FrameHandler) (off func(), err error)
	// WatchFrame is HandleFrame that does not allow clients to send the event.
	WatchFrame(event *wire.Event, fn FrameHandler) (off func(), err error)
	// HandleCall registers fn for a call of clients. Errors carry a Code: Invalid (the
	// schema does not have it), AlreadyExists (it has a handler).
	HandleCall(call *wire.Call, fn CallHandler) (off func(), err error)
	// HandleRequest registers fn for the base protocol's call of an event, with the
	// errors of HandleCall. Request and answer are the payloads of that event.
	HandleRequest(event *wire.Event, fn CallHandler) (off func(), err error)
}

// Publication is one encoded event on its way to its receivers.
type Publication struct {
	Event  *wire.Event
	Target Target
	Frame  []byte // envelope and payload, unnumbered
	Unsafe error  // a *wire.Int64Error when a plain int64 would change in a browser
	// Durable: return once the logs of the topics have it (nova.Durable).
	Durable bool
	API     bool // it came over the HTTP API: traces say so
	// WaitForSpace: wait until it fits into the queue of its client or of all sessions
	// of its user, and drops nothing there (nova.WaitForSpace).
	WaitForSpace bool
	Try          bool // do not wait for anything, return Exhausted (Event.TryPublish)
}

// Result tells what a publish reached.
type Result struct {
	// Offset is the topic offset given, 0 without a topic or history. A topic with a
	// log gives it later: 0 unless the publish was Durable.
	Offset  uint64
	Members int // receivers addressed at that moment, not sockets written
}

// FrameHandler handles one inbound event. payload is its size-prefixed
// FlatBuffer, valid during the call only: its memory is used again for others. What
// generated code decodes is a copy and stays.
type FrameHandler func(ctx context.Context, from *Client, payload []byte) error

type hubKey struct{}

// WithHub returns a context that carries hub. Handlers receive such a context.
func WithHub(ctx context.Context, hub Hub) context.Context {
	return context.WithValue(ctx, hubKey{}, hub)
}

var defaultHub atomic.Pointer[Hub]

// SetDefault makes hub the one used when a publish is given none and its
// context carries none, like slog.SetDefault; nil takes it away. Nothing sets it
// implicitly.
func SetDefault(hub Hub) {
	if hub == nil {
		defaultHub.Store(nil)
		return
	}
	defaultHub.Store(&hub)
}

// Default returns the hub given to SetDefault, or nil.
func Default() Hub {
	if p := defaultHub.Load(); p != nil {
		return *p
	}
	return nil
}

// hubFor resolves a nil hub: the one in ctx, else the default.
func hubFor(ctx context.Context, hub Hub) (Hub, error) {
	if hub != nil {
		return hub, nil
	}
	if h, ok := ctx.Value(hubKey{}).(Hub); ok {
		return h, nil
	}
	if h := Default(); h != nil {
		return h, nil
	}
	return nil, Errorf(FailedPrecondition, "publish without a hub: pass one, use a handler's context, or call nova.SetDefault")
}
