package nova

import (
	"fmt"

	"github.com/ignex/nova/wire"
)

// Call describes one typed request and response.
type Call[Req, Res any] struct {
	call *wire.Call
}

// NewCall makes the descriptor of a schema's call. Generated code calls it; it
// panics when the schema has no call of that name.
func NewCall[Req, Res any, MReq Message[Req], MRes Message[Res]](schema *Schema, name string) Call[Req, Res] {
	for i := range schema.layout.Calls {
		if c := &schema.layout.Calls[i]; c.Name == name {
			return Call[Req, Res]{call: c}
		}
	}
	panic(fmt.Sprintf("nova: schema %s has no call %q", schema.Name(), name))
}

// Name returns the call's name.
func (c Call[Req, Res]) Name() string { return c.call.Name }
