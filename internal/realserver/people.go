package realserver

import (
	"context"
	"encoding/json"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/server"
)

// people lets clients in by tokens that are JSON: {"user": NAME, "ttl": MILLISECONDS},
// of which a ttl of 0 is for ever and a negative one has expired.
func people(_ context.Context, c server.Credentials) (server.Identity, error) {
	var say struct {
		User string
		TTL  int64
	}
	if err := json.Unmarshal([]byte(c.Token), &say); err != nil {
		return server.Identity{}, nova.Errorf(nova.Unauthenticated, "not a token of ours")
	}
	id := server.Identity{UserID: say.User}
	if say.TTL != 0 {
		id.ExpiresAt = time.Now().Add(time.Duration(say.TTL) * time.Millisecond)
	}
	return id, nil
}
