package client_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/client"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/wire/control"
)

func TestConnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		var r record
		c := f.client(client.Options{Schema: market.Schema, OnStatus: r.status,
			Token: func(context.Context) (string, error) { return "secret", nil }})
		if s := c.Status(); s.State != client.Idle {
			t.Errorf("status before connect: %v", s.State)
		}
		// All of this may come before the connection.
		if _, err := c.Subscribe(t.Context(), "equities"); err != nil {
			t.Error(err)
		}
		if err := c.JoinGroup(t.Context(), "desk"); err != nil {
			t.Error(err)
		}
		if err := market.ChatEvent.Send(t.Context(), c, &market.Chat{Text: "early"}); err != nil {
			t.Error(err)
		}
		result := make(chan error, 1)
		go func() { result <- c.Connect(t.Context()) }()
		p := f.next()
		if p.uri != "/ws?nova=2" || p.auth != "Bearer secret" {
			t.Errorf("asked for %q with %q", p.uri, p.auth)
		}
		p.expect("hello 2 [session/1 topics/1 batch/1 calls/1 auth/1 schema/" + market.Schema.Fingerprint() + "] 0")
		p.quiet() // what follows depends on the server's hello
		p.welcome()
		p.expect("subscribe equities", "joinGroup desk", "chat early")
		if err := <-result; err != nil {
			t.Fatal(err)
		}
		if c.ClientID() != "c1" || fmt.Sprint(c.Groups()) != "[all staff]" {
			t.Errorf("is %q in %v", c.ClientID(), c.Groups())
		}
		if err := c.Snapshot(t.Context(), "equities", 7); err != nil {
			t.Error(err)
		}
		if err := c.LeaveGroup(t.Context(), "desk"); err != nil {
			t.Error(err)
		}
		p.expect("snapshot equities 7", "leaveGroup desk")
		r.is(t, "connecting, connected")
		shut(t, c, p)
		r.is(t, "closed")
		if err := c.Connect(t.Context()); nova.CodeOf(err) != nova.Unavailable {
			t.Errorf("connect after close: %v", err)
		}
		if err := market.ChatEvent.Send(t.Context(), c, &market.Chat{}); nova.CodeOf(err) != nova.Unavailable {
			t.Errorf("send after close: %v", err)
		}
		if _, err := c.Subscribe(t.Context(), "x"); nova.CodeOf(err) != nova.Unavailable {
			t.Errorf("subscribe after close: %v", err)
		}
	})
}

func TestReconnectRestores(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		var r record
		c, p := f.start(client.Options{OnStatus: r.status})
		a, err := c.Subscribe(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		b, _ := c.Subscribe(t.Context(), "b")
		b2, _ := c.Subscribe(t.Context(), "b")
		_ = c.JoinGroup(t.Context(), "g")
		p.expect("subscribe a", "subscribe b", "joinGroup g")
		b2.Close()
		p.quiet() // shared
		a.Close()
		a.Close()
		p.expect("unsubscribe a")
		p.conn.Close()
		r.is(t, "connecting, connected, reconnecting (unavailable)")
		// Sent while there is no connection: waits for the next one.
		if err := market.ChatEvent.Send(t.Context(), c, &market.Chat{Text: "between"}); err != nil {
			t.Error(err)
		}
		p = f.next()
		p.expect("hello 2 [session/1 topics/1 batch/1 calls/1] 0")
		p.welcome()
		p.expect("subscribe b", "joinGroup g", "chat between")
		b.Close()
		p.expect("unsubscribe b")
		r.is(t, "connected")
		if n := c.Stats().Connects; n != 2 {
			t.Errorf("counts %d connects", n)
		}
		shut(t, c, p)
	})
}

func TestFlapping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		c, p := f.start(client.Options{})
		if _, err := c.Subscribe(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		for i := range 30 {
			p.conn.Close()
			p = f.next()
			p.expect("hello 2 [session/1 topics/1 batch/1 calls/1] 0")
			p.welcome()
			p.expect("subscribe a")
			if i%5 == 4 { // lose some before the welcome, too
				p.conn.Close()
				p = f.next()
				p.conn.Close()
				p = f.next()
				p.welcome()
			}
		}
		// No connection was stable: the windows have grown, so this took minutes.
		if d := time.Since(start); d < time.Minute || d > 30*time.Minute {
			t.Errorf("42 reconnects took %v", d)
		}
		time.Sleep(11 * time.Second)
		p.conn.Close()
		lost := time.Now()
		p = f.next()
		if d := time.Since(lost); d > 250*time.Millisecond {
			t.Errorf("after a stable connection the wait was %v", d)
		}
		p.welcome()
		shut(t, c, p)
	})
}

func TestCloseCodes(t *testing.T) {
	for _, c := range []struct {
		code   int
		reason string
		want   string // state, and code of its error
	}{
		{1000, "replaced by newer session", "closed (unavailable)"},
		{1001, "going away", "reconnecting (unavailable)"},
		{1002, "no hello", "closed (failed_precondition)"},
		{1003, "text frame received", "closed (invalid)"},
		{1008, "rate limit exceeded", "reconnecting (unavailable)"},
		{1008, "policy", "closed (denied)"},
		{1009, "message too big", "closed (invalid)"},
		{1011, "", "reconnecting (unavailable)"},
		{1012, "service restart", "reconnecting (unavailable)"},
		{1013, "slow consumer", "reconnecting (unavailable)"},
		{4401, "token expired", "closed (unauthenticated)"},
		{4403, "not allowed", "closed (denied)"},
	} {
		t.Run(fmt.Sprint(c.code, c.reason), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t)
				var r record
				conn, p := f.start(client.Options{OnStatus: r.status})
				sub, _ := conn.Subscribe(t.Context(), "a")
				p.expect("subscribe a") // its own write, before the answer to what follows
				p.write(ws.AppendClose(nil, c.code, c.reason))
				p.expect(fmt.Sprintf("close %d", c.code))
				p.conn.Close()
				r.is(t, "connecting, connected, "+c.want)
				if strings.HasPrefix(c.want, "closed") {
					err := conn.Status().Err
					if !strings.Contains(err.Error(), c.reason) {
						t.Errorf("the reason is lost: %v", err)
					}
					if got := market.ChatEvent.Send(t.Context(), conn, &market.Chat{}); got != err {
						t.Errorf("send: %v, want %v", got, err)
					}
					for _, got := range market.ChatEvent.All(t.Context(), sub) {
						if got != err {
							t.Errorf("iterator ends with %v, want %v", got, err)
						}
					}
				}
				if err := conn.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestGoawayAndRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		c, p := f.start(client.Options{})
		p.send(goaway(7300))
		p.close(1012, "service restart")
		lost := time.Now()
		f.set("HTTP/1.1 503 Service Unavailable\r\nRetry-After: 4\r\nContent-Length: 8\r\n\r\ndraining", false)
		time.Sleep(8 * time.Second) // one attempt, refused
		f.set("", false)
		p = f.next()
		dials := f.dialled()
		if d := dials[1].Sub(lost); d != 7300*time.Millisecond {
			t.Errorf("waited %v where goaway said 7.3 s", d)
		}
		if d := dials[2].Sub(dials[1]); d != 4*time.Second {
			t.Errorf("waited %v where Retry-After said 4 s", d)
		}
		p.welcome()
		shut(t, c, p)
	})
}

// goaway builds nova.goaway {reason: "", retry_after_ms} by hand.
func goaway(ms int64) []byte {
	b := []byte{2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	id := uint32(2166136261)
	for _, c := range "nova.goaway" {
		id = (id ^ uint32(c)) * 16777619
	}
	b[1], b[2], b[3], b[4] = byte(id), byte(id>>8), byte(id>>16), byte(id>>24)
	table := []byte{
		40, 0, 0, 0, 16, 0, 0, 0, // size, root at 4+16
		0, 0, 0, 0, // pad
		8, 0, 16, 0, 4, 0, 8, 0, // vtable: string at 4, number at 8
		8, 0, 0, 0, // vtable is 8 before
		12, 0, 0, 0, // string 12 further
		byte(ms), byte(ms >> 8), byte(ms >> 16), 0, 0, 0, 0, 0,
		0, 0, 0, 0, 0, 0, 0, 0, // empty string, padded
	}
	return append(b, table...)
}

func TestToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		calls := 0
		token := func(context.Context) (string, error) {
			calls++
			if calls == 3 {
				return "", errors.New("login server is down")
			}
			return fmt.Sprint("t", calls), nil
		}
		var r record
		c, p := f.start(client.Options{Token: token, OnStatus: r.status})
		p.conn.Close()
		p = f.next()
		if p.auth != "Bearer t1" {
			t.Errorf("after a loss the token is %q, want the same", p.auth)
		}
		p.welcome()
		time.Sleep(11 * time.Second)
		p.close(4401, "token expired")
		p = f.next()
		if p.auth != "Bearer t2" {
			t.Errorf("after 4401 the token is %q, want a new one", p.auth)
		}
		p.welcome()
		time.Sleep(11 * time.Second)
		p.close(4401, "token expired")
		p = f.next()
		if p.auth != "Bearer t4" {
			t.Errorf("after a failed token call the token is %q, want a new one", p.auth)
		}
		p.close(4401, "token refused")
		synctest.Wait()
		if s := c.Status(); s.State != client.Closed || nova.CodeOf(s.Err) != nova.Unauthenticated {
			t.Errorf("after a second 4401 with a new token: %+v", s)
		}
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestFirstAttempt(t *testing.T) {
	for name, set := range map[string]struct {
		refuse string
		down   bool
		want   nova.Code
		text   string
		state  client.State
	}{
		"down":      {"", true, nova.Unavailable, "connection refused", client.Reconnecting},
		"401":       {"HTTP/1.1 401 Unauthorized\r\nContent-Length: 12\r\n\r\nunauthorized", false, nova.Unauthenticated, "401 Unauthorized (unauthorized)", client.Closed},
		"403":       {"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", false, nova.Denied, "403 Forbidden", client.Closed},
		"404":       {"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", false, nova.Unavailable, "404 Not Found", client.Reconnecting},
		"not HTTP":  {"SSH-2.0-OpenSSH_9.6\r\n\r\n", false, nova.Unavailable, "", client.Reconnecting},
		"no answer": {" ", false, nova.Unavailable, "", client.Reconnecting},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t)
				f.set(set.refuse, set.down)
				c := f.client(client.Options{})
				err := c.Connect(t.Context())
				if nova.CodeOf(err) != set.want || !strings.Contains(err.Error(), set.text) {
					t.Errorf("connect: %v", err)
				}
				synctest.Wait()
				if s := c.Status(); s.State != set.state {
					t.Errorf("goes on as %v, want %v", s.State, set.state)
				}
				if err := c.Close(t.Context()); err != nil {
					t.Error(err)
				}
				if _, err := client.Dial(t.Context(), "ws://test/ws", client.Options{NetDial: f.dial}); nova.CodeOf(err) != set.want {
					t.Errorf("dial: %v", err)
				}
			})
		})
	}
}

// What the server has ended for good is not reported as connected, though it was.
func TestConnectAfterTheServersEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := newFake(t).start(client.Options{})
		p.close(4403, "banned")
		synctest.Wait()
		for _, err := range []error{c.Connect(t.Context()), c.Resume(t.Context())} {
			if nova.CodeOf(err) != nova.Denied || !strings.Contains(err.Error(), "banned") {
				t.Errorf("got %v", err)
			}
		}
	})
}

func TestSilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		start := time.Now()
		c := f.client(client.Options{})
		result := make(chan error, 1)
		go func() { result <- c.Connect(t.Context()) }()
		p := f.next()
		p.expect("hello 2 [session/1 topics/1 batch/1 calls/1] 0")
		if err := <-result; nova.CodeOf(err) != nova.Unavailable || time.Since(start) != 10*time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
		p.expect("the end")
	})
}

func TestWrongVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		c := f.client(client.Options{})
		result := make(chan error, 1)
		go func() { result <- c.Connect(t.Context()) }()
		p := f.next()
		p.control(&control.Hello{Version: 3})
		p.expect("hello 2 [session/1 topics/1 batch/1 calls/1] 0", "close 1002 wire version mismatch")
		p.conn.Close()
		if err := <-result; nova.CodeOf(err) != nova.FailedPrecondition || !strings.Contains(err.Error(), "version 3") {
			t.Errorf("got %v", err)
		}
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestQueueFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		var r record
		c, p := f.start(client.Options{Queue: client.Queue{MaxFrames: 5}, OnError: func(err error) { r.add("%v", nova.CodeOf(err)) }})
		f.set("", true)
		p.conn.Close()
		synctest.Wait()
		for i := range 7 {
			err := market.ChatEvent.Send(t.Context(), c, &market.Chat{Text: fmt.Sprint(i)})
			if got := nova.CodeOf(err); i < 5 && got != nova.OK || i >= 5 && got != nova.Exhausted {
				t.Errorf("send %d: %v", i, err)
			}
		}
		r.is(t, "unavailable") // the loss
		time.Sleep(31 * time.Second)
		if err := market.ChatEvent.Send(t.Context(), c, &market.Chat{Text: "young"}); err != nil {
			t.Error(err)
		}
		if got := r.take(); strings.Count(got, "deadline_exceeded") != 5 {
			t.Errorf("5 old frames were dropped, told: %s", got)
		}
		f.set("", false)
		p = f.next()
		p.welcome()
		p.expect("hello 2 [session/1 topics/1 batch/1 calls/1] 0", "chat young")
		shut(t, c, p)
	})
}

func TestBadOptions(t *testing.T) {
	for _, address := range []string{"", "localhost:3000", "ftp://x/ws", "ws://", "ws://%zz"} {
		if _, err := client.New(address, client.Options{}); nova.CodeOf(err) != nova.Invalid {
			t.Errorf("%q: %v", address, err)
		}
	}
	for _, o := range []client.Options{
		{MaxMessageSize: -1}, {HandshakeTimeout: -1}, {HeartbeatMisses: -1},
		{Queue: client.Queue{MaxFrames: -1}}, {Gate: client.Gate{Timeout: -1}}, {Reconnect: client.Reconnect{Max: -1}},
	} {
		if _, err := client.New("ws://x/ws", o); nova.CodeOf(err) != nova.Invalid {
			t.Errorf("%+v: %v", o, err)
		}
	}
	c, err := client.New("http://x/ws?a=b", client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "a\nb", "a\x7fb", "a\u0085b", "\xff", strings.Repeat("x", 256)} {
		if _, err := c.Subscribe(t.Context(), name); nova.CodeOf(err) != nova.Invalid {
			t.Errorf("topic %q: %v", name, err)
		}
		if err := c.JoinGroup(t.Context(), name); nova.CodeOf(err) != nova.Invalid {
			t.Errorf("group %q: %v", name, err)
		}
	}
	for _, name := range []string{"a", "größe", "a\uFFFDb", strings.Repeat("x", 255)} {
		if _, err := c.Subscribe(t.Context(), name); err != nil {
			t.Errorf("topic %q: %v", name, err)
		}
	}
}
