package server

import (
	"context"
	"log/slog"
	"time"

	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/session"
)

// sweep is the one timer of all connections: it keeps the coarse clock, pings
// those that are silent and ends those that are dead or stalled.
func (s *Server) sweep(ctx context.Context) {
	every := time.Second
	for _, d := range []time.Duration{s.options.Heartbeat / 4, s.options.WriteStall / 4, s.options.ExpiryGrace / 4} {
		if d > 0 {
			every = min(every, d)
		}
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	var ping = ws.AppendFrame(nil, ws.Ping, nil)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.tick.Store(s.now())
			clock := s.options.Clock().UnixMilli()
			for _, c := range s.list() {
				c.check(s.tick.Load(), ping)
				c.checkExpiry(clock)
			}
			s.limits.sweep()
		}
	}
}

// check looks at one connection.
func (c *conn) check(now int64, ping []byte) {
	o := &c.server.options
	if c.flushing.Load() > 0 && now-c.progress.Load() > o.WriteStall.Milliseconds() {
		if !c.closing.Swap(true) {
			c.code.Store(1013)
			c.server.metrics.closed(1013) // cannot be told: the socket takes nothing
			c.server.sparse.Write(o.Logger, slog.LevelWarn, "stalled connection cut off", "", "client", c.session().ID(), "ip", c.RemoteIP())
		}
		c.cut()
		return
	}
	if c.Caps()&hub.CapSession != 0 && !c.closing.Load() && c.session().AckDue() {
		c.Flush()
	}
	if o.Heartbeat <= 0 || c.closing.Load() || c.paused.Load() {
		return // a connection that is not read is not declared dead
	}
	silent := now - c.seen.Load()
	beat := o.Heartbeat.Milliseconds()
	// One step at a time: after a pause of the whole process everybody seems silent for
	// long, and what they sent meanwhile has yet to be read.
	switch due := min(silent/beat, int64(c.missed)+1); {
	case due == 0:
		c.missed = 0
	case due >= 3:
		if !c.closing.Swap(true) {
			c.server.metrics.closed(1006)
		}
		c.cut()
	case due > int64(c.missed):
		c.missed = uint8(due)
		c.session().Ahead(&c.cursor, session.Plain, ping)
		c.Flush()
	}
}
