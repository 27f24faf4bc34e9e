package nova

// Validator is what generated types implement whose schema has constraints. A nil
// error means that the value keeps them.
type Validator interface{ Validate() error }

// ConstraintError says that a value decodes but breaks the constraints of its schema.
type ConstraintError struct {
	Event string // or the call whose request it is
	Err   error  // of Validate
}

// Error implements error.
func (e *ConstraintError) Error() string { return e.Event + ": " + e.Err.Error() }

// Unwrap returns the error of Validate.
func (e *ConstraintError) Unwrap() error { return e.Err }

// validating is what hubs implement that have inbound values validated.
type validating interface {
	Validates(name string) bool
}

// validatorFor returns how values of an event, or requests of a call, are judged before
// the handlers of a hub get them; nil = not at all.
func validatorFor[T any](hub Hub, name string) func(v *T) error {
	if _, ok := any((*T)(nil)).(Validator); !ok {
		return nil
	}
	if h, ok := hub.(validating); !ok || !h.Validates(name) {
		return nil
	}
	return func(v *T) error {
		if err := any(v).(Validator).Validate(); err != nil {
			return Errorf(Invalid, "%w", &ConstraintError{Event: name, Err: err})
		}
		return nil
	}
}
