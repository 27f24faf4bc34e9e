package nova

// Validated returns the event with the constraints of its schema checked when a
// value is received: [Event.On], [Event.Listen], [Event.All] and
// [Event.DecodeFrame] refuse a value that breaks one with an error of code
// Invalid, which wraps a *wire.ValidationError with the place. Of an event
// without constraints it returns the event as it is.
//
//	market.ChatEvent.Validated().On(hub, func(ctx context.Context, from *nova.Client, m *market.Chat) error { … })
func (e Event[T]) Validated() Event[T] {
	if _, ok := any(new(T)).(validator); !ok {
		return e
	}
	decode := e.decode
	e.decode = func(v *T, payload []byte) error {
		if err := decode(v, payload); err != nil {
			return err
		}
		return any(v).(validator).Validate()
	}
	return e
}

// validator is what generated types of a schema with constraints are.
type validator interface{ Validate() error }
