package server_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"net"
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
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/wire"
	"github.com/ignex/nova/wire/control"
)

// times notes when quotes were handled, by their number.
type times struct {
	mu    sync.Mutex
	start time.Time
	at    map[int]time.Duration
}

func (r *rig) times() *times {
	n := &times{start: time.Now(), at: map[int]time.Duration{}}
	market.QuoteEvent.On(r.hub, func(_ context.Context, _ *nova.Client, q *market.Quote) error {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.at[int(q.Ts)] = time.Since(n.start)
		return nil
	})
	return n
}

func (n *times) expect(t *testing.T, want map[int]time.Duration) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	if !maps.Equal(n.at, want) {
		t.Errorf("handled at\n%v\nwant\n%v", n.at, want)
	}
}

// quotes are messages of quotes from..to; numbered says that they have numbers too.
func quotes(t testing.TB, from, to int, numbered bool) (block []byte) {
	t.Helper()
	for n := from; n <= to; n++ {
		frame, err := market.QuoteEvent.AppendFrame(nil, quote(n))
		if err != nil {
			t.Fatal(err)
		}
		if numbered {
			wire.Stamp(frame, uint64(n))
		}
		block = ws.AppendMasked(block, ws.Binary, frame, [4]byte{1, 2, 3, 4})
	}
	return block
}

// Delayed frames are handled one by one, each as soon as there is a token, and the
// connection lives, however long that takes.
func TestRateLimitDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newQuietRig(t, hub.Options{}, server.Options{
			RateLimit: server.RateLimit{MessagesPerSecond: 0.5, Burst: 5}, Heartbeat: time.Second})
		got := r.times()
		p := r.greet(r.dialPipe()) // its hello takes one
		p.net.SetDeadline(time.Now().Add(time.Hour))
		want := map[int]time.Duration{}
		for n := 1; n <= 24; n++ {
			want[n] = 2 * time.Second * time.Duration(max(0, n-4))
		}
		p.write(quotes(t, 1, 24, false))
		time.Sleep(30 * time.Second)
		p.write(ping()) // read after all, at 40 s
		if d := time.Since(got.start); d != 40*time.Second {
			t.Errorf("the socket was read after %v", d)
		}
		synctest.Wait()
		got.expect(t, want)
		if m := r.srv.Metrics(); m.RateLimited != 21 || m.Connections != 1 {
			t.Errorf("%d limited, %d connections, closed %v", m.RateLimited, m.Connections, m.Closed)
		}
	})
}

// A connection that waits for a token is closed at once when the server wants to, and
// when its client hangs up that is found out.
func TestRateLimitDelayEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newQuietRig(t, hub.Options{}, server.Options{
			RateLimit: server.RateLimit{MessagesPerSecond: 0.0000001, Burst: 1}, Heartbeat: -1}) // counts as 0.001
		got := r.times()
		p := r.greet(r.dialPipe())
		p.net.SetDeadline(time.Now().Add(time.Hour))
		p.write(quotes(t, 1, 3, false))
		time.Sleep(1000 * time.Second)
		synctest.Wait()
		got.expect(t, map[int]time.Duration{1: 1000 * time.Second})
		p.net.SetDeadline(time.Now().Add(time.Hour))
		done := make(chan error, 1)
		go func() { done <- r.srv.Shutdown(t.Context()) }()
		p.expectEnd(1012, "service restart")
		if err := <-done; err != nil {
			t.Error(err)
		}
		if d := time.Since(got.start); d > 1010*time.Second {
			t.Errorf("after %v", d)
		}
		got.expect(t, map[int]time.Duration{1: 1000 * time.Second})
	})
}

// Dropped are events and pings; what expects an answer is refused, what gives
// something up is done.
func TestRateLimitDrop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newQuietRig(t, hub.Options{}, server.Options{
			RateLimit: server.RateLimit{MessagesPerSecond: 1, Burst: 8, Policy: server.LimitDrop}})
		got := r.times()
		p := r.attachPipe() // takes two
		p.net.SetDeadline(time.Now().Add(time.Hour))
		p.send(&control.JoinGroup{Group: "g"})
		p.write(quotes(t, 1, 10, true))
		p.write(ping())
		p.send(&control.Ping{})
		p.send(&control.TopicSubscribe{ID: 7, Topic: "t", Offset: -1})
		p.send(&control.JoinGroup{Group: "h"})
		var no control.TopicRejected
		p.expectFrame(control.TopicRejectedID, 1, &no)
		if no.ID != 7 || no.Topic != "t" || no.Code != int64(nova.Exhausted) || no.Message != "rate limit exceeded" {
			t.Errorf("%+v", no)
		}
		no = control.TopicRejected{}
		p.expectFrame(control.TopicRejectedID, 2, &no)
		if no.Group != "h" || no.Code != int64(nova.Exhausted) {
			t.Errorf("%+v", no)
		}
		p.send(&control.RpcCall{ID: "c", Name: "quote"})
		var result control.RpcResult
		p.expectFrame(control.RpcResultID, 0, &result)
		if result.ID != "c" || result.Ok || !strings.Contains(result.Err, "rate limit") {
			t.Errorf("%+v", result)
		}
		p.send(&control.LeaveGroup{Group: "g"})
		synctest.Wait()
		if g := r.hub.Client(p.id).Groups(); len(g) > 0 {
			t.Errorf("in %v after leaving", g)
		}
		p.send(&control.Ack{Seq: 2})
		p.send(&control.Ack{Seq: 2})
		synctest.Wait()
		got.expect(t, map[int]time.Duration{1: 0, 2: 0, 3: 0, 4: 0, 5: 0})
		time.Sleep(2 * time.Second)
		p.write(quotes(t, 11, 13, true)) // numbers go on behind those that were dropped
		p.send(&control.Ack{Seq: 2})
		synctest.Wait()
		got.expect(t, map[int]time.Duration{1: 0, 2: 0, 3: 0, 4: 0, 5: 0, 11: 2 * time.Second, 12: 2 * time.Second})
		if m := r.srv.Metrics(); m.RateLimited != 5+5+1+2+1+1 || m.Connections != 1 || m.Hub.RejectedJoins != 2 {
			t.Errorf("%d limited, %d rejected, %d connections, closed %v", m.RateLimited, m.Hub.RejectedJoins, m.Connections, m.Closed)
		}
	})
}

// A resume beyond the limit is answered all the same, but brings nothing again.
func TestRateLimitedResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newQuietRig(t, hub.Options{}, server.Options{
			RateLimit: server.RateLimit{MessagesPerSecond: 1, Burst: 2, Policy: server.LimitDrop}})
		p := r.greet(r.dialPipe())
		synctest.Wait()
		r.publish(nova.Broadcast(), 1)
		p.quote(1)
		for _, want := range []control.Resumed{{Ok: true, From: 1}, {}, {}} {
			p.send(&control.Resume{})
			var m control.Resumed
			p.control(control.ResumedID, &m)
			if m != want {
				t.Errorf("%+v, want %+v", m, want)
			}
			if m.Ok {
				p.quote(1)
			}
		}
		p.send(&control.Hello{Version: 2, LastSeq: 1})
		var m control.Resumed
		if p.control(control.ResumedID, &m); m.Ok {
			t.Errorf("hello: %+v", m)
		}
	})
}

func TestRateLimitClose(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{
		RateLimit: server.RateLimit{MessagesPerSecond: 0.001, Burst: 5, Policy: server.LimitClose}})
	got := r.times()
	p := r.join("", "")
	p.write(quotes(t, 1, 10, false))
	p.expectEnd(1008, "rate limit exceeded")
	eventually(t, "what came before is handled", func() bool {
		got.mu.Lock()
		defer got.mu.Unlock()
		return slices.Equal(slices.Sorted(maps.Keys(got.at)), []int{1, 2, 3, 4})
	})
	if m := r.srv.Metrics(); m.RateLimited != 1 || m.Closed[1008] != 1 {
		t.Errorf("%d limited, closed %v", m.RateLimited, m.Closed)
	}
}

// The connections of one user share a bucket, also one that comes after the others
// left, and those of other users and of none are not concerned.
func TestRateLimitPerUser(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{
		Authenticate: func(_ context.Context, c server.Credentials) (server.Identity, error) {
			return server.Identity{UserID: c.Request.URL.Query().Get("user")}, nil
		},
		RateLimit: server.RateLimit{MessagesPerSecond: -1, Burst: 10, PerUser: 0.001, Policy: server.LimitClose}})
	for range 2 {
		r.join("?user=ann", "").sync()
	}
	p := r.join("?user=ann", "")
	for range 5 {
		p.sync() // 2 × 2 + 1 + 5 = 10
	}
	p.net.Close()
	eventually(t, "it is gone", func() bool { return r.srv.Metrics().Connections == 2 })
	p = r.join("?user=ann", "") // its hello is let pass
	p.send(&control.Ping{})
	p.expectEnd(1008, "rate limit exceeded")
	for _, other := range []string{"?user=bob", ""} {
		p = r.join(other, "")
		for range 9 {
			p.sync()
		}
	}
	p.sync() // nobody has no limit
	// Nobody becomes Ann.
	if _, err := r.hub.Client(p.id).SetUser("ann"); err != nil {
		t.Fatal(err)
	}
	p.send(&control.Ping{})
	p.expectEnd(1008, "rate limit exceeded")
}

// The connections of one address share a bucket.
func TestRateLimitPerIP(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{
		RateLimit: server.RateLimit{MessagesPerSecond: -1, Burst: 10, PerIP: 0.001, Policy: server.LimitClose}})
	for range 5 {
		r.join("", "").sync()
	}
	other := r.joinFrom("127.0.0.2")
	p := r.join("", "")
	p.send(&control.Ping{})
	p.expectEnd(1008, "rate limit exceeded")
	for range 9 {
		other.sync()
	}
	other.send(&control.Ping{})
	other.expectEnd(1008, "rate limit exceeded")
}

// joinFrom is join from an address of this machine.
func (r *rig) joinFrom(ip string) *rawPeer {
	r.t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}
	nc, err := d.Dial("tcp", r.web.Listener.Addr().String())
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { nc.Close() })
	return r.greet(r.upgrade(nc, "", ""))
}

// Waiting connections of one address go on one by one at its rate, in the order they
// came, and one that gives up leaves its turn to the others.
func TestRateLimitQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newQuietRig(t, hub.Options{}, server.Options{
			Authenticate: func(context.Context, server.Credentials) (server.Identity, error) {
				return server.Identity{UserID: "ann"}, nil
			},
			RateLimit: server.RateLimit{PerUser: 1, Burst: 5}})
		got := r.times()
		var peers []*rawPeer
		for n := 1; n <= 5; n++ { // their hellos take what there is
			peers = append(peers, r.greet(r.dialPipe()))
			synctest.Wait()
		}
		for n, p := range peers {
			p.write(quotes(t, n+1, n+1, false))
			synctest.Wait()
		}
		time.Sleep(time.Second)
		synctest.Wait()
		r.hub.Client(peers[4].id).Disconnect(4000, "not now")
		synctest.Wait()
		peers[0].write(quotes(t, 6, 6, false))
		time.Sleep(10 * time.Second)
		synctest.Wait()
		want := map[int]time.Duration{}
		for n, seconds := range []int{1, 2, 3, 4} {
			want[n+1] = time.Duration(seconds) * time.Second
		}
		want[6] = 5 * time.Second
		got.expect(t, want)
	})
}

// The limit that a single connection keeps is told in nova.session.
func TestRateLimitIsTold(t *testing.T) {
	for _, c := range []struct {
		limit       server.RateLimit
		rate, burst int64
	}{
		{server.RateLimit{}, 0, 0},
		{server.RateLimit{Policy: server.LimitDrop}, 100, 100},
		{server.RateLimit{Burst: 30}, 100, 30},
		{server.RateLimit{MessagesPerSecond: 20.5}, 20, 21},
		{server.RateLimit{MessagesPerSecond: 0.001, Burst: 5}, 1, 5},
		{server.RateLimit{MessagesPerSecond: -1}, 0, 0},
		{server.RateLimit{MessagesPerSecond: -1, PerUser: 50}, 50, 50},
		{server.RateLimit{MessagesPerSecond: 200, PerIP: 50, Burst: 80}, 50, 80},
	} {
		r := newRig(t, hub.Options{}, server.Options{RateLimit: c.limit})
		if _, m := r.attach("", "", 0); m.Rate != c.rate || m.Burst != c.burst {
			t.Errorf("%+v: told %d, %d, want %d, %d", c.limit, m.Rate, m.Burst, c.rate, c.burst)
		}
	}
}

func TestRateLimitOptions(t *testing.T) {
	h, err := hub.New(hub.Options{Schema: market.Schema})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close(t.Context())
	for _, c := range []struct {
		limit server.RateLimit
		want  string
	}{
		{server.RateLimit{MessagesPerSecond: math.NaN()}, "RateLimit has the rate NaN"},
		{server.RateLimit{PerIP: math.Inf(1)}, "RateLimit has the rate +Inf"},
		{server.RateLimit{Burst: -1}, "Burst is -1"},
		{server.RateLimit{Policy: 3}, "Policy 3 is unknown"},
	} {
		if _, err := server.New(h, server.Options{RateLimit: c.limit}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.limit, err, c.want)
		}
	}
}

// A clock that steps back brings nothing and locks nobody: from where it is now the
// tokens come as before.
func TestRateLimitClockStepsBack(t *testing.T) {
	for name, limit := range map[string]server.RateLimit{
		"connection": {MessagesPerSecond: 1, Burst: 3, Policy: server.LimitDrop},
		"address":    {MessagesPerSecond: -1, PerIP: 1, Burst: 3, Policy: server.LimitDrop},
	} {
		t.Run(name, func(t *testing.T) { clockStepsBack(t, limit) })
	}
}

func clockStepsBack(t *testing.T, limit server.RateLimit) {
	r := newRig(t, hub.Options{}, server.Options{RateLimit: limit})
	var now atomic.Int64
	now.Store(int64(time.Hour))
	r.srv.SetLimitClock(now.Load)
	got := make(chan int64, 16)
	market.QuoteEvent.On(r.hub, func(_ context.Context, _ *nova.Client, q *market.Quote) error {
		got <- q.Ts
		return nil
	})
	p := r.join("", "")
	limited, step := uint64(0), 0
	send := func(n, allowed int) {
		t.Helper()
		step++
		p.write(quotes(t, step*10, step*10+n-1, false))
		for i := range allowed {
			if ts := <-got; ts != int64(step*10+i) {
				t.Fatalf("step %d: handled %d", step, ts)
			}
		}
		limited += uint64(n - allowed)
		eventually(t, fmt.Sprint("step ", step, ": the rest is dropped"), func() bool { return r.srv.Metrics().RateLimited == limited })
	}
	send(4, 2)
	now.Add(-int64(30 * time.Minute))
	send(2, 0)
	now.Add(int64(time.Second))
	send(2, 1)
	now.Add(-int64(30 * time.Minute))
	now.Add(int64(time.Second))
	send(1, 0) // it noticed only now
	now.Add(int64(2 * time.Second))
	send(3, 2)
	now.Add(int64(time.Hour))
	send(4, 3)
}

func ExampleRateLimit() {
	h, err := hub.New(hub.Options{Schema: market.Schema})
	if err != nil {
		panic(err)
	}
	srv, err := server.New(h, server.Options{RateLimit: server.RateLimit{
		MessagesPerSecond: 50,                // of one connection
		Burst:             100,               // after a pause
		PerUser:           100,               // of all connections of a user together
		Policy:            server.LimitDelay, // the socket is not read until there is a token
	}})
	if err != nil {
		panic(err)
	}
	http.Handle("/ws", srv)
	srv.Close()
	h.Close(context.Background())
	// Output:
}
