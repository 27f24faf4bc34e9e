package nova

import (
	"context"
	"fmt"

	"github.com/ignex/nova/wire"
)

// Call describes one typed request and response: its name and codecs. It knows no
// connection and serves hub, client and tests alike. The zero value is of no use.
type Call[Req, Res any] struct {
	call     *wire.Call
	request  codec[Req]
	response codec[Res]
}

// codec is how values of one type travel.
type codec[T any] struct {
	encode func(*T, []byte) ([]byte, error)
	decode func(*T, []byte) error
	check  func(*T) error
}

func codecOf[T any, M Message[T]]() codec[T] {
	return codec[T]{
		encode: func(v *T, dst []byte) ([]byte, error) { return M(v).AppendNova(dst) },
		decode: func(v *T, payload []byte) error { return M(v).UnmarshalNova(payload) },
		check:  func(v *T) error { return M(v).CheckInt64() },
	}
}

// Encoded is a request or response on its way.
type Encoded struct {
	Payload []byte // size-prefixed FlatBuffer
	Unsafe  error  // a *wire.Int64Error when a plain int64 would change in a browser
}

func (c *codec[T]) encoded(v *T, dst []byte) (Encoded, error) {
	if v == nil {
		return Encoded{}, errNil
	}
	payload, err := c.encode(v, dst)
	return Encoded{Payload: payload, Unsafe: c.check(v)}, err
}

// Caller is what calls can be made to: a Conn calls the server, a *Client that
// client. Package client and this one implement it.
type Caller interface {
	// CallFrame sends a request and waits for the response, at most until ctx ends,
	// or 10 s when ctx has no deadline. It keeps nothing of request. The response is
	// the caller's.
	CallFrame(ctx context.Context, call *wire.Call, request Encoded) (response []byte, err error)
}

// CallHandler answers one call. request is valid during the call only; the answer's
// payload is the receiver's.
type CallHandler func(ctx context.Context, from *Client, request []byte) (Encoded, error)

// NewCall makes the descriptor of a schema's call. Generated code calls it; it
// panics when the schema has no call of that name.
func NewCall[Req, Res any, MReq Message[Req], MRes Message[Res]](schema *Schema, name string) Call[Req, Res] {
	for i := range schema.layout.Calls {
		if c := &schema.layout.Calls[i]; c.Name == name {
			return Call[Req, Res]{call: c, request: codecOf[Req, MReq](), response: codecOf[Res, MRes]()}
		}
	}
	panic(fmt.Sprintf("nova: schema %s has no call %q", schema.Name(), name))
}

// Name returns the call's name.
func (c Call[Req, Res]) Name() string { return c.call.Name }

// Info returns the call's tables.
func (c Call[Req, Res]) Info() *wire.Call { return c.call }

// Handle answers the call for clients. Calls run beside each other and beside the
// events of a client, at most 16 of one client at a time; ctx ends with the caller's
// deadline (10 s when it names none), when the caller gives up, and when its
// connection is lost. The caller gets the code and message of an *Error; any other
// error, and a panic, is Internal to it and logged here. A call has one handler. off
// ends it. Errors carry a Code: Invalid (the hub does not have the call),
// AlreadyExists.
func (c Call[Req, Res]) Handle(hub Hub, fn func(ctx context.Context, from *Client, request *Req) (*Res, error)) (off func(), err error) {
	validate := validatorFor[Req](hub, c.call.Name)
	return hub.HandleCall(c.call, func(ctx context.Context, from *Client, payload []byte) (Encoded, error) {
		return c.answer(payload, func(request *Req) (*Res, error) {
			if validate != nil {
				if err := validate(request); err != nil {
					return nil, err
				}
			}
			return fn(ctx, from, request)
		})
	})
}

// On answers the call when the server makes it to this connection, as Handle does
// on the other side.
func (c Call[Req, Res]) On(conn Conn, fn func(ctx context.Context, request *Req) (*Res, error)) (off func(), err error) {
	return conn.AnswerCall(c.call, func(ctx context.Context, _ *Client, payload []byte) (Encoded, error) {
		return c.answer(payload, func(request *Req) (*Res, error) { return fn(ctx, request) })
	})
}

func (c *Call[Req, Res]) answer(payload []byte, fn func(*Req) (*Res, error)) (Encoded, error) {
	request := new(Req)
	if err := c.request.decode(request, payload); err != nil {
		return Encoded{}, Errorf(Invalid, "the request of call %s does not decode: %w", c.call.Name, err)
	}
	response, err := fn(request)
	if err != nil {
		return Encoded{}, err
	}
	out, err := c.response.encoded(response, nil)
	if err != nil {
		return Encoded{}, fmt.Errorf("response of call %s: %w", c.call.Name, err)
	}
	return out, nil
}

// Do makes the call and waits for the response, until ctx ends, or 10 s when it has
// no deadline. When ctx ends first the other side is told, and its handler's context
// ends. Errors carry a Code: that of the handler; Invalid (the request does not
// encode); Unimplemented (nobody handles it there, or the other side knows no
// calls); Exhausted (too much waits to be sent, or too many calls run); Unavailable
// (no connection: it was certainly not handled); UnknownOutcome (the connection was
// lost before the answer); or that of ctx.
func (c Call[Req, Res]) Do(ctx context.Context, to Caller, request *Req) (*Res, error) {
	buf := scratch.Get().(*[]byte)
	in, err := c.request.encoded(request, (*buf)[:0])
	if err != nil {
		return nil, Errorf(Invalid, "request of call %s: %w", c.call.Name, err)
	}
	payload, err := to.CallFrame(ctx, c.call, in)
	release(in.Payload, buf)
	if err != nil {
		return nil, err
	}
	response := new(Res)
	if err := c.response.decode(response, payload); err != nil {
		return nil, Errorf(Internal, "the response of call %s does not decode: %w", c.call.Name, err)
	}
	return response, nil
}
