package server

import (
	"context"
	"log/slog"
	"strconv"
)

// logEnd tells of the end of a connection: of one whose client broke a rule always,
// as far as sparse lets it, of others when details are asked for.
func (c *conn) logEnd(code int) {
	logger := c.server.options.Logger
	level, message := slog.LevelDebug, "connection closed"
	switch code {
	case 1002, 1003, 1008, 1009:
		if !c.byClient.Load() {
			level, message = slog.LevelWarn, "connection closed for a violation"
		}
	}
	if !logger.Enabled(context.Background(), level) {
		return
	}
	s := c.session()
	args := []any{"client", s.ID(), "user", s.User(), "ip", c.RemoteIP(), "code", code}
	if level == slog.LevelDebug {
		logger.Debug(message, append(args, "by_client", c.byClient.Load())...)
		return
	}
	c.server.sparse.Write(logger, level, message, strconv.Itoa(code), args...)
}
