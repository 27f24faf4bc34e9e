package client_test

import (
	"context"
	"net/http/httptest"
	"testing"

	"github.com/ignex/nova"
	"github.com/ignex/nova/client"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
)

// BenchmarkReceive measures one trade from publish to typed handler, over
// loopback, with everything that lies between.
func BenchmarkReceive(b *testing.B) {
	h, err := hub.New(hub.Options{Schema: market.Schema, Backpressure: hub.Backpressure{MaxFrames: 1 << 20, MaxBytes: 1 << 30}})
	if err != nil {
		b.Fatal(err)
	}
	s, err := server.New(h, server.Options{})
	if err != nil {
		b.Fatal(err)
	}
	web := httptest.NewServer(s)
	c, err := client.Dial(b.Context(), web.URL, client.Options{Schema: market.Schema})
	if err != nil {
		b.Fatal(err)
	}
	done := make(chan struct{})
	n := 0
	market.TradeEvent.Listen(c, func(context.Context, *market.Trade) error {
		if n++; n == b.N {
			close(done)
		}
		return nil
	})
	trade := &market.Trade{Symbol: "AAPL", Ts: 1}
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		if err := market.TradeEvent.Publish(b.Context(), h, nova.Broadcast(), trade); err != nil {
			b.Fatal(err)
		}
	}
	<-done
	b.StopTimer()
	if err := c.Close(b.Context()); err != nil {
		b.Error(err)
	}
	s.Close()
	if err := h.Close(b.Context()); err != nil {
		b.Error(err)
	}
	web.Close()
}
