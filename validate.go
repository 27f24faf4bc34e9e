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

// validating is what hubs implement that have inbound values validated.
type validating interface {
	Validates(event *wire.Event) bool
}

// validator returns how values of the event are judged before the handlers of a hub
// get them; nil = not at all.
func (e Event[T]) validator(hub Hub) func(v *T) error {
	if _, ok := any((*T)(nil)).(Validator); !ok {
		return nil
	}
	if h, ok := hub.(validating); !ok || !h.Validates(e.event) {
		return nil
	}
	return func(v *T) error {
		if err := any(v).(Validator).Validate(); err != nil {
			return Errorf(Invalid, "%w", &ConstraintError{Event: e.event.Name, Err: err})
		}
		return nil
	}
}
