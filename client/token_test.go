package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/client"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/wire/control"
)

// counting is a token function that returns t1, t2 …
func counting(calls *atomic.Int32) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return fmt.Sprint("t", calls.Add(1)), nil }
}

// The token is renewed by frame before it expires, on the same socket.
func TestTokenIsRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		var calls atomic.Int32
		var r record
		c, p := f.start(client.Options{Token: counting(&calls), Heartbeat: -1, OnError: r.options().OnError}, "auth/1")
		p.quiet()
		p.control(&control.Authed{ExpiresInMs: 100_000})
		for id := int64(1); id <= 3; id++ {
			began := time.Now()
			p.expect(fmt.Sprintf("auth %d t%d", id, id+1))
			if d := time.Since(began); d < 75*time.Second || d > 91*time.Second {
				t.Errorf("renewed after %v of 100 s", d)
			}
			p.control(&control.Authed{ID: id, ExpiresInMs: 100_000})
		}
		// Accepted for ever: no more.
		p.expect("auth 4 t5")
		p.control(&control.Authed{ID: 4})
		time.Sleep(time.Hour)
		p.quiet()
		// The newest token is the one that the next attempt uses.
		p.conn.Close()
		if p = f.next(); p.auth != "Bearer t5" || calls.Load() != 5 {
			t.Errorf("came back with %q after %d calls", p.auth, calls.Load())
		}
		r.is(t, "unavailable")
		<-p.frames
		p.welcome("auth/1")
		shut(t, c, p)
	})
}

// A renewal that fails is tried again while there is time, and told.
func TestRenewalFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		var calls atomic.Int32
		var r record
		_, p := f.start(client.Options{Heartbeat: -1, OnError: r.options().OnError, Token: func(context.Context) (string, error) {
			n := calls.Add(1)
			if n == 2 {
				return "", errors.New("login server is down")
			}
			return fmt.Sprint("t", n), nil
		}}, "auth/1")
		p.control(&control.Authed{ExpiresInMs: 100_000})
		p.expect("auth 2 t3")
		r.is(t, "unauthenticated")
		p.control(&control.Authed{ID: 2, Code: int64(nova.Unavailable)})
		p.expect("auth 3 t4")
		r.is(t, "unavailable")
		p.control(&control.Authed{ID: 3, ExpiresInMs: 100_000})
		p.expect("auth 4 t5")
		// Nobody answers: a few tries, then it is left to the server.
		time.Sleep(time.Hour)
		if calls.Load() > 12 {
			t.Errorf("%d calls", calls.Load())
		}
	})
}

// A token function that is still busy when the connection is lost starts nothing on
// the next one.
func TestRenewalResolvesAfterReconnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		var calls atomic.Int32
		slow := make(chan string)
		c, p := f.start(client.Options{Heartbeat: -1, Token: func(context.Context) (string, error) {
			if calls.Add(1) == 2 {
				return <-slow, nil // deaf to its context
			}
			return fmt.Sprint("t", calls.Load()), nil
		}}, "auth/1")
		p.control(&control.Authed{ExpiresInMs: 100_000})
		time.Sleep(95 * time.Second)
		synctest.Wait()
		if calls.Load() != 2 {
			t.Fatalf("%d calls", calls.Load())
		}
		p.conn.Close()
		p = f.next()
		<-p.frames
		p.welcome("auth/1")
		p.control(&control.Authed{ExpiresInMs: 100_000})
		slow <- "late"
		p.quiet()
		time.Sleep(70 * time.Second)
		p.quiet()
		p.expect("auth 1 t3") // the timer of this connection, and only that
		p.control(&control.Authed{ID: 1, ExpiresInMs: 1_000_000})
		time.Sleep(700 * time.Second)
		p.quiet()
		if n := calls.Load(); n != 3 {
			t.Errorf("%d calls", n)
		}
		shut(t, c, p)
	})
}

// A token that is known to have expired is not tried again.
func TestExpiredTokenIsNotTried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		var calls atomic.Int32
		c, p := f.start(client.Options{Heartbeat: -1, Token: counting(&calls)}, "auth/1")
		p.control(&control.Authed{ExpiresInMs: 60_000})
		synctest.Wait()
		p.conn.Close()
		f.set("", true)
		time.Sleep(61 * time.Second)
		f.set("", false)
		if p = f.next(); p.auth == "Bearer t1" {
			t.Error("came back with the expired token")
		}
		<-p.frames
		p.welcome()
		shut(t, c, p)
	})
}

// In band the token follows the hellos, in front of the attach, and stands in no header.
func TestTokenInBand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		var calls atomic.Int32
		c := f.client(client.Options{Token: counting(&calls), TokenInBand: true})
		result := make(chan error, 1)
		go func() { result <- c.Connect(t.Context()) }()
		p := f.next()
		if p.auth != "" {
			t.Errorf("header %q", p.auth)
		}
		p.control(&control.Hello{Version: 2, Caps: []string{"auth/1", "session/1"}})
		p.expect("hello 2 [session/1 topics/1 batch/1 calls/1 auth/1] 0", "auth 1 t1", `attach "" 0`)
		p.control(&control.Authed{ID: 1})
		p.control(&control.Welcome{ClientID: "c1"})
		p.control(&control.Session{Session: "n.1", ClientID: "c1", NextSeq: 1})
		if err := <-result; err != nil {
			t.Fatal(err)
		}
		shut(t, c, p)
	})
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		var calls atomic.Int32
		c := f.client(client.Options{Token: counting(&calls), TokenInBand: true})
		result := make(chan error, 1)
		go func() { result <- c.Connect(t.Context()) }()
		p := f.next()
		p.control(&control.Hello{Version: 2})
		if err := <-result; nova.CodeOf(err) != nova.FailedPrecondition || c.Status().State != client.Closed {
			t.Errorf("a server without auth/1: %v, %v", err, c.Status())
		}
	})
}

// people lets users in by tokens that are JSON: {"user": …, "ttl": …}.
func people(_ context.Context, c server.Credentials) (server.Identity, error) {
	var say struct {
		User string
		TTL  time.Duration
	}
	if err := json.Unmarshal([]byte(c.Token), &say); err != nil || say.TTL < 0 {
		return server.Identity{}, nova.Errorf(nova.Unauthenticated, "expired")
	}
	id := server.Identity{UserID: say.User}
	if say.TTL > 0 {
		id.ExpiresAt = time.Now().Add(say.TTL)
	}
	return id, nil
}

// An expired token: one error, no loop, then a fresh one works. Against the real
// server, in a header and in band.
func TestExpiredTokenOnTheRealServer(t *testing.T) {
	for _, inBand := range []bool{false, true} {
		s := newReal(t, false, hub.Options{}, server.Options{Authenticate: people, LateAuth: 10 * time.Second})
		var calls, failed atomic.Int32
		up := make(chan struct{}, 10)
		c, err := client.New(s.url, client.Options{
			TokenInBand: inBand,
			Reconnect:   client.Reconnect{Initial: time.Millisecond},
			Token: func(context.Context) (string, error) {
				if calls.Add(1) == 1 {
					return `{"ttl":-1}`, nil
				}
				return `{"user":"ann"}`, nil
			},
			OnError: func(err error) {
				failed.Add(1)
				if n := nova.CodeOf(err); n != nova.Unavailable {
					t.Errorf("in band %v: %v", inBand, err)
				}
			},
			OnStatus: func(st client.Status) {
				if st.State == client.Connected {
					up <- struct{}{}
				}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Connect(t.Context()); err == nil {
			t.Error("the expired token was accepted")
		}
		<-up
		if calls.Load() != 2 || failed.Load() != 1 || len(s.hub.ClientsOf("ann")) != 1 {
			t.Errorf("in band %v: %d calls, %d errors", inBand, calls.Load(), failed.Load())
		}
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// A token of a short life, renewed many times by one connection that never breaks.
func TestRenewalOnTheRealServer(t *testing.T) {
	renewed := make(chan int32, 100)
	var calls atomic.Int32
	s := newReal(t, false, hub.Options{}, server.Options{Authenticate: people, ExpiryGrace: 10 * time.Second})
	c := s.dial(t, client.Options{
		OnError: func(err error) { t.Error(err) },
		Token: func(context.Context) (string, error) {
			renewed <- calls.Add(1)
			return `{"user":"ann","ttl":1300000000}`, nil
		},
	})
	for n := range renewed {
		if n == 3 {
			break
		}
	}
	if n := c.Stats().Connects; n != 1 {
		t.Errorf("connected %d times", n)
	}
	if n := s.srv.Metrics().Closed; len(n) != 0 {
		t.Errorf("closed %v", n)
	}
}

func TestRenewalAsAnotherUserEndsTheClient(t *testing.T) {
	var calls atomic.Int32
	s := newReal(t, false, hub.Options{}, server.Options{Authenticate: people})
	closed := make(chan error, 1)
	s.dial(t, client.Options{
		Token: func(context.Context) (string, error) {
			return fmt.Sprintf(`{"user":"u%d","ttl":1100000000}`, calls.Add(1)), nil
		},
		OnStatus: func(st client.Status) {
			if st.State == client.Closed && st.Err != nil {
				closed <- st.Err
			}
		},
	})
	if err := <-closed; nova.CodeOf(err) != nova.Denied {
		t.Error(err)
	}
	if calls.Load() != 2 {
		t.Errorf("%d calls", calls.Load())
	}
}
