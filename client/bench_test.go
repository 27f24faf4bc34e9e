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

// BenchmarkReceive measures one quote from publish to typed handler, over
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
	market.QuoteEvent.Listen(c, func(context.Context, *market.Quote) error {
		if n++; n == b.N {
			close(done)
		}
		return nil
	})
	q := &market.Quote{Symbol: "AAPL", Bid: 1, Ask: 2}
	for admitted := (nova.Result{}); admitted.Members == 0; { // that is when the server has our hello
		if err := market.TradeEvent.Publish(b.Context(), h, nova.Broadcast(), &market.Trade{}, nova.Report(&admitted)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		if err := market.QuoteEvent.Publish(b.Context(), h, nova.Broadcast(), q); err != nil {
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
