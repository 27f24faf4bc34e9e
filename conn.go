package nova

import (
	"context"
	"iter"

	"github.com/ignex/nova/wire"
)

// Conn is what descriptors need of a client connection. Package client
// implements it.
type Conn interface {
	// SendFrame queues one unnumbered frame for the server. It does not keep
	// frame. Errors carry a Code: Exhausted (queue full), Unavailable (closed).
	SendFrame(ctx context.Context, event *wire.Event, frame []byte) error
	// ListenFrame registers fn for an event. Frames of one connection are
	// handled in order, one at a time.
	ListenFrame(event *wire.Event, fn func(ctx context.Context, d Delivery) error) (off func())
	// A Conn calls the server.
	Caller
	// AnswerCall registers fn for a call that the server makes; its from is nil.
	// Errors carry a Code: Invalid, AlreadyExists (the call has a handler).
	AnswerCall(call *wire.Call, fn CallHandler) (off func(), err error)
	// RequestFrame makes the base protocol's call: it sends the unnumbered frame of
	// an event and waits for the payload of the answer's, within ctx or 10 s.
	RequestFrame(ctx context.Context, event *wire.Event, frame []byte) (payload []byte, err error)
}

// Subscription is a client's interest in one topic.
type Subscription interface {
	Topic() string
	// Frames yields the event's frames until ctx ends, the subscription is
	// closed, or the consumer falls too far behind, which is its last error.
	// It listens from the first iteration on; the first of a subscription also
	// yields what came since that began.
	Frames(ctx context.Context, event *wire.Event) iter.Seq2[Delivery, error]
}

// Delivery is one frame as a client received it.
type Delivery struct {
	Event   *wire.Event // nil when the schema does not know the id
	Topic   string      // "" when the server does not say
	Offset  uint64      // position in the topic, 0 when the server does not say
	Seq     uint64      // delivery number, 0 when the frame is not numbered
	Payload []byte      // size-prefixed FlatBuffer, valid until the handler returns
}
