package server_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/wire/control"
)

// claims is what the tokens of these tests say: their text is its JSON.
type claims struct {
	User    string         `json:",omitempty"`
	Client  string         `json:",omitempty"`
	Groups  []string       `json:",omitempty"`
	Topics  []string       `json:",omitempty"`
	Meta    map[string]any `json:",omitempty"`
	Expires time.Duration  `json:",omitempty"`
	Version string         `json:",omitempty"`
	Code    nova.Code      `json:",omitempty"`
	Panic   bool           `json:",omitempty"`
}

func (c claims) String() string {
	text, err := json.Marshal(c)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func (c claims) header() string { return "Authorization: Bearer " + c.String() + "\r\n" }

func (c claims) subprotocol() string {
	return "Sec-WebSocket-Protocol: nova.v2, nova.token." + base64.RawURLEncoding.EncodeToString([]byte(c.String())) + "\r\n"
}

// readClaims is an Options.Authenticate; now is the clock of the expiry.
func readClaims(now func() time.Time) func(context.Context, server.Credentials) (server.Identity, error) {
	return func(_ context.Context, c server.Credentials) (server.Identity, error) {
		var say claims
		if err := json.Unmarshal([]byte(c.Token), &say); err != nil {
			return server.Identity{}, errors.New("no token of ours: " + c.Token)
		}
		if say.Panic {
			panic("the hook met " + c.Token)
		}
		if say.Code != 0 {
			return server.Identity{}, nova.Errorf(say.Code, "because of %s", c.Token)
		}
		id := server.Identity{ClientID: say.Client, UserID: say.User, Groups: say.Groups, Topics: say.Topics, Meta: say.Meta, Version: say.Version}
		if say.Expires != 0 {
			id.ExpiresAt = now().Add(say.Expires)
		}
		return id, nil
	}
}

// journal is a log that may be written and read at once.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

func (j *journal) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(j, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// authed waits for the next nova.authed.
func (p *rawPeer) authed() (m control.Authed) {
	p.t.Helper()
	for {
		head, payload, _ := p.frame()
		if head.ID != control.AuthedID {
			continue
		}
		if err := m.UnmarshalNova(payload); err != nil {
			p.t.Fatal(err)
		}
		return m
	}
}

// How an upgrade is refused follows from the hook's error, in HTTP and after the
// upgrade, and says no more than it should; the token is in no answer and no log.
func TestRefusals(t *testing.T) {
	log := &journal{}
	r := newRig(t, hub.Options{Logger: log.logger()}, server.Options{Authenticate: readClaims(time.Now), Logger: log.logger()})
	for _, c := range []struct {
		name         string
		claims       claims
		status, code int
		text         string
	}{
		{"uncoded", claims{}, 401, 4401, "not authenticated"},
		{"unauthenticated", claims{User: "secret7", Code: nova.Unauthenticated}, 401, 4401, "because of [token]"},
		{"denied", claims{User: "secret7", Code: nova.Denied}, 403, 4403, "because of [token]"},
		{"unavailable", claims{User: "secret7", Code: nova.Unavailable}, 503, 1013, "authentication is not available"},
		{"invalid", claims{User: "secret7", Code: nova.Invalid}, 401, 4401, "not authenticated"},
		{"panic", claims{User: "secret7", Panic: true}, 403, 4403, "not allowed"},
		{"expired", claims{User: "secret7", Expires: -time.Second}, 401, 4401, "token expired"},
		{"bad name", claims{User: "x\x01"}, 403, 4403, "the identity has a name that cannot be used"},
	} {
		header := c.claims.header()
		if c.name == "uncoded" {
			header = "Authorization: Bearer secret7\r\n"
		}
		p, res := r.tryDial("", header)
		body := make([]byte, 200)
		n, _ := res.Body.Read(body)
		if p != nil || res.StatusCode != c.status || strings.TrimSpace(string(body[:n])) != c.text {
			t.Errorf("%s: %s %q", c.name, res.Status, body[:n])
		}
		if after := res.Header.Get("Retry-After"); (after != "") != (c.status == 503) {
			t.Errorf("%s: Retry-After %q", c.name, after)
		}
		p = r.dial("?nova=2", header)
		if c.code == 1013 {
			var away control.Goaway
			p.control(control.GoawayID, &away)
			if away.RetryAfterMs <= 0 {
				t.Errorf("%s: %+v", c.name, away)
			}
		}
		p.expectEnd(c.code, c.text)
	}
	if s := log.String(); strings.Contains(s, "secret7") || !strings.Contains(s, "level=ERROR") || !strings.Contains(s, "no token of ours: [token]") {
		t.Errorf("log:\n%s", s)
	}
}

// A pinned id that is in use is found out by the token only, and refused as at an
// upgrade.
func TestLateDuplicate(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{LateAuth: time.Minute, Authenticate: readClaims(time.Now), DuplicateID: server.DuplicateReject})
	token := claims{User: "ann", Client: "one"}.String()
	first := r.lobby("session/1", "auth/1")
	first.send(&control.Auth{ID: 1, Token: token})
	first.authed()
	first.attach(control.Attach{})
	p := r.lobby("auth/1")
	p.send(&control.Auth{ID: 1, Token: token})
	if m := p.authed(); m.Code != 14 || m.Message != "client id is in use" {
		t.Errorf("%+v", m)
	}
	p.expectEnd(1013, "client id is in use")
	first.net.Close()
	eventually(t, "the id is free", func() bool { return r.srv.Metrics().Connections == 0 })
	p = r.lobby("auth/1")
	p.send(&control.Auth{ID: 1, Token: token})
	if m := p.authed(); m.Code != 0 {
		t.Errorf("%+v", m)
	}
}

// What a hook passes on of others stays here.
func TestCausesAreNotTold(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{CheckToken: func(context.Context, string) error {
		return nova.Errorf(nova.Denied, "ask: %w", errors.New("dial tcp 10.1.2.3:389: refused"))
	}})
	r.dial("?nova=2", "").expectEnd(4403, "not allowed")
}

// The token of a subprotocol authenticates, and only nova.v2 is echoed, also when the
// upgrade is only made to say no.
func TestSubprotocolToken(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{Authenticate: readClaims(time.Now)})
	for _, c := range []struct {
		header, echo string
		code         int
	}{
		{claims{User: "ann"}.subprotocol(), "nova.v2", 0},
		{strings.Replace(claims{User: "ann"}.subprotocol(), ", ", "\r\nSec-WebSocket-Protocol: ", 1), "nova.v2", 0},
		{claims{User: "ann", Code: nova.Unauthenticated}.subprotocol(), "nova.v2", 4401},
		{"Sec-WebSocket-Protocol: nova.v2, nova.token.\r\n", "nova.v2", 4401},
		{"Sec-WebSocket-Protocol: nova.v2, nova.token.!!!\r\n", "nova.v2", 4401},
		{strings.TrimSpace(claims{User: "ann"}.subprotocol()) + "=\r\n", "nova.v2", 4401},
		{strings.TrimSpace(claims{User: "ann"}.subprotocol()) + ", nova.token.eA\r\n", "nova.v2", 4401},
		{"Sec-WebSocket-Protocol: nova.v2\r\n", "nova.v2", 4401},
		{claims{User: "ann"}.header() + "Sec-WebSocket-Protocol: chat\r\n", "", 0},
		{claims{User: "ann"}.header() + claims{User: "eve"}.subprotocol(), "nova.v2", 0},
	} {
		p, res := r.tryDial("?nova=2", c.header)
		if p == nil {
			t.Fatalf("%q: %s", c.header, res.Status)
		}
		if echo := res.Header.Values("Sec-WebSocket-Protocol"); strings.Join(echo, "|") != c.echo {
			t.Errorf("%q: echoed %q", c.header, echo)
		}
		if c.code != 0 {
			if code, _ := p.ended(); code != c.code {
				t.Errorf("%q: closed %d", c.header, code)
			}
			continue
		}
		r.greet(p, "session/1").attach(control.Attach{})
		if n := len(r.hub.ClientsOf("ann")); n != 1 {
			t.Errorf("%q: %d clients of ann", c.header, n)
		}
		p.net.Close()
		r.hub.ClientsOf("ann")[0].Disconnect(1000, "")
		eventually(t, "it is gone", func() bool { return r.hub.Len() == 0 })
	}
}

// Token, CheckToken and Authenticate must all pass.
func TestTokenAndCheckTokenAndAuthenticate(t *testing.T) {
	var asked atomic.Int32
	r := newRig(t, hub.Options{}, server.Options{
		Token: "both",
		CheckToken: func(ctx context.Context, token string) error {
			if _, ok := ctx.Deadline(); !ok || token != "both" {
				t.Errorf("asked about %q", token)
			}
			if asked.Add(1) == 1 {
				return errors.New("not yet")
			}
			return nil
		},
		Authenticate: func(context.Context, server.Credentials) (server.Identity, error) {
			if asked.Load() == 2 {
				return server.Identity{}, nova.Errorf(nova.Denied, "no")
			}
			return server.Identity{UserID: "ann"}, nil
		},
	})
	for _, want := range []int{401, 403, 101} {
		if _, res := r.tryDial("", "Authorization: bearer both\r\n"); res.StatusCode != want {
			t.Errorf("%s, want %d", res.Status, want)
		}
	}
	for _, header := range []string{"", "Authorization: Bearer bot\r\n", "Authorization: Basic both\r\n"} {
		if _, res := r.tryDial("", header); res.StatusCode != 401 {
			t.Errorf("%q: %s", header, res.Status)
		}
	}
	if asked.Load() != 3 {
		t.Errorf("asked %d times", asked.Load())
	}
}

// lobby connects without a token and says hello.
func (r *rig) lobby(caps ...string) *rawPeer {
	r.t.Helper()
	p := r.dial("?nova=2", "")
	var hello control.Hello
	p.control(control.HelloID, &hello)
	if !slices.Contains(hello.Caps, "auth/1") {
		r.t.Fatalf("the server offers %q", hello.Caps)
	}
	p.send(&control.Hello{Version: 2, Caps: caps})
	return p
}

func TestLateAuthentication(t *testing.T) {
	var seen atomic.Pointer[http.Request]
	auth := readClaims(time.Now)
	connects := make(chan string, 10)
	r := newRig(t, hub.Options{
		OnConnect: func(_ context.Context, c *nova.Client) { connects <- c.ID() + " " + c.User() },
	}, server.Options{LateAuth: time.Minute, Authenticate: func(ctx context.Context, c server.Credentials) (server.Identity, error) {
		seen.Store(c.Request)
		return auth(ctx, c)
	}})
	p := r.lobby("session/1", "topics/1", "auth/1")
	p.send(&control.Ping{Ts: 5}) // is answered
	var pong control.Pong
	p.control(control.PongID, &pong)
	if r.hub.Len() != 0 || pong.Ts != 5 {
		t.Fatalf("%d clients, pong %d", r.hub.Len(), pong.Ts)
	}
	p.send(&control.Auth{ID: 3, Token: claims{User: "ann", Client: "one", Groups: []string{"g"}, Topics: []string{"t"}, Meta: map[string]any{"age": 7.0}, Expires: time.Hour}.String()})
	p.send(&control.Attach{})
	var welcome control.Welcome
	p.control(control.WelcomeID, &welcome)
	var m control.Authed
	p.control(control.AuthedID, &m)
	if welcome.ClientID != "one" || !slices.Equal(welcome.Groups, []string{"g"}) {
		t.Errorf("%+v", welcome)
	}
	if m.ID != 3 || m.Code != 0 || m.Message != "" || m.ExpiresInMs <= 3_590_000 || m.ExpiresInMs > 3_600_000 {
		t.Errorf("%+v", m)
	}
	var session control.Session
	p.control(control.SessionID, &session)
	if session.ClientID != "one" {
		t.Errorf("%+v", session)
	}
	if got := <-connects; got != "one ann" {
		t.Errorf("connected %q", got)
	}
	c := r.hub.Client("one")
	if c.Meta()["age"] != 7.0 || !slices.Equal(c.Topics(), []string{"t"}) || !slices.Equal(c.Groups(), []string{"g"}) {
		t.Errorf("%v %v %v", c.Meta(), c.Topics(), c.Groups())
	}
	if req := seen.Load(); req.URL.RawQuery != "nova=2" || req.Header.Get("Sec-WebSocket-Key") != "" || req.Host == "" || req.RemoteAddr == "" {
		t.Errorf("the hook saw %+v", req)
	}
	if n := r.publish(nova.User("ann"), 1).Members; n != 1 {
		t.Errorf("%d members", n)
	}
}

// What a connection may not do before it has authenticated.
func TestLobby(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{LateAuth: time.Minute, Authenticate: readClaims(time.Now)})
	for _, c := range []struct {
		name string
		do   func(p *rawPeer)
		code int
		why  string
	}{
		{"attach", func(p *rawPeer) { p.send(&control.Attach{}) }, 4401, "not authenticated"},
		{"subscribe", func(p *rawPeer) { p.send(&control.Subscribe{Topic: "t"}) }, 4401, "not authenticated"},
		{"event", func(p *rawPeer) { p.event(t, quote(1)) }, 4401, "not authenticated"},
		{"bad token", func(p *rawPeer) { p.send(&control.Auth{ID: 1, Token: "x"}) }, 4401, "not authenticated"},
		{"denied", func(p *rawPeer) { p.send(&control.Auth{ID: 1, Token: claims{Code: nova.Denied}.String()}) }, 4403, "because of [token]"},
		{"not now", func(p *rawPeer) { p.send(&control.Auth{ID: 1, Token: claims{Code: nova.Unavailable}.String()}) }, 1013, "authentication is not available"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := r.lobby("session/1", "auth/1")
			c.do(p)
			p.expectEnd(c.code, c.why)
		})
	}
	p := r.dial("?nova=2", "")
	p.send(&control.Hello{Version: 2, Caps: []string{"session/1"}})
	p.expectEnd(4401, "not authenticated")
	p = r.dial("?nova=2", "")
	p.send(&control.Auth{ID: 1, Token: claims{User: "ann"}.String()})
	p.expectEnd(1002, "no hello")
	p = r.lobby("auth/1")
	p.send(&control.Auth{ID: 9, Token: claims{Code: nova.Unauthenticated}.String()})
	if m := p.authed(); m.ID != 9 || m.Code != 16 || m.Message != "because of [token]" {
		t.Errorf("%+v", m)
	}
	if n := r.hub.Len(); n != 0 {
		t.Errorf("%d clients", n)
	}
}

// The rate limit holds before the token, too: what it drops there is dropped, and a
// token that comes too early may be sent again.
func TestLobbyKeepsTheRateLimit(t *testing.T) {
	limit := server.RateLimit{MessagesPerSecond: 0.001, Burst: 2, Policy: server.LimitDrop}
	r := newRig(t, hub.Options{}, server.Options{LateAuth: time.Minute, Token: "x", RateLimit: limit})
	p := r.lobby("auth/1") // its hello takes a token
	for ts := range int64(5) {
		p.send(&control.Ping{Ts: ts})
	}
	p.send(&control.Auth{ID: 7, Token: "x"})
	var pong control.Pong
	if p.control(control.PongID, &pong); pong.Ts != 0 {
		t.Errorf("pong %d", pong.Ts)
	}
	if m := p.authed(); m.ID != 7 || m.Code != int64(nova.Exhausted) || m.Message != "too many messages" {
		t.Errorf("%+v", m)
	}
	if m := r.srv.Metrics(); m.RateLimited != 5 || m.Connections != 1 {
		t.Errorf("%d limited, %d connections", m.RateLimited, m.Connections)
	}
}

// Only the first hello is free.
func TestHellosBeforeTheTokenAreLimited(t *testing.T) {
	limit := server.RateLimit{MessagesPerSecond: 0.001, Burst: 2, Policy: server.LimitClose}
	r := newRig(t, hub.Options{}, server.Options{LateAuth: time.Minute, Token: "x", RateLimit: limit})
	p := r.lobby("auth/1")
	for range 2 {
		p.send(&control.Hello{Version: 2, Caps: []string{"auth/1"}})
	}
	p.expectEnd(1008, "rate limit exceeded")
}

func TestLateAuthenticationTakesTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newQuietRig(t, hub.Options{}, server.Options{LateAuth: 3 * time.Second, Token: "x"})
		began := time.Now()
		p := r.dialPipe()
		var hello control.Hello
		p.control(control.HelloID, &hello)
		p.send(&control.Hello{Version: 2, Caps: []string{"auth/1"}})
		if code, reason := p.ended(); code != 4401 || reason != "not authenticated in time" {
			t.Errorf("closed %d %q", code, reason)
		}
		if d := time.Since(began); d < 3*time.Second || d > 4*time.Second {
			t.Errorf("after %v", d)
		}
		p.net.Close()
		synctest.Wait()
	})
}

func TestMaxUnauthenticated(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{LateAuth: time.Minute, Token: "x", MaxUnauthenticated: 3, MaxUnauthenticatedPerIP: 2, TrustedProxies: []string{"127.0.0.1"}})
	from := func(ip string) string { return "X-Forwarded-For: " + ip + "\r\n" }
	a := r.dial("?nova=2", from("198.51.100.1"))
	r.dial("?nova=2", from("198.51.100.1"))
	if _, res := r.tryDial("", from("198.51.100.1")); res.StatusCode != 503 {
		t.Errorf("a third of one address: %s", res.Status)
	}
	r.dial("?nova=2", from("198.51.100.2"))
	if _, res := r.tryDial("", from("198.51.100.3")); res.StatusCode != 503 {
		t.Errorf("a fourth: %s", res.Status)
	}
	p := r.dial("?nova=2", from("198.51.100.3"))
	var away control.Goaway
	p.control(control.GoawayID, &away)
	p.expectEnd(1013, "too many connections that are not authenticated")
	r.dial("", from("198.51.100.1")+"Authorization: Bearer x\r\n") // with a token it does not count
	var hello control.Hello
	a.control(control.HelloID, &hello)
	a.send(&control.Hello{Version: 2, Caps: []string{"auth/1"}})
	a.send(&control.Auth{Token: "x"})
	a.authed()
	a.sync()
	r.dial("?nova=2", from("198.51.100.1")).net.Close()
	eventually(t, "it is gone", func() bool { return r.srv.Metrics().Connections == 4 })
	r.dial("?nova=2", from("198.51.100.1"))
}
