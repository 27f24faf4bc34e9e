// Package before uses what is not generated yet.
package before

import (
	"context"

	"github.com/ignex/nova"
)

// Tick tells the time.
//
//nova:event tick
type Tick struct {
	N int `json:"n"`
}

// Send uses the descriptor.
func Send(ctx context.Context, hub nova.Hub) error {
	return TickEvent.Publish(ctx, hub, nova.Broadcast(), &Tick{N: 1})
}
