package client_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/client"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
)

// real is the real server on a real socket.
type real struct {
	hub *hub.Hub
	srv *server.Server
	url string
	tls *tls.Config
}

func newReal(t *testing.T, secure bool, ho hub.Options, so server.Options) *real {
	t.Helper()
	ho.Schema = market.Schema
	h, err := hub.New(ho)
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(h, so)
	if err != nil {
		t.Fatal(err)
	}
	r := &real{hub: h, srv: s}
	web := httptest.NewUnstartedServer(s)
	if secure {
		web.StartTLS()
		r.tls = web.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	} else {
		web.Start()
	}
	r.url = web.URL + "/ws"
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		s.Close()
		if err := h.Close(ctx); err != nil {
			t.Error(err)
		}
		web.Close()
	})
	return r
}

func (r *real) dial(t *testing.T, o client.Options) *client.Conn {
	t.Helper()
	o.Schema, o.TLS = market.Schema, r.tls
	c, err := client.Dial(t.Context(), r.url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestRealServer(t *testing.T) {
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprint("tls=", secure), func(t *testing.T) {
			r := newReal(t, secure, hub.Options{}, server.Options{})
			publish := func(ts int64) {
				if err := market.QuoteEvent.Publish(t.Context(), r.hub, nova.Topic("equities"), &market.Quote{Symbol: "AAPL", Ts: ts}); err != nil {
					t.Error(err)
				}
			}
			publish(1)
			publish(2)
			// A chat comes back to everyone.
			market.ChatEvent.On(r.hub, func(ctx context.Context, from *nova.Client, in *market.Chat) error {
				return market.ChatEvent.Publish(ctx, r.hub, nova.Broadcast(), &market.Chat{Room: from.ID(), Text: in.Text})
			})
			c := r.dial(t, client.Options{})
			echoed := make(chan *market.Chat, 1)
			market.ChatEvent.Listen(c, func(_ context.Context, m *market.Chat) error { echoed <- m; return nil })
			if err := market.ChatEvent.Send(t.Context(), c, &market.Chat{Text: "hello"}); err != nil {
				t.Fatal(err)
			}
			if m := <-echoed; m.Text != "hello" || m.Room != c.ClientID() {
				t.Errorf("echo %+v for client %q", m, c.ClientID())
			}
			sub, err := c.Subscribe(t.Context(), "equities")
			if err != nil {
				t.Fatal(err)
			}
			next := int64(1)
			for q, err := range market.QuoteEvent.All(t.Context(), sub) {
				if err != nil || q.Ts != next || q.Symbol != "AAPL" {
					t.Fatalf("got %+v, %v, want quote %d", q, err, next)
				}
				if next == 2 {
					publish(3)
				}
				if next++; next == 4 {
					break
				}
			}
			if p := sub.Position(); p.Offset != 3 || p.Epoch == "" {
				t.Errorf("position %+v", p)
			}
		})
	}
}

// The connection is cut again and again while quotes flow: with positions every
// one of them arrives, once and in order.
func TestRealServerCut(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	const total = 3000
	r := newReal(t, false, hub.Options{History: hub.History{Size: total}}, server.Options{})
	var mu sync.Mutex
	var socket net.Conn
	c := r.dial(t, client.Options{
		Reconnect: client.Reconnect{Initial: time.Millisecond, Max: 2 * time.Millisecond},
		OnGap:     func(g client.Gap) { t.Errorf("%v", g) },
		NetDial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			mu.Lock()
			defer mu.Unlock()
			socket = conn
			return conn, err
		},
	})
	sub, err := c.Subscribe(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	published := make(chan struct{})
	ahead := make(chan struct{}, 500) // a replay brings 1,024 at most
	go func() {
		defer close(published)
		for i := range int64(total) {
			ahead <- struct{}{}
			if err := market.QuoteEvent.Publish(t.Context(), r.hub, nova.Topic("t"), &market.Quote{Ts: i}); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	next := int64(0)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for q, err := range market.QuoteEvent.All(ctx, sub) {
		if err != nil || q.Ts != next {
			t.Fatalf("got %+v, %v, want quote %d", q, err, next)
		}
		<-ahead
		if next++; next == total {
			break
		}
		if rng.IntN(100) == 0 {
			mu.Lock()
			socket.Close()
			mu.Unlock()
		}
	}
	<-published
	if next != total {
		t.Errorf("%d of %d arrived; %+v", next, total, c.Stats())
	}
	t.Logf("%+v", c.Stats())
}

// Without sessions, more is published during an outage than the server replays: the client is
// told what it misses, and goes on with what comes.
func TestRealServerFlood(t *testing.T) {
	r := newReal(t, false, hub.Options{Session: hub.SessionOptions{Off: true}, History: hub.History{Size: 5000}, Backpressure: hub.Backpressure{MaxFrames: 1 << 14, MaxBytes: 16 << 20}}, server.Options{})
	var mu sync.Mutex
	var socket net.Conn
	down := false
	gaps := make(chan client.Gap, 100)
	c := r.dial(t, client.Options{
		Reconnect: client.Reconnect{Initial: time.Millisecond, Max: 2 * time.Millisecond},
		OnGap:     func(g client.Gap) { gaps <- g },
		NetDial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			mu.Lock()
			defer mu.Unlock()
			if down {
				return nil, errors.New("cut")
			}
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			socket = conn
			return conn, err
		},
	})
	sub, err := c.Subscribe(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	publish := func(from, to int64) {
		for i := from; i <= to; i++ {
			if err := market.QuoteEvent.Publish(t.Context(), r.hub, nova.Topic("t"), &market.Quote{Ts: i}); err != nil {
				t.Error(err)
			}
		}
	}
	set := func(cut bool) {
		mu.Lock()
		defer mu.Unlock()
		if down = cut; cut {
			socket.Close()
		}
	}
	publish(1, 1)
	last := int64(0)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for q, err := range market.QuoteEvent.All(ctx, sub) {
		if err != nil || q.Ts <= last {
			t.Fatalf("got %+v, %v after %d", q, err, last)
		}
		switch last = q.Ts; last {
		case 1:
			set(true)
			publish(2, 3000)
			set(false)
			g := <-gaps
			if g.From != 2 {
				t.Errorf("gap %v, want from 2", g)
			}
			publish(3001, 3001)
		case 3001:
			return
		}
	}
	t.Errorf("the last is %d; %+v", last, c.Stats())
}
