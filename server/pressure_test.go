package server_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
)

// A reader that stalls is told once above the bound, and once when it has read.
func TestPressureOfAStalledReader(t *testing.T) {
	calls := make(chan bool, 100)
	r := newRig(t, hub.Options{Backpressure: hub.Backpressure{MaxBytes: 64 << 20}, OnPressure: func(_ context.Context, c *nova.Client, high bool) { calls <- high }}, server.Options{})
	p := r.join("", "")
	p.sync()
	n, pad := 0, fmt.Sprintf("%010000d", 0)
	for r.srv.Metrics().Hub.Frames.Unsent < 800 { // of 1,024
		if n++; n > 10_000 {
			t.Fatal("the queue never filled")
		}
		if err := market.OrderEvent.Publish(t.Context(), r.hub, nova.Broadcast(), &market.Order{OrderID: pad}); err != nil {
			t.Fatal(err)
		}
		r.hub.Client(p.id).Leave("a topic it is not in") // waits for the loop
	}
	if high := <-calls; !high || len(calls) > 0 {
		t.Errorf("high %v, and %d more", high, len(calls))
	}
	for range n {
		p.frame()
	}
	if high := <-calls; high || len(calls) > 0 {
		t.Errorf("high %v, and %d more", high, len(calls))
	}
}
