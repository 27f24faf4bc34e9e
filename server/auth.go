package server

import (
	"context"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/session"
	"github.com/ignex/nova/wire"
	"github.com/ignex/nova/wire/control"
)

// This file is auth/1: tokens that come by frame. The hooks run on the goroutine that
// reads, so that what a client sends behind its token is judged with it.

// maxFailures is how often in a row a connection may bring a token that is refused.
const maxFailures = 5

// waits reports whether the connection has to authenticate first.
func (c *conn) waits() bool { return c.entry != nil && c.entry.waiting.Load() }

// lateTimer closes a connection that does not authenticate.
func (c *conn) lateTimer() *time.Timer {
	return time.AfterFunc(c.server.options.LateAuth, func() {
		if c.waits() {
			c.Close(4401, "not authenticated in time")
		}
	})
}

// lobby takes the frames of a connection that has not authenticated: a hello, which
// is kept, pings, and the token.
func (c *conn) lobby(head wire.Header, payload []byte) error {
	e := c.entry
	switch head.ID {
	case control.HelloID:
		return decode(c, payload, func(m *control.Hello) error {
			switch {
			case m.Version != wire.Version:
				return &ws.CloseError{Code: 1002, Reason: "wire version mismatch"}
			case !c.takesAuth(m.Caps):
				return &ws.CloseError{Code: 4401, Reason: "not authenticated"}
			case e.hello == nil:
				e.hello = m
			}
			return nil
		})
	case control.PingID:
		return decode(c, payload, c.ping)
	case control.AuthID:
		if e.hello == nil {
			return &ws.CloseError{Code: 1002, Reason: "no hello"}
		}
		return c.enter(payload)
	}
	return &ws.CloseError{Code: 4401, Reason: "not authenticated"}
}

// enter takes the first token of a connection: what a refused upgrade would have been
// told ends it.
func (c *conn) enter(payload []byte) error {
	m, identity, err := c.authenticate(payload, nil)
	if m == nil {
		return err
	}
	if err == nil {
		err = c.become(identity)
	}
	if err != nil {
		return c.refuseToken(m, err)
	}
	e := c.entry
	left := e.authenticated(c.server, identity)
	c.server.places.in(e)
	c.stopTimer()
	e.waiting.Store(false)
	c.timer = c.admissionTimer()
	c.tellAuthed(m.ID, left)
	hello := e.hello
	e.hello = nil
	return c.greeted(hello)
}

// renew takes a newer token. One that is merely no good leaves things as they are,
// until the present one has expired, and so does one over the rate limit.
func (c *conn) renew(payload []byte, over bool) error {
	if over {
		return c.tooEarly(control.AuthID, payload)
	}
	current := c.entry.identity
	current.UserID = c.session().User() // which the application may have changed
	m, identity, err := c.authenticate(payload, &current)
	if m == nil {
		return err
	}
	if err == nil {
		err = c.change(identity)
	}
	e := c.entry
	if err == nil {
		e.failures = 0
		c.tellAuthed(m.ID, e.authenticated(c.server, identity))
		return nil
	}
	if e.failures++; codeOf(err) == nova.Denied || e.failures >= maxFailures {
		return c.refuseToken(m, err)
	}
	c.tell(&control.Authed{ID: m.ID, Code: int64(codeOf(err)), Message: refusalOf(err, m.Token).text})
	return nil
}

// tooEarly drops a frame over the rate limit of a connection that authenticates; who
// sends a token is told to send it again.
func (c *conn) tooEarly(id uint32, payload []byte) error {
	var m control.Auth
	if id == control.AuthID && m.UnmarshalNova(payload) == nil {
		c.tell(&control.Authed{ID: m.ID, Code: int64(nova.Exhausted), Message: "too many messages"})
	}
	return nil
}

// authenticate asks the hooks about the token of a nova.auth; nil when it has none.
func (c *conn) authenticate(payload []byte, current *Identity) (*control.Auth, Identity, error) {
	m := new(control.Auth)
	if m.UnmarshalNova(payload) != nil {
		c.session().Undecodable(hub.DamageControl)
		return nil, Identity{}, nil
	}
	c.server.metrics.control.Add(1)
	c.paused.Store(true)
	defer func() {
		c.paused.Store(false)
		c.seen.Store(c.server.tick.Load())
	}()
	identity, err := c.server.identify(context.Background(), Credentials{Request: c.entry.request, Token: m.Token, Current: current})
	return m, identity, err
}

// change makes identity that of a connection that has one.
func (c *conn) change(identity Identity) error {
	if c.phase.Load() != admitted {
		if user := c.session().User(); user != "" && user != identity.UserID {
			return errOtherUser
		}
		return c.become(identity)
	}
	s := c.server
	if _, no := s.places.seat(&s.options, c.entry, identity.UserID, nil, false); no != nil {
		return no
	}
	c.paused.Store(true) // hooks about groups and topics may be slow
	defer c.paused.Store(false)
	return c.session().Renew(s.hooks, &c.cursor, identity)
}

var errOtherUser = nova.Errorf(nova.Denied, "the user of a connection cannot change")

// become makes identity that of a connection that is not admitted.
func (c *conn) become(identity Identity) error {
	if id := identity.ClientID; id != "" && id != c.entry.pinned {
		if c.entry.pinned != "" {
			return nova.Errorf(nova.Denied, "the client id of a connection cannot change")
		}
		if !c.server.claim(id) {
			return refuseDuplicate
		}
		c.entry.pinned = id
	}
	if err := c.session().Identify(c.server.hooks, identity); err != nil {
		return err
	}
	c.session().Ahead(&c.cursor, session.Plain, welcome(c.session()))
	return nil
}

// refuseToken tells what became of a token, and closes.
func (c *conn) refuseToken(m *control.Auth, err error) error {
	no := refusalOf(err, m.Token)
	c.tell(&control.Authed{ID: m.ID, Code: int64(codeOf(err)), Message: no.text})
	if no.code == 1013 {
		c.server.hub.NoteRefusal()
		c.session().Ahead(&c.cursor, session.Plain, goaway(no.text, refuseRetry))
	}
	return &ws.CloseError{Code: no.code, Reason: no.text}
}

// tellAuthed says that a token was accepted.
func (c *conn) tellAuthed(id int64, left time.Duration) {
	c.tell(&control.Authed{ID: id, ExpiresInMs: left.Milliseconds()})
}

func (c *conn) tell(m *control.Authed) {
	c.session().Ahead(&c.cursor, session.Plain, encode(m))
	c.Flush()
}

// tellExpiry tells a client with auth/1 how long the token of its upgrade holds.
func (c *conn) tellExpiry(caps []string) {
	if !c.takesAuth(caps) {
		c.entry.request = nil // there will be no renewal
		return
	}
	if left := c.entry.left(c.server); left > 0 {
		c.tellAuthed(0, left)
	}
}

// takesAuth notes whether auth/1 is on.
func (c *conn) takesAuth(caps []string) bool {
	if c.entry == nil || !c.server.options.authenticates() {
		return false
	}
	for _, name := range caps {
		c.entry.inBand = c.entry.inBand || name == capAuth
	}
	return c.entry.inBand
}

// checkExpiry closes a connection whose authentication has expired; the sweeper's.
func (c *conn) checkExpiry(clock int64) {
	if c.entry == nil || c.closing.Load() {
		return
	}
	if at := c.entry.expires.Load(); at != nil && at.over(clock, c.server.tick.Load(), c.server.options.ExpiryGrace) {
		c.Close(4401, "token expired")
	}
}
