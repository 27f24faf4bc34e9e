package server

import (
	"context"
	"log/slog"
	"strconv"
	"sync"
	"time"
)

// sparse is a log for what strangers can cause as often as they like: of each
// message at most one line a second, which says how many were left out before it.
type sparse struct {
	mu    sync.Mutex
	lines map[string]*sparseLine
}

type sparseLine struct {
	last time.Time
	more int
}

// maxSparse bounds the messages that are told apart: beyond, those that are new share
// one line.
const maxSparse = 64

// sparseEvery is the least time between two lines of one message.
const sparseEvery = time.Second

// log writes the line, or counts it. kind tells lines of one message apart; there
// must be few.
func (s *sparse) log(to *slog.Logger, level slog.Level, message, kind string, args ...any) {
	ctx := context.Background()
	if !to.Enabled(ctx, level) {
		return
	}
	more, due := s.due(message + kind)
	if due {
		to.Log(ctx, level, message, append(args, "more", more)...)
	}
}

func (s *sparse) due(key string) (more int, due bool) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lines[key]
	if l == nil && len(s.lines) >= maxSparse {
		key = "" // no message's
		l = s.lines[key]
	}
	if l == nil {
		if s.lines == nil {
			s.lines = map[string]*sparseLine{}
		}
		l = &sparseLine{}
		s.lines[key] = l
	} else if now.Sub(l.last) < sparseEvery {
		l.more++
		return 0, false
	}
	more, l.last, l.more = l.more, now, 0
	return more, true
}

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
	c.server.sparse.log(logger, level, message, strconv.Itoa(code), args...)
}
