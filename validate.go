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

// keeps returns a ConstraintError when v, of an event whose type has constraints, breaks
// one.
func (e Event[T]) keeps(v *T) error {
	if err := any(v).(Validator).Validate(); err != nil {
		return &ConstraintError{Event: e.event.Name, Err: err}
	}
	return nil
}

// constrained reports whether the type of the event has constraints.
func (e Event[T]) constrained() bool {
	_, ok := any((*T)(nil)).(Validator)
	return ok
}

// Validated returns the event with the constraints of its schema checked when a
// value is received: [Event.On], [Event.Listen], [Event.All] and
// [Event.DecodeFrame] refuse a value that breaks one with an error of code
// Invalid, which wraps a [*ConstraintError]. Of an event without constraints it
// returns the event as it is.
//
//	market.ChatEvent.Validated().On(hub, func(ctx context.Context, from *nova.Client, m *market.Chat) error { … })
func (e Event[T]) Validated() Event[T] {
	if !e.constrained() {
		return e
	}
	decode := e.decode
	e.decode = func(v *T, payload []byte) error {
		if err := decode(v, payload); err != nil {
			return err
		}
		return e.keeps(v)
	}
	return e
}

// validating is what hubs implement that have inbound values validated.
type validating interface {
	Validates(event *wire.Event) bool
}

// validated returns the event as a hub's handlers are to get it.
func (e Event[T]) validated(hub Hub) Event[T] {
	if h, ok := hub.(validating); ok && e.constrained() && h.Validates(e.event) {
		return e.Validated()
	}
	return e
}
