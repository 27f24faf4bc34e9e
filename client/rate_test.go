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

// A client that sends and asks as fast as it can keeps below the limit that a server
// closes for, and loses nothing.
func TestClientKeepsTheRate(t *testing.T) {
	const frames = 150
	r := newReal(t, false, hub.Options{}, server.Options{
		RateLimit: server.RateLimit{MessagesPerSecond: 200, Burst: 40, Policy: server.LimitClose}})
	handled := make(chan string, frames)
	market.ChatEvent.On(r.hub, func(_ context.Context, _ *nova.Client, m *market.Chat) error {
		handled <- m.Text
		return nil
	})
	c := r.dial(t, client.Options{Schema: market.Schema})
	for n := range frames {
		if n%10 == 0 {
			if _, err := c.Subscribe(t.Context(), fmt.Sprint(n)); err != nil {
				t.Fatal(err)
			}
		}
		say(t, c, fmt.Sprint(n))
	}
	for n := range frames {
		if text := <-handled; text != fmt.Sprint(n) {
			t.Fatalf("handled %s, want %d", text, n)
		}
	}
	if m := r.srv.Metrics(); m.RateLimited != 0 || m.Accepted != 1 {
		t.Errorf("%d limited, %d connections", m.RateLimited, m.Accepted)
	}
}

// Close sends what is queued, as fast as the server takes it.
func TestCloseKeepsTheRate(t *testing.T) {
	const frames = 60
	r := newReal(t, false, hub.Options{}, server.Options{
		RateLimit: server.RateLimit{MessagesPerSecond: 200, Burst: 20, Policy: server.LimitClose}})
	handled := make(chan string, frames)
	market.ChatEvent.On(r.hub, func(_ context.Context, _ *nova.Client, m *market.Chat) error {
		handled <- m.Text
		return nil
	})
	c := r.dial(t, client.Options{Schema: market.Schema})
	for n := range frames {
		say(t, c, fmt.Sprint(n))
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.hub.Close(t.Context()); err != nil { // waits for the handlers
		t.Fatal(err)
	}
	if n := len(handled); n != frames {
		t.Errorf("%d of %d handled", n, frames)
	}
}
