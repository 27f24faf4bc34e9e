package server

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/session"
	"github.com/ignex/nova/wire/control"
)

// Of a shutdown: how far apart connections close, for how long at most, and over
// which time, at least, clients come back.
const (
	closeApart  = time.Millisecond
	closeWithin = 5 * time.Second
	comeBack    = 2 * time.Second
)

// goaway encodes the word that the server is going, or full.
func goaway(reason string, after time.Duration) []byte {
	return encode(&control.Goaway{Reason: reason, RetryAfterMs: after.Milliseconds()})
}

// comeBackWithin is the time over which n clients are asked to come back: what a
// server like this one takes to let them in, as far as their sessions last.
func (s *Server) comeBackWithin(n int) time.Duration {
	within := comeBack
	if rate := s.options.AcceptRate; rate > 0 {
		seconds := 1.25 * float64(n) / rate // some try a second time
		within = max(within, time.Duration(min(seconds, 600)*float64(time.Second)))
	}
	if ttl := s.hub.SessionTTL(); ttl > 0 {
		within = min(within, ttl/2)
	}
	return max(within, time.Millisecond)
}

// sendAway tells all clients with session/1 when to come back, each at another
// time, then closes all connections one by one, so that they do not arrive
// elsewhere at once.
func (s *Server) sendAway(ctx context.Context) {
	conns := s.list()
	within := s.comeBackWithin(len(conns))
	for _, c := range conns {
		if c.Caps()&hub.CapSession != 0 {
			after := rand.N(within)
			c.session().Ahead(&c.cursor, session.Plain, goaway("service restart", after))
			c.Flush()
		}
	}
	window := closeWithin
	if ttl := s.hub.SessionTTL(); ttl > 0 {
		window = min(window, ttl/2)
	}
	if deadline, ok := ctx.Deadline(); ok {
		window = min(window, time.Until(deadline)/2)
	}
	tick := time.NewTicker(max(min(closeApart, window/time.Duration(max(len(conns), 1))), time.Microsecond))
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
