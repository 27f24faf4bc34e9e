package nova

import (
	"context"
	"fmt"
	"sync/atomic"
)

// Respond answers the base protocol's call of this event, which has the same event
// both ways, as Call.Handle does for calls. The caller gets the message of an
// *Error. It does not allow clients to send the event. off ends it. Errors carry a
// Code: Invalid (the hub does not have the event), AlreadyExists.
func (e Event[T]) Respond(hub Hub, fn func(ctx context.Context, from *Client, v *T) (*T, error)) (off func(), err error) {
	validate := validatorFor[T](hub, e.event.Name)
	return hub.HandleRequest(e.event, func(ctx context.Context, from *Client, payload []byte) (Encoded, error) {
		v, err := e.decodePayload(payload)
		if err == nil && validate != nil {
			err = validate(v)
		}
		if err != nil {
			return Encoded{}, err
		}
		answer, err := fn(ctx, from, v)
		if err != nil {
			return Encoded{}, err
		}
		if answer == nil {
			return Encoded{}, fmt.Errorf("answer to %s: %w", e.event.Name, errNil)
		}
		out, err := e.encode(answer, nil)
		return Encoded{Payload: out, Unsafe: e.check(answer)}, err
	})
}

// Request makes the base protocol's call of this event and waits for the answer,
// until ctx ends, or 10 s when it has no deadline. It works with every server of the
// base protocol; the other side is not told when ctx ends. Errors carry a Code:
// Unknown (the server's, which has a text alone), Invalid, Exhausted, Unavailable,
// UnknownOutcome, or that of ctx.
func (e Event[T]) Request(ctx context.Context, conn Conn, v *T) (*T, error) {
	frame, buf, err := e.borrow(v)
	if err != nil {
		return nil, err
	}
	payload, err := conn.RequestFrame(ctx, e.event, frame)
	release(frame, buf)
	if err != nil {
		return nil, err
	}
	return e.decodePayload(payload)
}

// Once handles the event the next time a client sends it, which others have to
// allow: it does not. An event that does not decode does not count. off ends it. It
// panics when the hub does not know the event's schema.
func (e Event[T]) Once(hub Hub, fn func(ctx context.Context, from *Client, v *T) error) (off func()) {
	var done atomic.Bool
	var end atomic.Pointer[func()]
	off, err := hub.WatchFrame(e.event, func(ctx context.Context, from *Client, payload []byte) error {
		v, err := e.decodePayload(payload)
		if err != nil || done.Swap(true) {
			return err
		}
		if off := end.Load(); off != nil {
			(*off)()
		}
		return fn(ctx, from, v)
	})
	if err != nil {
		panic(err)
	}
	end.Store(&off)
	if done.Load() { // it came before
		off()
	}
	return off
}
