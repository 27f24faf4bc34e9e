package server_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/wire/control"
)

// admitted connects with a token, in band from then on.
func (r *rig) admitted(c claims) (*rawPeer, control.Session) {
	r.t.Helper()
	p := r.join("?nova=2", c.header(), "session/1", "topics/1", "auth/1")
	if c.Expires != 0 {
		if m := p.authed(); m.ID != 0 || m.Code != 0 || m.ExpiresInMs <= 0 || m.ExpiresInMs > c.Expires.Milliseconds() {
			r.t.Fatalf("%+v", m)
		}
	}
	return p, p.attach(control.Attach{})
}

func TestRenewal(t *testing.T) {
	var current atomic.Pointer[server.Identity]
	var askedTopics atomic.Int32
	auth := readClaims(time.Now)
	r := newRig(t, hub.Options{AuthorizeTopic: func(_ context.Context, c *nova.Client, topic string) error {
		askedTopics.Add(1)
		if topic == "grown-up" && c.Meta()["age"] == 7.0 {
			return nova.Errorf(nova.Denied, "too young")
		}
		return nil
	}}, server.Options{Authenticate: func(ctx context.Context, c server.Credentials) (server.Identity, error) {
		current.Store(c.Current)
		return auth(ctx, c)
	}})
	first := claims{User: "ann", Client: "one", Groups: []string{"a", "b"}, Topics: []string{"t", "u"}, Meta: map[string]any{"age": 30.0}, Expires: time.Hour}
	p, _ := r.admitted(first)
	if current.Load() != nil {
		t.Error("an upgrade is no renewal")
	}
	for range first.Topics {
		p.skipTo(control.TopicSubscribedID, 10)
	}
	p.send(&control.TopicSubscribe{ID: 1, Topic: "grown-up"})
	p.skipTo(control.TopicSubscribedID, 10)
	p.send(&control.TopicSubscribe{ID: 2, Topic: "free"})
	p.skipTo(control.TopicSubscribedID, 10)

	// Everything but the user may change; what is not allowed any more is left.
	p.send(&control.Auth{ID: 7, Token: claims{User: "ann", Groups: []string{"b", "c"}, Topics: []string{"u", "v"}, Meta: map[string]any{"age": 7.0}, Expires: 2 * time.Hour}.String()})
	if m := p.authed(); m.ID != 7 || m.Code != 0 || m.ExpiresInMs <= 3_600_000 {
		t.Fatalf("%+v", m)
	}
	if was := current.Load(); was == nil || was.UserID != "ann" || was.Meta["age"] != 30.0 || was.ExpiresAt.IsZero() {
		t.Errorf("current: %+v", was)
	}
	c := r.hub.Client("one")
	if !slices.Equal(c.Groups(), []string{"b", "c"}) || !slices.Equal(c.Topics(), []string{"free", "u", "v"}) || c.Meta()["age"] != 7.0 {
		t.Errorf("%q %q %v", c.Groups(), c.Topics(), c.Meta())
	}

	// A token that is no good changes nothing, and the answer says so.
	p.send(&control.Auth{ID: 8, Token: claims{Code: nova.Unauthenticated}.String()})
	if m := p.authed(); m.ID != 8 || m.Code != 16 {
		t.Fatalf("%+v", m)
	}
	p.send(&control.Auth{ID: 9, Token: claims{Code: nova.Unavailable}.String()})
	if m := p.authed(); m.ID != 9 || m.Code != 14 {
		t.Fatalf("%+v", m)
	}
	p.sync()

	// With an equal version nothing is authorised again.
	p.send(&control.Auth{ID: 10, Token: claims{User: "ann", Version: "v1", Topics: []string{"u", "v"}}.String()})
	p.authed()
	before := askedTopics.Load()
	p.send(&control.Auth{ID: 11, Token: claims{User: "ann", Version: "v1", Topics: []string{"u", "v"}}.String()})
	if m := p.authed(); m.ID != 11 || m.Code != 0 || m.ExpiresInMs != 0 {
		t.Fatalf("%+v", m)
	}
	if n := askedTopics.Load() - before; n != 0 {
		t.Errorf("%d topics authorised again", n)
	}
	p.sync()
	if n := r.publish(nova.User("ann"), 1).Members; n != 1 {
		t.Errorf("%d members", n)
	}
}

// A renewal that changes the user, or a pinned client id, ends the connection.
func TestRenewalThatIsAnother(t *testing.T) {
	for name, c := range map[string]struct {
		then claims
		why  string
	}{
		"another user":   {claims{User: "eve", Client: "one"}, "the user of a connection cannot change"},
		"nobody":         {claims{Client: "one"}, "the user of a connection cannot change"},
		"another client": {claims{User: "ann", Client: "two"}, "the client id of a connection cannot change"},
		"denied":         {claims{Code: nova.Denied}, "because of [token]"},
	} {
		for _, early := range []bool{false, true} {
			r := newRig(t, hub.Options{}, server.Options{Authenticate: readClaims(time.Now)})
			p := r.join("?nova=2", claims{User: "ann", Client: "one"}.header(), "session/1", "auth/1")
			if !early {
				p.attach(control.Attach{})
			}
			p.send(&control.Auth{ID: 1, Token: c.then.String()})
			if m := p.authed(); m.ID != 1 || m.Code != 7 || m.Message != c.why {
				t.Errorf("%s, early %v: %+v", name, early, m)
			}
			p.expectEnd(4403, c.why)
			eventually(t, "the session ends", func() bool { return r.hub.Len() == 0 && r.srv.Metrics().Connections == 0 })
		}
	}
}

// Nobody becomes somebody by a token, and keeps the session.
func TestRenewalOfNobody(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{Authenticate: readClaims(time.Now)})
	p, m := r.admitted(claims{})
	p.send(&control.Auth{ID: 1, Token: claims{User: "ann", Groups: []string{"g"}}.String()})
	var again control.Session
	p.expectFrame(control.SessionID, 0, &again)
	if !again.Recovered || again.ClientID != m.ClientID {
		t.Errorf("%+v", again)
	}
	if m := p.authed(); m.Code != 0 {
		t.Errorf("%+v", m)
	}
	if list := r.hub.ClientsOf("ann"); len(list) != 1 || !slices.Equal(list[0].Groups(), []string{"g"}) {
		t.Errorf("clients of ann: %v", list)
	}
}

// Tokens again and again that are no good end the connection; it may come again.
func TestRenewalThatFailsTooOften(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{Authenticate: readClaims(time.Now)})
	p, _ := r.admitted(claims{User: "ann"})
	for range 5 {
		p.send(&control.Auth{ID: 1, Token: "x"})
	}
	p.expectEnd(4401, "not authenticated")
	eventually(t, "the session is kept", func() bool { return r.srv.Metrics().Hub.Detached == 1 })
}

// A pending authorisation is asked again when the identity changes under it.
func TestRenewalDuringAuthorisation(t *testing.T) {
	asked, answer := make(chan struct{}, 10), make(chan struct{})
	var ages []any
	r := newRig(t, hub.Options{AuthorizeTopic: func(_ context.Context, c *nova.Client, topic string) error {
		ages = append(ages, c.Meta()["age"])
		asked <- struct{}{}
		<-answer
		return nil
	}}, server.Options{Authenticate: readClaims(time.Now)})
	p, _ := r.admitted(claims{User: "ann", Meta: map[string]any{"age": 1}})
	p.send(&control.TopicSubscribe{ID: 1, Topic: "t"})
	<-asked
	p.send(&control.Auth{ID: 1, Token: claims{User: "ann", Meta: map[string]any{"age": 2}}.String()})
	p.authed()
	answer <- struct{}{}
	<-asked
	answer <- struct{}{}
	var sub control.TopicSubscribed
	p.expectFrame(control.TopicSubscribedID, 1, &sub)
	if len(ages) != 2 || ages[0] != 1.0 || ages[1] != 2.0 {
		t.Errorf("asked with %v", ages)
	}
}

// ticking is a server at a pipe whose clock can be set, in a bubble.
func ticking(t *testing.T, grace time.Duration) (r *rig, shift *atomic.Int64) {
	shift = new(atomic.Int64)
	clock := func() time.Time { return time.Now().Add(time.Duration(shift.Load())) }
	return newQuietRig(t, hub.Options{}, server.Options{
		LateAuth: time.Minute, Authenticate: readClaims(clock), Clock: clock, ExpiryGrace: grace,
	}), shift
}

func (r *rig) enterPipe(c claims) *rawPeer {
	r.t.Helper()
	p := r.dialPipe()
	p.net.SetDeadline(time.Time{})
	var hello control.Hello
	p.control(control.HelloID, &hello)
	p.send(&control.Hello{Version: 2, Caps: []string{"session/1", "auth/1"}})
	p.send(&control.Auth{ID: 1, Token: c.String()})
	if m := p.authed(); m.Code != 0 {
		r.t.Fatalf("%+v", m)
	}
	p.attach(control.Attach{})
	return p
}

// open says how many connections are left after a time.
func (r *rig) openAfter(d time.Duration) int {
	time.Sleep(d) // the bubble's clock
	synctest.Wait()
	return r.srv.Metrics().Connections
}

func TestExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := ticking(t, 10*time.Second)
		p := r.enterPipe(claims{User: "ann", Expires: time.Minute})
		go p.drain()
		if n := r.openAfter(69 * time.Second); n != 1 {
			t.Fatal("closed too early")
		}
		if n := r.openAfter(3 * time.Second); n != 0 || r.srv.Metrics().Closed[4401] != 1 || r.hub.Metrics().Detached != 1 {
			t.Fatalf("%d open, %v closed", n, r.srv.Metrics().Closed)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		r, _ := ticking(t, -1)
		p := r.enterPipe(claims{User: "ann", Expires: time.Minute})
		r.openAfter(50 * time.Second)
		p.send(&control.Auth{ID: 2, Token: claims{User: "ann", Expires: time.Minute}.String()})
		p.authed()
		go p.drain()
		if n := r.openAfter(55 * time.Second); n != 1 {
			t.Fatal("closed although renewed")
		}
		if n := r.openAfter(7 * time.Second); n != 0 {
			t.Fatal("no grace, and it is still open")
		}
	})
}

// drain answers pings and reads until the connection is closed, and closes then.
func (p *rawPeer) drain() {
	defer p.net.Close()
	for p.closed == nil {
		m, err := p.tryNext()
		if err != nil {
			return
		}
		if m.op == ws.Ping {
			p.net.Write(ws.AppendMasked(nil, ws.Pong, m.data, [4]byte{}))
		}
	}
}

// A clock that steps: back it makes nothing last longer and locks nobody out, forward
// what has expired ends. Neither takes anybody for dead.
func TestClockSteps(t *testing.T) {
	for _, c := range []struct {
		name         string
		step, expire time.Duration
		left         int // connections, of a minute and of two days, after 80 s
	}{
		{"back", -24 * time.Hour, time.Minute, 1},
		{"far back", -20 * 365 * 24 * time.Hour, time.Minute, 1},
		{"forward", 24 * time.Hour, time.Hour, 1},
		{"far forward", 20 * 365 * 24 * time.Hour, time.Hour, 0},
		{"not", 0, time.Minute, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, shift := ticking(t, 10*time.Second)
				go r.enterPipe(claims{User: "ann", Expires: c.expire}).drain()
				go r.enterPipe(claims{User: "bob", Expires: 48 * time.Hour}).drain()
				forever := r.enterPipe(claims{User: "eve"})
				shift.Store(int64(c.step))
				if n := r.openAfter(20 * time.Second); c.step <= 0 && n != 3 {
					t.Errorf("%d open at once", n)
				}
				go forever.drain()
				if n := r.openAfter(60 * time.Second); n != c.left+1 {
					t.Errorf("%d open, want %d and the one for ever", n, c.left)
				}
				if closed := r.srv.Metrics().Closed; closed[4401] != uint64(2-c.left) || len(closed) != 1 && c.left < 2 {
					t.Errorf("closed %v", closed)
				}
				go r.enterPipe(claims{User: "late", Expires: time.Hour}).drain() // nobody is locked out
				if n := r.openAfter(time.Second); n != c.left+2 {
					t.Errorf("%d open with the new one", n)
				}
			})
		})
	}
}

// The expiry of one identity is that of the connection with it, not of the session.
func TestExpiredComesBackToItsSession(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{Authenticate: readClaims(time.Now), ExpiryGrace: 40 * time.Millisecond})
	p, m := r.admitted(claims{User: "ann", Client: "one", Expires: 100 * time.Millisecond})
	p.expectEnd(4401, "token expired")
	r.publish(nova.ClientID("one"), 1)
	if _, res := r.tryDial("", claims{User: "ann", Client: "one", Expires: -time.Millisecond}.header()); res.StatusCode != 401 {
		t.Errorf("an expired token: %s", res.Status)
	}
	p = r.join("?nova=2", claims{User: "ann", Client: "one", Expires: time.Hour}.header(), "session/1")
	if again := p.attach(control.Attach{Session: m.Session}); !again.Recovered {
		t.Errorf("%+v", again)
	}
	p.expectQuote(1, 1)
}

// Over a rate limit that drops, a renewal is answered all the same.
func TestRenewalOverTheRateLimit(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{Authenticate: readClaims(time.Now),
		RateLimit: server.RateLimit{MessagesPerSecond: 0.01, Burst: 3, Policy: server.LimitDrop}})
	p, _ := r.admitted(claims{User: "ann"})
	for id := int64(1); id <= 2; id++ {
		p.send(&control.Auth{ID: id, Token: claims{User: "ann"}.String()})
	}
	if m := p.authed(); m.ID != 1 || m.Code != 0 {
		t.Errorf("%+v", m)
	}
	if m := p.authed(); m.ID != 2 || m.Code != 8 {
		t.Errorf("%+v", m)
	}
}
