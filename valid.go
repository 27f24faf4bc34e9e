package nova

// Validated returns the event with the constraints of its schema checked when a
// value is received: [Event.On], [Event.Listen], [Event.All] and
// [Event.DecodeFrame] refuse a value that breaks one with an error of code
// Invalid, which wraps a [*ConstraintError] and the error of Validate. Of an event
// without constraints it returns the event as it is.
//
//	market.ChatEvent.Validated().On(hub, func(ctx context.Context, from *nova.Client, m *market.Chat) error { … })
func (e Event[T]) Validated() Event[T] {
	if _, ok := any((*T)(nil)).(Validator); !ok {
		return e
	}
	decode := e.decode
	e.decode = func(v *T, payload []byte) error {
		if err := decode(v, payload); err != nil {
			return err
		}
		if err := any(v).(Validator).Validate(); err != nil {
			return &ConstraintError{Event: e.event.Name, Err: err}
		}
		return nil
	}
	return e
}
