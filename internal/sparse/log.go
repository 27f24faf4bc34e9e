// Package sparse is a log for what strangers can cause as often as they like.
package sparse

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Log writes of each message at most one line a second, which says how many were left
// out before it. The zero value is ready, for any number of goroutines.
type Log struct {
	mu    sync.Mutex
	lines map[string]*line
}

type line struct {
	last time.Time
	more int
}

// most bounds the messages that are told apart: beyond, those that are new share one
// line.
const most = 64

// every is the least time between two lines of one message.
const every = time.Second

// Write writes the line, or counts it. kind tells lines of one message apart; there
// must be few.
func (s *Log) Write(to *slog.Logger, level slog.Level, message, kind string, args ...any) {
	ctx := context.Background()
	if !to.Enabled(ctx, level) {
		return
	}
	more, due := s.due(message + kind)
	if due {
		to.Log(ctx, level, message, append(args, "more", more)...)
	}
}

func (s *Log) due(key string) (more int, due bool) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lines[key]
	if l == nil && len(s.lines) >= most {
		key = "" // no message's
		l = s.lines[key]
	}
	if l == nil {
		if s.lines == nil {
			s.lines = map[string]*line{}
		}
		l = &line{}
		s.lines[key] = l
	} else if now.Sub(l.last) < every {
		l.more++
		return 0, false
	}
	more, l.last, l.more = l.more, now, 0
	return more, true
}
