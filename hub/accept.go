package hub

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"

	"github.com/ignex/nova"
	"github.com/ignex/nova/wire"
)

// everyEvent stands for all events in Options.Validate.
const everyEvent = "*"

// Validates reports whether the values of the inbound event, or the requests of the
// call, of that name have to keep the constraints of their schema.
func (h *Hub) Validates(name string) bool {
	return slices.Contains(h.options.Validate, everyEvent) || slices.Contains(h.options.Validate, name)
}

// judges reports whether inbound events have hooks to pass.
func (o *Options) judges() bool { return o.AuthorizePublish != nil || o.CheckInbound != nil }

// accepts asks the hooks about an event that the client may send at all.
func (s *Session) accepts(t *task, payload []byte) bool {
	o, event := &s.hub.options, t.state.event
	if o.AuthorizePublish != nil {
		if err := s.judged(func() error { return o.AuthorizePublish(s.hub.ctx, s.client, event) }); err != nil {
			s.refused(&s.hub.metrics.notAllowed, event, err)
			return false
		}
	}
	if o.CheckInbound != nil && t.fate == forHandlers {
		if err := s.judged(func() error { return o.CheckInbound(s.hub.ctx, s.client, event, payload) }); err != nil {
			s.refused(&s.hub.metrics.invalid, event, err)
			return false
		}
	}
	return true
}

// permits asks the hooks about a call that has a handler, and opens its request. What
// it returns is for the caller.
func (s *Session) permits(ctx context.Context, a *answer, x *made) error {
	o := &s.hub.options
	if o.AuthorizePublish != nil {
		if err := s.judged(func() error { return o.AuthorizePublish(ctx, s.client, a.event) }); err != nil {
			s.refused(&s.hub.metrics.notAllowed, a.event, err)
			return told(err, nova.Denied, "not allowed to call "+x.name)
		}
	}
	if x.base {
		if err := x.open(a.event.ID); err != nil {
			return err
		}
	}
	if o.CheckInbound != nil {
		if err := s.judged(func() error { return o.CheckInbound(ctx, s.client, a.event, x.payload) }); err != nil {
			s.refused(&s.hub.metrics.invalid, a.event, err)
			return told(err, nova.Invalid, "the request of "+x.name+" was refused")
		}
	}
	return nil
}

// told is what a caller learns of a hook's error: that of an *nova.Error, else only
// that it was refused.
func told(err error, code nova.Code, text string) error {
	if coded, ok := asCoded(err); ok {
		return coded
	}
	return nova.Errorf(code, "%s", text)
}

// judged returns what a hook says; a panic says no.
func (s *Session) judged(hook func() error) error {
	err := guard(hook)
	var p *panicError
	if errors.As(err, &p) {
		s.hub.sparse.Write(s.hub.options.Logger, slog.LevelError, "hook panicked", "", "client", s.id, "panic", p.value, "stack", p.stack)
	}
	return err
}

// refused counts an event that is not handled. Clients decide how many there are:
// only who looks for it finds each in the log.
func (s *Session) refused(count *atomic.Uint64, event *wire.Event, err error) {
	count.Add(1)
	s.hub.options.Logger.Debug("event refused", "event", event.Name, "client", s.id, "error", err)
}
