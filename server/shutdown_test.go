package server_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/wire"
	"github.com/ignex/nova/wire/control"
)

// farewell is what a client was told before its socket closed.
type farewell struct {
	code   int
	delay  time.Duration // −1 = none was told
	trades int
	err    error
}

// untilClosed reads all that comes and answers the close frame.
func (p *rawPeer) untilClosed() (f farewell) {
	f.delay = -1
	for {
		m, err := p.tryNext()
		if err != nil {
			f.err = err
			return f
		}
		if m.op == ws.Close {
			break
		}
		head, payload, err := wire.ParseFrame(m.data)
		switch {
		case err != nil: // a ping
		case head.ID == control.GoawayID:
			var away control.Goaway
			f.err = errors.Join(f.err, away.UnmarshalNova(payload))
			f.delay = time.Duration(away.RetryAfterMs) * time.Millisecond
		case head.ID == market.TradeEvent.ID():
			f.trades++
		}
	}
	f.code = p.closed.Code
	p.net.Close()
	return f
}

// Five hundred clients learn that the server goes and when to come back, and get
// first what was published to them.
// Without any time connections are cut off at once, and the error says that, and not
// that something of the application hangs.
func TestShutdownWithoutTime(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	r.join("", "").sync()
	ctx, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	err := r.srv.Shutdown(ctx)
	if nova.CodeOf(err) != nova.DeadlineExceeded || !strings.Contains(err.Error(), "1 of 1 connections did not end in time and were cut off") {
		t.Errorf("%v", err)
	}
	if n := r.srv.Metrics().Connections; n != 0 {
		t.Errorf("%d connections are left", n)
	}
}

func TestShutdownWithManyClients(t *testing.T) {
	const clients, trades = 500, 20
	r := newRig(t, hub.Options{}, server.Options{})
	var wg sync.WaitGroup
	farewells := make(chan farewell, clients)
	for range clients {
		p, _ := r.attach("", "", 0)
		p.sync()
		wg.Go(func() { farewells <- p.untilClosed() })
	}
	for range trades {
		if err := market.TradeEvent.Publish(t.Context(), r.hub, nova.Broadcast(), &market.Trade{}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	began := time.Now()
	if err := r.srv.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	t.Logf("took %v", time.Since(began))
	stacks := make([]byte, 4<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	if i := bytes.Index(stacks, []byte("github.com/ignex/nova/server.(")); i >= 0 {
		t.Errorf("a goroutine of the server is left:\n%.600s", stacks[max(0, i-300):])
	}
	if n := r.srv.Metrics().Connections; n != 0 {
		t.Errorf("%d connections once Shutdown has returned", n)
	}
	wg.Wait()
	close(farewells)
	delays := map[time.Duration]bool{}
	var least, most time.Duration = time.Hour, 0
	for f := range farewells {
		if f.err != nil || f.code != 1012 || f.trades != trades {
			t.Fatalf("closed %d after %d trades, want 1012 after %d (%v)", f.code, f.trades, trades, f.err)
		}
		delays[f.delay], least, most = true, min(least, f.delay), max(most, f.delay)
	}
	// Of 500 even draws from 2,000 ms the chance of fewer different ones, or of none in
	// the first or last fifth, is nil.
	if len(delays) < 300 || least < 0 || least > 400*time.Millisecond || most < 1600*time.Millisecond || most > 2*time.Second {
		t.Errorf("%d different delays from %v to %v, want them spread over 2s", len(delays), least, most)
	}
	if n := r.hub.Metrics().Detached; n != clients {
		t.Errorf("%d sessions are kept for those who come back", n)
	}
}

// The more there are, the longer they are asked to take: as the accept rate of a
// server like this one wants it, and no longer than their sessions last.
func TestDelaysFollowTheAcceptRate(t *testing.T) {
	for _, c := range []struct {
		ttl        time.Duration
		least, end time.Duration
	}{{time.Minute, 2500 * time.Millisecond, 6250 * time.Millisecond}, {time.Second, 0, 500 * time.Millisecond}} {
		r := newRig(t, hub.Options{Session: hub.SessionOptions{TTL: c.ttl}}, server.Options{AcceptRate: 10})
		var peers []*rawPeer
		for range 50 {
			p, _ := r.attach("", "", 0)
			peers = append(peers, p)
		}
		done := make(chan error, 1)
		go func() { done <- r.srv.Shutdown(t.Context()) }()
		most := time.Duration(0)
		for _, p := range peers {
			f := p.untilClosed()
			if f.code != 1012 || f.delay < 0 {
				t.Fatalf("%+v", f)
			}
			most = max(most, f.delay)
		}
		if most < c.least || most > c.end {
			t.Errorf("with sessions of %v the last of 50 comes after %v, want up to %v", c.ttl, most, c.end)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// An upgrade whose authentication takes long is refused when it is through, and
// holds nothing up.
func TestShutdownDuringAnUpgrade(t *testing.T) {
	entered, finish := make(chan struct{}), make(chan struct{})
	r := newRig(t, hub.Options{}, server.Options{Authenticate: func(context.Context, server.Credentials) (server.Identity, error) {
		close(entered)
		<-finish
		return server.Identity{}, nil
	}})
	answer := make(chan int, 1)
	go func() {
		_, res := r.tryDial("", "")
		answer <- res.StatusCode
	}()
	<-entered
	if err := r.srv.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	close(finish)
	if status := <-answer; status != http.StatusServiceUnavailable {
		t.Errorf("the upgrade was answered %d", status)
	}
	if n := r.srv.Metrics().Connections; n != 0 {
		t.Errorf("%d connections", n)
	}
}

// Who does not close is cut off before the time is over.
func TestShutdownReturnsBeforeItsDeadline(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	p, _ := r.attach("", "", 0)
	p.sync()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	err := r.srv.Shutdown(ctx)
	if ctx.Err() != nil {
		t.Error("it returned at its deadline")
	}
	if nova.CodeOf(err) != nova.DeadlineExceeded || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("shutdown: %v", err)
	}
	if n := r.srv.Metrics().Connections; n != 0 {
		t.Errorf("%d connections left", n)
	}
	if f := p.untilClosed(); f.code != 1012 || f.delay < 0 {
		t.Errorf("%+v", f)
	}
}

// A hook that never ends cannot be stopped, and Shutdown does not wait for it beyond
// its time.
func TestShutdownWithAStuckHook(t *testing.T) {
	entered, finish := make(chan struct{}), make(chan struct{})
	var once atomic.Bool
	r := newRig(t, hub.Options{AuthorizeTopic: func(context.Context, *nova.Client, string) error {
		if once.CompareAndSwap(false, true) {
			close(entered)
		}
		<-finish
		return nil
	}}, server.Options{})
	defer close(finish)
	p := r.join("?nova=2", "", "session/1", "topics/1")
	p.send(&control.Attach{Topics: []control.Cursor{{Topic: "t"}}})
	<-entered
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := r.srv.Shutdown(ctx); nova.CodeOf(err) != nova.DeadlineExceeded {
		t.Errorf("shutdown: %v", err)
	}
}

// Close does not wait for clients that are still being told why they were refused.
func TestCloseDuringARefusal(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{Token: "t"})
	p := r.dial("?nova=2", "")
	if code, _ := p.ended(); code != 4401 {
		t.Errorf("closed %d", code)
	}
	began := time.Now() // the socket stays open on our side
	r.srv.Close()
	if d := time.Since(began); d > time.Second {
		t.Errorf("Close took %v", d)
	}
}

// A hub that was closed first holds nothing up.
func TestShutdownAfterTheHub(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	p, _ := r.attach("", "", 0)
	p.sync()
	if err := r.hub.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	go p.untilClosed()
	if err := r.srv.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}
