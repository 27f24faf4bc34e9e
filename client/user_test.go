package client_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/ignex/nova"
	"github.com/ignex/nova/client"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
)

// The user changes again and again while the client sends and follows a topic: it
// keeps its connection, its subscription and the order of what it sends.
func TestUserChangesOnOneConnection(t *testing.T) {
	inbound := make(chan string, 1000)
	recovered := make(chan bool, 100)
	r := newReal(t, false, hub.Options{}, server.Options{})
	market.QuoteEvent.On(r.hub, func(_ context.Context, from *nova.Client, q *market.Quote) error {
		inbound <- fmt.Sprint(from.User(), " ", q.Ts)
		return nil
	})
	c := r.dial(t, client.Options{OnError: func(err error) { t.Log(err) }})
	c.OnRecovered(func(ok bool) { recovered <- ok })
	sub, err := c.Subscribe(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan int64, 100)
	frames := market.QuoteEvent.All(t.Context(), sub)
	go func() {
		for q, err := range frames {
			if err != nil {
				close(got)
				return
			}
			got <- q.Ts
		}
	}()
	t.Cleanup(func() { sub.Close() })
	for n, user := range []string{"ann", "eve", "bob", "", "ann"} {
		if _, err := r.hub.Clients()[0].SetUser(user); err != nil {
			t.Fatal(err)
		}
		if ok := take(t, recovered); ok != (n == 0 || n == 4) {
			t.Errorf("to %q: recovered %v", user, ok)
		}
		if err := market.QuoteEvent.Send(t.Context(), c, &market.Quote{Ts: int64(n)}); err != nil {
			t.Fatal(err)
		}
		if line := take(t, inbound); line != fmt.Sprint(user, " ", n) {
			t.Errorf("handled %q", line)
		}
		for len(r.hub.Clients()[0].Topics()) == 0 { // it asks again by itself
		}
		if err := market.QuoteEvent.Publish(t.Context(), r.hub, nova.Topic("t"), &market.Quote{Ts: int64(n)}); err != nil {
			t.Fatal(err)
		}
		if ts := take(t, got); ts != int64(n) {
			t.Errorf("topic brings %d, want %d", ts, n)
		}
	}
	if n := r.srv.Metrics().Accepted; n != 1 {
		t.Errorf("%d connections", n)
	}
}
