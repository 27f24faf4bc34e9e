package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/ignex/nova"
)

// authenticates reports whether anything decides who may enter.
func (o *Options) authenticates() bool {
	return o.Authenticate != nil || o.Token != "" || o.CheckToken != nil
}

// identify asks the hooks who a connection is. Its errors carry a Code; what they say
// and what a hook threw is logged, without the token.
func (s *Server) identify(ctx context.Context, c Credentials) (Identity, error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.HandshakeTimeout)
	defer cancel()
	defer context.AfterFunc(s.hooks, cancel)()
	identity, err := s.ask(ctx, c)
	if at := identity.ExpiresAt; err == nil && !at.IsZero() && !at.After(s.options.Clock()) {
		err = nova.Errorf(nova.Unauthenticated, "token expired")
	}
	if err == nil {
		return identity, nil
	}
	level := slog.LevelInfo
	if _, threw := errors.AsType[*hookPanic](err); threw {
		level = slog.LevelError
	}
	code := codeOf(err).String()
	s.sparse.Write(s.options.Logger, level, "connection not authenticated", code+level.String(), "remote", c.Request.RemoteAddr,
		"code", code, "error", redact(err.Error(), c.Token))
	return Identity{}, err
}

// hookPanic is what a hook threw. It denies.
type hookPanic struct{ thrown any }

func (p *hookPanic) Error() string { return fmt.Sprintf("the hook panicked: %v", p.thrown) }

func (s *Server) ask(ctx context.Context, c Credentials) (identity Identity, err error) {
	defer func() {
		if p := recover(); p != nil {
			identity, err = Identity{}, &hookPanic{p}
		}
	}()
	if err := s.checkToken(ctx, c.Token); err != nil || s.options.Authenticate == nil {
		return Identity{}, err
	}
	return s.options.Authenticate(ctx, c)
}

// codeOf is the code of a hook's error as far as it makes a difference:
// Unauthenticated, Denied or Unavailable.
func codeOf(err error) nova.Code {
	if _, threw := errors.AsType[*hookPanic](err); threw {
		return nova.Denied
	}
	if _, full := errors.AsType[*refusal](err); full {
		return nova.Unavailable
	}
	switch nova.CodeOf(err) {
	case nova.Denied:
		return nova.Denied
	case nova.Unavailable, nova.DeadlineExceeded, nova.Cancelled, nova.Exhausted, nova.Internal:
		return nova.Unavailable
	}
	return nova.Unauthenticated
}

// refusalOf is how an upgrade ends that was not authenticated. The words of a coded
// error go to the client, those of others only to the log.
func refusalOf(err error, token string) *refusal {
	if no, ok := errors.AsType[*refusal](err); ok {
		return no
	}
	text := clip(redact(message(err), token))
	switch codeOf(err) {
	case nova.Denied:
		return &refusal{http.StatusForbidden, 4403, cmp.Or(text, "not allowed"), true}
	case nova.Unavailable:
		return &refusal{http.StatusServiceUnavailable, 1013, "authentication is not available", true}
	}
	return &refusal{http.StatusUnauthorized, 4401, cmp.Or(text, "not authenticated"), true}
}

// message returns what a hook wants its client to read, "" = nothing. What fails
// inside the server is no client's business, and neither is what a hook only passes on.
func message(err error) string {
	coded, ok := errors.AsType[*nova.Error](err)
	if !ok || coded.Unwrap() != nil || coded.Code != nova.Denied && coded.Code != nova.Unauthenticated {
		return ""
	}
	return coded.Message
}

// clip makes a text fit into a close frame (RFC 6455, section 5.5).
func clip(text string) string {
	const most = 123
	if len(text) <= most {
		return text
	}
	end := most
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// expiry is when an identity ends: by the clock, and by server ticks, which no change
// of the clock moves. Whichever comes first counts, so that a clock that steps back
// makes nothing last longer, and one that was wrong at the start neither.
type expiry struct {
	clock int64 // unix milliseconds, 0 = never
	tick  int64
}

func (s *Server) expiryOf(identity *Identity) (e expiry, left time.Duration) {
	if identity.ExpiresAt.IsZero() {
		return expiry{}, 0
	}
	left = max(identity.ExpiresAt.Sub(s.options.Clock()), time.Millisecond)
	return expiry{clock: identity.ExpiresAt.UnixMilli(), tick: s.now() + left.Milliseconds()}, left
}

func (e expiry) over(clock, tick int64, grace time.Duration) bool {
	g := grace.Milliseconds()
	return e.clock != 0 && (clock >= e.clock+g || tick >= e.tick+g)
}
