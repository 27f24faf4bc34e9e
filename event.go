package nova

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/ignex/nova/wire"
)

// Message is what generated types implement on their pointer.
type Message[T any] interface {
	*T
	// AppendNova appends the size-prefixed FlatBuffer of the value.
	AppendNova(dst []byte) ([]byte, error)
	// UnmarshalNova verifies and reads a size-prefixed FlatBuffer.
	UnmarshalNova(payload []byte) error
	// CheckInt64 returns a *wire.Int64Error for the first plain int64 that a
	// browser cannot hold exactly.
	CheckInt64() error
}

// Event describes one event: its name, id and codec. It knows no connection and
// serves hub, client and tests alike. The zero value is of no use.
type Event[T any] struct {
	event *wire.Event
	codec[T]
}

// NewEvent makes the descriptor of a schema's event. Generated code calls it; it
// panics when the schema has no event of that name.
func NewEvent[T any, M Message[T]](schema *Schema, name string) Event[T] {
	event := schema.layout.EventByName(name)
	if event == nil {
		panic(fmt.Sprintf("nova: schema %s has no event %q", schema.Name(), name))
	}
	return Event[T]{event: event, codec: codecOf[T, M]()}
}

// Name returns the event's name.
func (e Event[T]) Name() string { return e.event.Name }

// ID returns the event's id on the wire.
func (e Event[T]) ID() uint32 { return e.event.ID }

// Info returns the event's options.
func (e Event[T]) Info() *wire.Event { return e.event }

// errNil is what a publish of nothing fails with.
var errNil = errors.New("the value is nil")

// AppendFrame appends the unnumbered frame of v: envelope and payload. It fails
// when v is nil or too big for one frame.
func (e Event[T]) AppendFrame(dst []byte, v *T) ([]byte, error) {
	if v == nil {
		return dst, errNil
	}
	return e.encode(v, wire.AppendHeader(dst, e.event.ID))
}

// DecodeFrame reads a whole frame of this event. A frame of another event is an
// error with code Invalid.
func (e Event[T]) DecodeFrame(frame []byte) (*T, error) {
	h, payload, err := wire.ParseFrame(frame)
	if err != nil {
		return nil, Errorf(Invalid, "%s: %w", e.event.Name, err)
	}
	if h.ID != e.event.ID {
		return nil, Errorf(Invalid, "frame has event id %#x, not %#x (%s)", h.ID, e.event.ID, e.event.Name)
	}
	return e.decodePayload(payload)
}

func (e Event[T]) decodePayload(payload []byte) (*T, error) {
	v := new(T)
	err := e.decode(v, payload)
	if err == nil {
		return v, nil
	}
	if _, broken := errors.AsType[*ConstraintError](err); broken { // it names the event
		return nil, Errorf(Invalid, "%w", err)
	}
	return nil, Errorf(Invalid, "%s: %w", e.event.Name, err)
}

// scratch lends encode buffers: hubs and clients copy what they keep.
var scratch = sync.Pool{New: func() any { b := make([]byte, 0, 1024); return &b }}

// maxScratch is the capacity above which a buffer is left to the collector.
const maxScratch = 1 << 20

// borrow encodes v into a buffer that release takes back.
func (e Event[T]) borrow(v *T) (frame []byte, buf *[]byte, err error) {
	buf = scratch.Get().(*[]byte)
	frame, err = e.AppendFrame((*buf)[:0], v)
	if err != nil {
		err = Errorf(Invalid, "%s: %w", e.event.Name, err)
	}
	return frame, buf, err
}

func release(frame []byte, buf *[]byte) {
	if cap(frame) <= maxScratch {
		*buf = frame[:0]
		scratch.Put(buf)
	}
}

// PublishOption changes one publish.
type PublishOption func(*publishOptions)

type publishOptions struct {
	result              *Result
	durable, space, try bool
}

// Report stores what the publish reached in result.
func Report(result *Result) PublishOption {
	return func(o *publishOptions) { o.result = result }
}

// Durable makes a publish to a topic with a log return once the log has the event,
// synced: then the offset is known, and the event survives the process. An error
// with the code of ctx says that this is not known yet; Unavailable that the log
// does not have it. Other targets are not affected.
func Durable() PublishOption {
	return func(o *publishOptions) { o.durable = true }
}

// WaitForSpace makes a publish to one client or one user wait, within ctx, until the
// event fits into the queue of each of its sessions: for a transfer that has to be whole,
// at the speed of its receiver. A session without a socket takes nothing out of its
// queue. Errors carry the code of ctx, or Invalid for other targets.
func WaitForSpace() PublishOption {
	return func(o *publishOptions) { o.space = true }
}

// TryPublish is Publish that waits for nothing: it returns an error with code Exhausted
// when there is no room for the event at once.
func (e Event[T]) TryPublish(ctx context.Context, hub Hub, to Target, v *T, options ...PublishOption) error {
	return e.Publish(ctx, hub, to, v, append(slices.Clip(options), func(o *publishOptions) { o.try = true })...)
}

// Publish encodes v once and hands it to everyone the target names. A nil hub
// means the one in ctx, else the default. It returns once the event is accepted.
// Errors carry a Code: Invalid, Exhausted, FailedPrecondition, or that of ctx.
func (e Event[T]) Publish(ctx context.Context, hub Hub, to Target, v *T, options ...PublishOption) error {
	hub, err := hubFor(ctx, hub)
	if err != nil {
		return err
	}
	var report *Result
	p := Publication{Event: e.event, Target: to}
	if len(options) > 0 {
		var o publishOptions // on the heap: options are functions
		for _, option := range options {
			option(&o)
		}
		report, p.Durable, p.WaitForSpace, p.Try = o.result, o.durable, o.space, o.try
	}
	frame, buf, err := e.borrow(v)
	if err == nil {
		p.Frame = frame
		p.Unsafe = e.check(v)
		var result Result
		result, err = hub.PublishFrame(ctx, p)
		if report != nil {
			*report = result
		}
	}
	release(frame, buf)
	return err
}

// On handles the event when a client sends it, and thereby allows clients to
// send it. Events of one client are handled in order, one at a time; an error or
// panic of fn is counted and logged, and told to nobody else. off ends it.
// It panics when the hub does not know the event's schema.
func (e Event[T]) On(hub Hub, fn func(ctx context.Context, from *Client, v *T) error) (off func()) {
	validate := validatorFor[T](hub, e.event.Name)
	off, err := hub.HandleFrame(e.event, func(ctx context.Context, from *Client, payload []byte) error {
		v, err := e.decodePayload(payload)
		if err == nil && validate != nil {
			err = validate(v)
		}
		if err != nil {
			return err
		}
		return fn(ctx, from, v)
	})
	if err != nil {
		panic(err)
	}
	return off
}

// Send sends v to the server. Errors carry a Code: Invalid, Exhausted (send
// queue full), Unavailable (closed), or that of ctx.
func (e Event[T]) Send(ctx context.Context, conn Conn, v *T) error {
	frame, buf, err := e.borrow(v)
	if err == nil {
		err = conn.SendFrame(ctx, e.event, frame)
	}
	release(frame, buf)
	return err
}

// Listen calls fn for each event the connection receives, in order, whatever
// target it was published to. off ends it.
func (e Event[T]) Listen(conn Conn, fn func(ctx context.Context, v *T) error) (off func()) {
	return conn.ListenFrame(e.event, func(ctx context.Context, d Delivery) error {
		v, err := e.decodePayload(d.Payload)
		if err != nil {
			return err
		}
		return fn(ctx, v)
	})
}

// All iterates over the events that a subscription receives until ctx ends, the
// subscription is closed, or the loop breaks. It listens from the first iteration on;
// the first of a subscription also yields what came since that began. An undecodable
// event, and the end of a subscription that fell behind, are yielded as errors.
func (e Event[T]) All(ctx context.Context, sub Subscription) iter.Seq2[*T, error] {
	frames := sub.Frames(ctx, e.event)
	return func(yield func(*T, error) bool) {
		for d, err := range frames {
			var v *T
			if err == nil {
				v, err = e.decodePayload(d.Payload)
			}
			if !yield(v, err) {
				return
			}
		}
	}
}
