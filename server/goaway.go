package server

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/session"
	"github.com/ignex/nova/wire/control"
)

// Of a shutdown: how far apart connections close, for how long at most, and over
// which time clients come back.
const (
	closeApart  = time.Millisecond
	closeWithin = 5 * time.Second
	comeBack    = 2 * time.Second
)

// goaway encodes the word that the server is going, or full.
func goaway(reason string, after time.Duration) []byte {
	m := control.Goaway{Reason: reason, RetryAfterMs: after.Milliseconds()}
	frame, err := m.AppendFrame(nil)
	if err != nil {
		panic(err) // a short text always fits
	}
	return ws.AppendFrame(nil, ws.Binary, frame)
}

// sendAway tells all clients with session/1 when to come back, each at another
// time, then closes all connections one by one, so that they do not arrive
// elsewhere at once.
func (s *Server) sendAway(ctx context.Context) {
	conns := s.list()
	for _, c := range conns {
		if c.Caps()&hub.CapSession != 0 {
			after := time.Duration(rand.Int64N(int64(comeBack)))
			c.session().Ahead(&c.cursor, session.Plain, goaway("service restart", after))
			c.Flush()
		}
	}
	apart := min(closeApart, closeWithin/time.Duration(max(len(conns), 1)))
	if deadline, ok := ctx.Deadline(); ok {
		apart = min(apart, time.Until(deadline)/2/time.Duration(max(len(conns), 1)))
	}
	tick := time.NewTicker(max(apart, time.Microsecond))
	defer tick.Stop()
	for i, c := range conns {
		if i > 0 {
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
		c.Close(1012, "service restart")
	}
}
