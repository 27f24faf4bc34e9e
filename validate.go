package nova

import "github.com/ignex/nova/wire"

// Validator is what generated types implement whose schema has constraints. A nil
// error means that the value keeps them.
type Validator interface{ Validate() error }

// ConstraintError says that a value decodes but breaks the constraints of its schema.
type ConstraintError struct {
	Event string
	Err   error // of Validate
}

// Error implements error.
func (e *ConstraintError) Error() string { return e.Event + ": " + e.Err.Error() }

// Unwrap returns the error of Validate.
func (e *ConstraintError) Unwrap() error { return e.Err }

// validated returns the codec that refuses values, of an event or call of that name,
// that break a constraint of their type; the same one when it has none.
func (c codec[T]) validated(name string) codec[T] {
	if _, ok := any((*T)(nil)).(Validator); !ok {
		return c
	}
	decode := c.decode
	c.decode = func(v *T, payload []byte) error {
		if err := decode(v, payload); err != nil {
			return err
		}
		if err := any(v).(Validator).Validate(); err != nil {
			return &ConstraintError{Event: name, Err: err}
		}
		return nil
	}
	return c
}

// Validated returns the event with the constraints of its schema checked when a
// value is received: [Event.On], [Event.Listen], [Event.All] and
// [Event.DecodeFrame] refuse a value that breaks one with an error of code
// Invalid, which wraps a [*ConstraintError]. Of an event without constraints it
// returns the event as it is.
//
//	market.ChatEvent.Validated().On(hub, func(ctx context.Context, from *nova.Client, m *market.Chat) error { … })
func (e Event[T]) Validated() Event[T] {
	e.codec = e.codec.validated(e.event.Name)
	return e
}

// validating is what hubs implement that have inbound values validated.
type validating interface {
	Validates(event *wire.Event) bool
}

// inbound returns the event as it comes from the clients of a hub.
func (e Event[T]) inbound(hub Hub) Event[T] {
	if h, ok := hub.(validating); ok && h.Validates(e.event) {
		return e.Validated()
	}
	return e
}
