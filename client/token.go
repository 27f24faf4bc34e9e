package client

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/wire/control"
)

const (
	capAuth = "auth/1"

	// leastRenewal is the least time between two renewals, so that a server that gives
	// tokens of no length is not asked again and again.
	leastRenewal = time.Second
)

// bearer is the token of a Conn and until when it is good, as far as a server said.
// Conn.mu guards it.
type bearer struct {
	token string
	until time.Time // zero = nobody said
}

// needsToken reports whether an attempt needs a token that there is not.
func (c *Conn) needsToken() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := &c.bearer
	return c.options.Token != nil && (b.token == "" || !b.until.IsZero() && !time.Now().Before(b.until))
}

// refreshToken asks the token function.
func (c *Conn) refreshToken(ctx context.Context) (string, error) {
	token, err := c.fetchToken(ctx)
	if err != nil {
		token = ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bearer = bearer{token: token}
	return token, err
}

func (c *Conn) fetchToken(ctx context.Context) (token string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("token function panicked: %v", p)
		}
	}()
	return c.options.Token(ctx)
}

// sendToken sends the token by frame, in front of everything else.
func (s *socket) sendToken(caps []string) error {
	c := s.c
	if !c.options.TokenInBand || c.options.Token == nil {
		return nil
	}
	if !slices.Contains(caps, capAuth) {
		return fmt.Errorf("the server takes no tokens in band (Options.TokenInBand): %w",
			&ws.CloseError{Code: ws.CodeProtocol, Reason: "no auth/1"})
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue.ahead(encode(&control.Auth{ID: s.nextAuth(), Token: c.bearer.token}))
	return nil
}

func (s *socket) nextAuth() int64 {
	s.authID++
	return s.authID
}

// onAuthed takes the server's word about a token.
func (s *socket) onAuthed(m *control.Authed) error {
	c := s.c
	if m.Code != int64(nova.OK) {
		if !s.welcomed.IsZero() { // else the connection ends and says why
			c.report(failure(m.Code, "renew the token: %s", m.Message))
		}
		return nil
	}
	if m.ID != 0 && m.ID != s.authID {
		return nil // of an older token
	}
	s.renewAt = time.Time{}
	until := time.Time{}
	if left := time.Duration(min(max(m.ExpiresInMs, 0), maxExpiry.Milliseconds())) * time.Millisecond; left > 0 {
		until = time.Now().Add(left)
		s.renewAt = time.Now().Add(max(leastRenewal, time.Duration((0.75+0.15*rand.Float64())*float64(left))))
	}
	c.mu.Lock()
	c.bearer.until = until
	c.mu.Unlock()
	return nil
}

// maxExpiry bounds what a server may say, so that no sum of times overflows.
const maxExpiry = 10 * 365 * 24 * time.Hour

// renew fetches a newer token beside the reader and sends it. Until it is accepted the
// next try is due at half of the time that is left, as long as there is some.
func (s *socket) renew(now time.Time) {
	c := s.c
	c.mu.Lock()
	left := c.bearer.until.Sub(now)
	c.mu.Unlock()
	s.renewAt = time.Time{}
	if left > leastRenewal {
		s.renewAt = now.Add(max(leastRenewal, left/2))
	}
	if c.options.Token == nil || !s.fetching.CompareAndSwap(false, true) {
		return
	}
	id := s.nextAuth()
	c.helpers.Go(func() {
		defer s.fetching.Store(false)
		token, err := c.fetchToken(s.ctx)
		if s.ctx.Err() != nil {
			return // the socket it was for is gone: the next attempt asks by itself
		}
		if err != nil {
			c.report(nova.Errorf(nova.Unauthenticated, "renew the token: %w", err))
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.socket == s {
			c.bearer.token = token
			c.queue.ahead(encode(&control.Auth{ID: id, Token: token}))
		}
	})
}
