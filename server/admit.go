package server

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/session"
	"github.com/ignex/nova/wire/control"
)

// The phases of the admission.
const (
	fresh     int32 = iota
	attaching       // session/1 is on: nova.attach has to come first
	admitting       // the hub has what it needs; its hooks may be slow
	admitted
)

// admitAfter is when a client that sends nothing is admitted.
const admitAfter = time.Second

// admissionTimer closes a nova client that says no hello, or does not attach, and
// admits others that say nothing. Once they did it is the hub that takes its time.
func (c *conn) admissionTimer() *time.Timer {
	if c.waits() {
		return c.lateTimer()
	}
	if c.nova {
		return c.handshakeTimer()
	}
	return time.AfterFunc(admitAfter, func() { c.admit(0) })
}

func (c *conn) handshakeTimer() *time.Timer {
	return time.AfterFunc(c.server.options.HandshakeTimeout, func() {
		switch c.phase.Load() {
		case fresh:
			c.Close(1002, "no hello")
		case attaching:
			c.Close(1002, "no attach")
		}
	})
}

// awaitAttach turns session/1 on; false when the connection is admitted already.
func (c *conn) awaitAttach(caps hub.Caps) bool {
	c.admission.Lock()
	defer c.admission.Unlock()
	if c.phase.Load() != fresh {
		return false
	}
	c.caps.Store(uint32(caps))
	c.phase.Store(attaching)
	if !c.nova {
		c.stopTimer()
		c.timer = c.handshakeTimer()
	}
	return true
}

// admit opens the session for data, once.
func (c *conn) admit(lastSeq int64) {
	c.admission.Lock()
	defer c.admission.Unlock()
	if c.phase.Load() != fresh {
		return
	}
	heirOf, ok := c.seat("")
	if !ok {
		return
	}
	c.phase.Store(admitting)
	c.paused.Store(true)
	session, err := c.session().Admit(&c.cursor, lastSeq)
	c.opened(session, err)
	c.displace(heirOf)
}

// endAdmission waits for the admission that the timer may have begun, and lets none
// begin: it would take a place that nobody gives back.
func (c *conn) endAdmission() {
	c.admission.Lock()
	defer c.admission.Unlock()
	c.phase.Store(admitted)
}

// attach opens the session of a client with session/1, or gives it back.
func (c *conn) attach(payload []byte) error {
	var m control.Attach
	if err := m.UnmarshalNova(payload); err != nil {
		return &ws.CloseError{Code: 1002, Reason: "attach does not decode"}
	}
	c.server.metrics.control.Add(1)
	c.admission.Lock()
	defer c.admission.Unlock()
	heirOf, ok := c.seat(m.Session)
	if !ok {
		return nil
	}
	c.phase.Store(admitting)
	c.paused.Store(true)
	terms := hub.Terms{Heartbeat: c.server.options.Heartbeat, MaxMessage: c.server.options.MaxMessageSize}
	c.server.limits.tell(&terms)
	session, err := c.session().AttachClient(&c.cursor, &m, terms)
	c.opened(session, err)
	c.displace(heirOf)
	return nil
}

// opened notes the session the connection has from now on.
func (c *conn) opened(session *hub.Session, err error) {
	c.paused.Store(false)
	c.seen.Store(c.server.tick.Load())
	if err == nil {
		c.current.Store(session)
	}
	c.phase.Store(admitted)
	var gone *hub.DisconnectedError
	switch {
	case errors.As(err, &gone):
		c.Close(gone.Code, gone.Reason)
	case errors.Is(err, hub.ErrReplaced):
		c.Close(1000, "replaced by newer session")
	case err != nil:
		c.Close(1012, "service restart")
	default:
		if o := &c.server.options; o.Logger.Enabled(context.Background(), slog.LevelDebug) {
			o.Logger.Debug("client connected", "client", session.ID(), "user", session.User(), "ip", c.RemoteIP(), "session", c.Caps()&hub.CapSession != 0)
		}
		c.Flush()
	}
}

// seat takes the places of the connection, as it is about to be admitted; text is the
// session it asks for. Without them it is turned away. heirOf is the connection whose
// place it has now, nil = it needs none of another.
func (c *conn) seat(text string) (heirOf *conn, ok bool) {
	s := c.server
	if c.entry == nil || c.entry.asks == nil && s.options.MaxConnectionsPerUser <= 0 {
		return nil, true
	}
	held := c.session()
	var old *conn
	var entry *entry
	taken := held.Takes(text)
	if o, here := taken.(*conn); here && o.server == s {
		old, entry = o, o.entry
	}
	heir, no := s.places.seat(&s.options, c.entry, held.User(), entry, taken != nil)
	if no != nil {
		s.hub.NoteRefusal()
		held.Ahead(&c.cursor, session.Plain, goaway(no.text, refuseRetry))
		c.Close(no.code, no.text)
		return nil, false
	}
	if heir {
		heirOf = old
	}
	return heirOf, true
}

// displacedTime is how long a connection may stay whose place another has: mostly its
// network is dead, and nobody answers its close.
const displacedTime = time.Second

// displace sees to it that the connection whose place c has goes. Should it stay, as its
// session changed hands meanwhile, c has to go.
func (c *conn) displace(old *conn) {
	switch {
	case old == nil:
	case old.closing.Load():
		old.net.SetDeadline(time.Now().Add(displacedTime))
	default:
		c.server.places.giveBack(&c.server.options, c.entry, old.entry)
		c.Close(refuseFull.code, refuseFull.text)
	}
}
