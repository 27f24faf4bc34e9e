package server_test

import (
	"context"
	"testing"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/wire/control"
)

// byQuery takes id and user from the address.
func byQuery(_ context.Context, c server.Credentials) (server.Identity, error) {
	q := c.Request.URL.Query()
	return server.Identity{ClientID: q.Get("id"), UserID: q.Get("user")}, nil
}

func TestDisconnect(t *testing.T) {
	ended := make(chan hub.EndReason, 2)
	r := newRig(t, hub.Options{OnDisconnect: func(_ context.Context, _ *nova.Client, reason hub.EndReason) { ended <- reason }}, server.Options{})
	p, m := r.attach("", "", 0)
	other, _ := r.attach("", "", 0)
	r.publish(nova.ClientID(m.ClientID), 1)
	if found, err := r.hub.Disconnect(m.ClientID, 0, ""); !found || err != nil {
		t.Fatal(found, err)
	}
	if n := r.hub.Len(); n != 1 {
		t.Errorf("%d clients once Disconnect has returned", n)
	}
	if got := r.publish(nova.ClientID(m.ClientID), 2).Members; got != 0 {
		t.Errorf("a publish behind it reached %d", got)
	}
	p.expectQuote(1, 1) // what was queued before goes out
	p.expectEnd(1000, "closed by server")
	if reason := <-ended; reason != hub.EndDisconnect {
		t.Errorf("ended: %v", reason)
	}
	if found, err := r.hub.Disconnect(m.ClientID, 0, ""); found || err != nil {
		t.Errorf("again: %v, %v", found, err)
	}
	if _, again := r.attach("", m.Session, 1); again.Recovered {
		t.Error("the session came back")
	}
	other.sync()
}

func TestDisconnectUser(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{Authenticate: byQuery})
	here, _ := r.attach("&user=ann", "", 0)
	base := r.join("?user=ann", "")
	base.sync()
	away, lost := r.attach("&user=ann&id=tablet", "", 0)
	away.net.Close()
	r.detached(1)
	bob, _ := r.attach("&user=bob", "", 0)
	if n, err := r.hub.DisconnectUser("ann", 4403, "banned"); n != 3 || err != nil {
		t.Fatalf("%d sessions ended, %v", n, err)
	}
	if left := r.hub.ClientsOf("ann"); len(left) != 0 {
		t.Errorf("%d sessions of the user are left", len(left))
	}
	here.expectEnd(4403, "banned")
	base.expectEnd(4403, "banned")
	if got := r.publish(nova.User("ann"), 1).Members; got != 0 {
		t.Errorf("the user is still a target: %d", got)
	}
	// Authentication decides about who comes later, but the session is gone.
	back, m := r.attach("&user=ann&id=tablet", lost.Session, 0)
	if m.Recovered {
		t.Error("the session without a socket came back")
	}
	back.sync()
	bob.sync()
}

// A connection that was let in before is not spared for being slow.
func TestDisconnectBeforeAdmission(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{Authenticate: byQuery})
	for _, c := range []struct {
		name string
		kick func() error
	}{
		{"user", func() error { _, err := r.hub.DisconnectUser("ann", 0, "go"); return err }},
		{"id", func() error { _, err := r.hub.Disconnect("pc", 0, "go"); return err }},
	} {
		early := r.join("?nova=2&user=ann&id=pc", "", "session/1")
		silent := r.dial("?user=ann&id=pc", "")
		if err := c.kick(); err != nil {
			t.Fatal(err)
		}
		early.send(&control.Attach{})
		early.expectEnd(1000, "go")
		silent.write(ping())
		silent.expectEnd(1000, "go")
		late, _ := r.attach("&user=ann&id=pc", "", 0)
		late.sync()
		if n := r.hub.Len(); n != 1 {
			t.Errorf("%s: %d clients", c.name, n)
		}
	}
}

// What a client sends that is turned away at its admission, reaches nobody.
func TestTurnedAwayIsNotHandled(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{Authenticate: byQuery, MaxConnectionsPerUser: 1})
	market.QuoteEvent.On(r.hub, func(_ context.Context, from *nova.Client, _ *market.Quote) error {
		t.Errorf("an event of %s was handled", from.User())
		return nil
	})
	r.join("?user=bob", "").sync()
	second := r.dial("?user=bob", "")
	second.event(t, quote(1))
	second.untilClosed()
	banned := r.dial("?user=ann", "")
	if _, err := r.hub.DisconnectUser("ann", 0, "go"); err != nil {
		t.Fatal(err)
	}
	banned.event(t, quote(1))
	banned.untilClosed()
	eventually(t, "they are gone", func() bool { return r.srv.Metrics().Connections == 1 })
	if n := r.hub.Metrics().Inbound["quote"]; n != 0 {
		t.Errorf("%d events were taken", n)
	}
}

// A user that a session is given later is no matter of an earlier Disconnect.
func TestSetUserAfterDisconnectUser(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{Authenticate: byQuery})
	p, _ := r.attach("&user=bob&id=pc", "", 0)
	if _, err := r.hub.DisconnectUser("ann", 0, ""); err != nil {
		t.Fatal(err)
	}
	setUser(t, r.hub.Client("pc"), "ann")
	p.expectFrame(control.SessionID, 0, new(control.Session))
	p.sync()
}

func TestDisconnectErrors(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	for _, code := range []int{-1, 1, 999, 1002, 1004, 1005, 1006, 1009, 1015, 2000, 5000} {
		if _, err := r.hub.Disconnect("x", code, ""); nova.CodeOf(err) != nova.Invalid {
			t.Errorf("close code %d: %v", code, err)
		}
	}
	if _, err := r.hub.DisconnectUser("", 0, ""); nova.CodeOf(err) != nova.Invalid {
		t.Errorf("nobody: %v", err)
	}
	if _, err := r.hub.DisconnectUser("x", 0, string(make([]byte, 124))); nova.CodeOf(err) != nova.Invalid {
		t.Errorf("a long reason: %v", err)
	}
}

func TestClientRecord(t *testing.T) {
	began := time.Now()
	r := newRig(t, hub.Options{}, server.Options{Authenticate: byQuery})
	p, _ := r.attach("&id=pc", "", 0)
	p.sync()
	c := r.hub.Client("pc")
	if at := c.ConnectedAt(); at.Before(began.Add(-time.Second)) || at.After(time.Now()) {
		t.Errorf("connected at %v, now %v", at, time.Now())
	}
	if !c.Connected() || c.RemoteIP() != "127.0.0.1" {
		t.Errorf("connected %v from %q", c.Connected(), c.RemoteIP())
	}
	p.net.Close()
	r.detached(1)
	if c.Connected() || c.RemoteIP() != "" {
		t.Errorf("without a socket: connected %v from %q", c.Connected(), c.RemoteIP())
	}
}
