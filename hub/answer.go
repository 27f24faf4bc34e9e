package hub

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/ignex/nova"
	"github.com/ignex/nova/wire"
)

// answers are the handlers of calls, one of each name, and of the base protocol's
// calls, one of each event.
type answers struct {
	mu       sync.RWMutex
	calls    map[string]*answer
	requests map[string]*answer
}

// answer is one registration; its address is its identity.
type answer struct {
	event *wire.Event // for the hooks: of a call it has its name and request
	fn    nova.CallHandler
}

// HandleCall implements nova.Hub.
func (h *Hub) HandleCall(call *wire.Call, fn nova.CallHandler) (off func(), err error) {
	if call == nil || fn == nil {
		return nil, nova.Errorf(nova.Invalid, "a handler needs a call and a function")
	}
	for i := range h.layout.Calls {
		if c := &h.layout.Calls[i]; c.Name == call.Name {
			event := &wire.Event{Name: c.Name, ID: wire.EventID(c.Name), Table: c.Request}
			return h.answers.add(&h.answers.calls, "call", &answer{event: event, fn: fn})
		}
	}
	return nil, nova.Errorf(nova.Invalid, "schema %s has no call %q: the hub needs the schema it was generated from",
		h.options.Schema.Name(), call.Name)
}

// HandleRequest implements nova.Hub.
func (h *Hub) HandleRequest(event *wire.Event, fn nova.CallHandler) (off func(), err error) {
	state, err := h.stateOf(event, fn != nil)
	if err != nil {
		return nil, err
	}
	return h.answers.add(&h.answers.requests, "request", &answer{event: state.event, fn: fn})
}

func (a *answers) add(list *map[string]*answer, what string, mine *answer) (off func(), err error) {
	name := mine.event.Name
	a.mu.Lock()
	defer a.mu.Unlock()
	if (*list)[name] != nil {
		return nil, nova.Errorf(nova.AlreadyExists, "%s %q has a handler: end that one first", what, name)
	}
	if *list == nil {
		*list = map[string]*answer{}
	}
	(*list)[name] = mine
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if (*list)[name] == mine {
			delete(*list, name)
		}
	}, nil
}

// find returns the handler for what a client calls, or nil.
func (a *answers) find(x *made) *answer {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if x.base {
		return a.requests[x.name]
	}
	return a.calls[x.name]
}

// attend runs the handler of a call, past the same hooks as events.
func (s *Session) attend(ctx context.Context, x *made) (out nova.Encoded, err error) {
	a := s.hub.answers.find(x)
	if a == nil {
		return out, nova.Errorf(nova.Unimplemented, "no handler for %s", x.name)
	}
	defer func() {
		if p := recover(); p != nil {
			err = panicked(p)
		}
	}()
	if err := s.permits(ctx, a, x); err != nil {
		return out, err
	}
	out, err = a.fn(ctx, s.client, x.payload)
	if err == nil {
		err = s.hub.safe(x.name, out.Unsafe)
	}
	return out, err
}

// safe applies Int64Guard to what a call carries.
func (h *Hub) safe(name string, unsafe error) error {
	if unsafe == nil {
		return nil
	}
	switch h.options.Int64Guard {
	case GuardRefuse:
		return nova.Errorf(nova.Invalid, "call %s: %w", name, unsafe)
	case GuardWarn:
		if _, warned := h.unsafeCalls.LoadOrStore(name, true); !warned {
			h.options.Logger.Warn("an integer of a call will change in browsers (logged once per call)", "call", name, "error", unsafe)
		}
	}
	return nil
}

// verdict is what the caller is told about an error.
func (s *Session) verdict(ctx context.Context, x *made, err error) (nova.Code, string) {
	if err == nil {
		return nova.OK, ""
	}
	var malformed *wire.DecodeError
	if errors.As(err, &malformed) {
		s.Undecodable(DamagePayload)
	}
	var broken *nova.ConstraintError
	if errors.As(err, &broken) {
		s.hub.metrics.invalid.Add(1)
	}
	code, message, hidden := nova.ReplyTo(ctx, err)
	if hidden {
		kind := x.name
		if p := (*panicError)(nil); errors.As(err, &p) {
			kind += " panicked" // which errors of the same moment must not hide
		}
		s.hub.sparse.Write(s.hub.options.Logger, slog.LevelError, "call failed", kind, "call", x.name, "client", s.id, "error", err)
	}
	return code, message
}
