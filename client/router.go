package client

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ignex/nova"
	"github.com/ignex/nova/wire"
)

// maxUnknown bounds the unknown event ids that are reported, once each.
const maxUnknown = 256

// router knows who wants which event. Its lists are replaced, never changed, so
// that a dispatch sees those of its beginning.
type router struct {
	schema *wire.Layout // nil: none

	mu      sync.RWMutex
	routes  map[uint32]route
	any     []*handler
	streams []*stream
	unknown map[uint32]bool // reported
}

type route struct {
	event    *wire.Event
	handlers []*handler
}

type handler struct {
	fn  func(ctx context.Context, d nova.Delivery) error
	off atomic.Bool
}

func (r *router) init(schema *nova.Schema) {
	if schema != nil {
		r.schema = schema.Layout()
	}
	r.routes, r.unknown = map[uint32]route{}, map[uint32]bool{}
}

// event returns the event of an id, nil when nobody has named it. r.mu is held.
func (r *router) event(id uint32) *wire.Event {
	if e := r.routes[id].event; e != nil {
		return e
	}
	if r.schema != nil {
		return r.schema.EventByID(id)
	}
	return nil
}

func (r *router) addStream(s *stream) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.streams = append(r.streams[:len(r.streams):len(r.streams)], s)
}

// name makes an event known that an iterator brought along.
func (r *router) name(event *wire.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if event != nil && r.event(event.ID) == nil {
		r.routes[event.ID] = route{event: event}
	}
}

func (r *router) removeStream(s *stream) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.Contains(r.streams, s) {
		r.streams = without(r.streams, s)
	}
}

// ListenFrame registers fn for an event; see nova.Conn. off may be called from
// within fn.
func (c *Conn) ListenFrame(event *wire.Event, fn func(ctx context.Context, d nova.Delivery) error) (off func()) {
	h := &handler{fn: fn}
	r := &c.router
	r.mu.Lock()
	defer r.mu.Unlock()
	was := r.routes[event.ID]
	if was.event == nil {
		was.event = event
	}
	was.handlers = append(was.handlers[:len(was.handlers):len(was.handlers)], h)
	r.routes[event.ID] = was
	return func() {
		h.off.Store(true)
		r.mu.Lock()
		defer r.mu.Unlock()
		now := r.routes[event.ID]
		now.handlers = without(now.handlers, h)
		r.routes[event.ID] = now
	}
}

// ListenAny registers fn for every application frame, after the handlers of its
// event. Delivery.Event is nil for an event that nobody has named.
func (c *Conn) ListenAny(fn func(ctx context.Context, d nova.Delivery) error) (off func()) {
	h := &handler{fn: fn}
	r := &c.router
	r.mu.Lock()
	defer r.mu.Unlock()
	r.any = append(r.any[:len(r.any):len(r.any)], h)
	return func() {
		h.off.Store(true)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.any = without(r.any, h)
	}
}

// dispatch hands an application frame to all who want it, in order.
func (c *Conn) dispatch(id uint32, d nova.Delivery) {
	r := &c.router
	r.mu.RLock()
	d.Event = r.event(id)
	handlers, anyone, streams := r.routes[id].handlers, r.any, r.streams
	r.mu.RUnlock()
	if d.Event == nil {
		c.unknown(id)
	}
	c.counts.received.Add(1)
	for _, h := range handlers {
		c.handle(h, d)
	}
	for _, h := range anyone {
		c.handle(h, d)
	}
	shared := false
	for _, s := range streams {
		if !s.wants(id, &d) {
			continue
		}
		if !shared {
			d.Payload, shared = slices.Clone(d.Payload), true
		}
		switch s.push(id, d) {
		case pushedEnded:
			r.removeStream(s)
		case pushedDropped:
			c.gap(consumerGap(d))
		}
	}
}

// handle runs one handler. Its error or panic is its own.
func (c *Conn) handle(h *handler, d nova.Delivery) {
	if h.off.Load() {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			c.counts.handlerErrors.Add(1)
			c.options.Logger.Error("nova client: handler panicked", "event", eventName(d.Event), "panic", p, "stack", string(debug.Stack()))
			c.report(nova.Errorf(nova.Internal, "handler of %s panicked: %v", eventName(d.Event), p))
		}
	}()
	err := h.fn(c.ctx, d)
	switch {
	case err == nil:
	case isDecode(err):
		c.undecodable(err)
	default:
		c.counts.handlerErrors.Add(1)
		c.report(fmt.Errorf("handler of %s: %w", eventName(d.Event), err))
	}
}

func eventName(e *wire.Event) string {
	if e == nil {
		return "an unknown event"
	}
	return e.Name
}

// unknown counts a frame that nobody has named, and reports each id once.
func (c *Conn) unknown(id uint32) {
	c.counts.unknown.Add(1)
	r := &c.router
	r.mu.Lock()
	report := !r.unknown[id] && len(r.unknown) < maxUnknown
	if report {
		r.unknown[id] = true
	}
	r.mu.Unlock()
	if report {
		c.report(nova.Errorf(nova.Unimplemented, "the server sends event %#08x, which neither the schema nor a handler knows", id))
	}
}
