package server_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/wire"
	"github.com/ignex/nova/wire/control"
)

func pinned(_ context.Context, c server.Credentials) (server.Identity, error) {
	if c.Token == "bad" {
		return server.Identity{}, errors.New("bad token")
	}
	return server.Identity{ClientID: c.Request.URL.Query().Get("id")}, nil
}

func TestDuplicateIsReplaced(t *testing.T) {
	var mu sync.Mutex
	var log []string
	note := func(what string) func(context.Context, *nova.Client) {
		return func(_ context.Context, c *nova.Client) {
			mu.Lock()
			defer mu.Unlock()
			log = append(log, what+c.ID())
		}
	}
	r := newRig(t, hub.Options{OnConnect: note("+"), OnDisconnect: func(ctx context.Context, c *nova.Client, _ hub.EndReason) { note("-")(ctx, c) }}, server.Options{Authenticate: pinned})
	old := r.join("?id=me", "")
	old.sync()
	young := r.join("?id=me", "")
	young.sync()
	if code, reason := old.ended(); code != 1000 || reason != "replaced by newer session" {
		t.Fatalf("the older connection closed %d %q", code, reason)
	}
	// The late close of the older one removes nothing.
	old.write(ws.AppendMasked(nil, ws.Close, ws.AppendClosePayload(nil, 1000, ""), [4]byte{}))
	old.net.Close()
	eventually(t, "the older connection is gone", func() bool { return r.srv.Metrics().Connections == 1 })
	if got := r.publish(nova.ClientID("me"), 1).Members; got != 1 {
		t.Errorf("%d members", got)
	}
	young.quote(1)
	if r.hub.Len() != 1 {
		t.Errorf("%d clients", r.hub.Len())
	}
	young.write(ws.AppendMasked(nil, ws.Close, ws.AppendClosePayload(nil, 1000, ""), [4]byte{}))
	eventually(t, "hooks ran", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(log, " ") == "+me +me -me -me" || strings.Join(log, " ") == "+me -me +me -me"
	})
}

// untilPong reads until the server answered a ping or closed the connection.
func (p *rawPeer) untilPong() {
	for p.closed == nil {
		m, err := p.tryNext()
		if err != nil {
			return
		}
		if head, _, err := wire.ParseFrame(m.data); err == nil && head.ID == control.PongID {
			return
		}
	}
}

func TestFlapping(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{Authenticate: pinned})
	var wg sync.WaitGroup
	peers := make(chan *rawPeer, 80)
	for range 8 {
		wg.Go(func() {
			for range 10 {
				p := r.dial("?id=flap", "")
				p.write(ping())
				p.untilPong()
				peers <- p
			}
		})
	}
	wg.Wait()
	close(peers)
	last := r.join("?id=flap", "")
	last.sync()
	for p := range peers {
		p.net.Close()
	}
	eventually(t, "one connection is left", func() bool { return r.srv.Metrics().Connections == 1 && r.hub.Len() == 1 })
	r.publish(nova.ClientID("flap"), 5)
	last.quote(1)
	m := r.srv.Metrics()
	if m.Accepted != 81 || m.Closed[1000]+m.Closed[1006] != 80 {
		t.Errorf("accepted %d, closed %v", m.Accepted, m.Closed)
	}
}

func TestAdmissionWithoutHello(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	p := r.dial("", "")
	p.frame()
	p.frame()
	if r.hub.Len() != 0 {
		t.Fatal("admitted before a word was said")
	}
	eventually(t, "a silent base client is admitted", func() bool { return r.hub.Len() == 1 })
	r.publish(nova.Broadcast(), 1)
	p.quote(1)
}

func TestNoHelloFromNovaClient(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{HandshakeTimeout: 50 * time.Millisecond})
	p := r.dial("?nova=2", "")
	p.frame()
	p.frame()
	p.expectEnd(1002, "no hello")
}

// The time for the handshake is the client's: how long hooks take is not its fault.
func TestSlowHookIsNoSilentClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const timeout = time.Second
		r := newQuietRig(t, hub.Options{AuthorizeTopic: func(context.Context, *nova.Client, string) error {
			time.Sleep(4 * timeout)
			return nil
		}}, server.Options{HandshakeTimeout: timeout})
		p := r.greet(r.dialPipe(), "session/1", "topics/1")
		p.send(&control.Attach{Topics: []control.Cursor{{Topic: "t"}}})
		var m control.Session
		p.control(control.SessionID, &m)
		var sub control.TopicSubscribed
		p.expectFrame(control.TopicSubscribedID, 1, &sub)
		p.sync()
	})
}

func TestShutdown(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	peers := []*rawPeer{r.join("", ""), r.join("", ""), r.join("?nova=2", "")}
	for _, p := range peers {
		p.sync()
	}
	for n := 1; n <= 10; n++ {
		r.publish(nova.Broadcast(), n)
	}
	for _, p := range peers {
		p.quote(1) // what was published is on its way
	}
	done := make(chan error, 1)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	go func() { done <- r.srv.Shutdown(ctx) }()
	for _, p := range peers {
		for n := 2; n <= 10; n++ {
			p.quote(uint64(n))
		}
		p.expectEnd(1012, "service restart")
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if _, res := r.tryDial("", ""); res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
		t.Errorf("an upgrade while draining: %v", res.Status)
	}
	late := r.dial("?nova=2", "")
	if code, _ := late.ended(); code != 1013 {
		t.Errorf("a nova client while draining: %d", code)
	}
	if status, _ := r.get("/readyz", ""); status != http.StatusServiceUnavailable {
		t.Errorf("readyz %d", status)
	}
}

func TestHubClosesBehindItsData(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	p := r.join("", "")
	p.sync()
	for n := 1; n <= 500; n++ {
		r.publish(nova.Broadcast(), n)
	}
	closed := make(chan error, 1)
	go func() { closed <- r.hub.Close(context.Background()) }()
	for n := 1; n <= 500; n++ {
		p.quote(uint64(n))
	}
	p.expectEnd(1012, "service restart")
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

func TestShutdownCutsWhoDoesNotGo(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	p := r.join("", "")
	p.sync()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := r.srv.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("shutdown: %v", err)
	}
	if n := r.srv.Metrics().Connections; n != 0 {
		t.Errorf("%d connections left", n)
	}
}

func TestGates(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{
		Token: "open sesame", Authenticate: pinned, MaxConnections: 2,
		Origins: []string{"https://*.example.com", "http://localhost:3000"},
	})
	const good = "Authorization: Bearer open sesame\r\n"
	for _, c := range []struct {
		query, header string
		status, code  int
	}{
		{"", "", 401, 0},
		{"", "Authorization: Bearer wrong\r\n", 401, 0},
		{"?nova=2", "", 101, 4401},
		{"?nova=2", good + "Origin: https://evil.org\r\n", 403, 0},
		{"", good + "Origin: https://example.com.evil.org\r\n", 403, 0},
		{"", good + "Origin: https://evil.org/.example.com\r\n", 403, 0},
		{"", good + "Origin: http://a.example.com\r\n", 403, 0},
		{"", good + "Origin: null\r\n", 403, 0},
		{"", good + "Origin: https://a.example.com\r\n", 101, 0},
		{"", good + "Origin: HTTP://LOCALHOST:3000\r\n", 101, 0},
		{"", good, 503, 0},
		{"?nova=2", good, 101, 1013},
	} {
		p, res := r.tryDial(c.query, c.header)
		if res.StatusCode != c.status {
			t.Errorf("%q %q: %s, want %d", c.query, c.header, res.Status, c.status)
			continue
		}
		if c.code != 0 {
			if c.code == 1013 { // it might come back for a session
				p.send(&control.Hello{Version: 2, Caps: []string{"session/1"}})
				p.send(&control.Attach{})
			}
			if code, _ := p.ended(); code != c.code {
				t.Errorf("%q %q: closed %d, want %d", c.query, c.header, code, c.code)
			}
			p.net.Close()
			open := 0
			if c.code == 1013 {
				open = 2
			}
			eventually(t, "the refused connection is gone", func() bool { return r.srv.Metrics().Connections == open })
		}
	}
}

func TestBadUpgrades(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	for _, header := range []map[string]string{
		{},
		{"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"},
		{"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "8", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="},
		{"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "c2hvcnQ="},
	} {
		req, _ := http.NewRequest(http.MethodGet, r.web.URL+"/ws", nil)
		for k, v := range header {
			req.Header.Set(k, v)
		}
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusBadRequest {
			t.Errorf("%v: %s", header, res.Status)
		}
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

func (r *rig) get(path, token string) (int, string) {
	r.t.Helper()
	req, _ := http.NewRequest(http.MethodGet, r.web.URL+path, nil)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	client := r.web.Client()
	res, err := client.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return res.StatusCode, string(body)
}
