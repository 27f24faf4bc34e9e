package server_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/wire/control"
)

// A shutdown flushes what must arrive also to a client that reads slowly and had all of
// it queued: first the data, then the close.
func TestShutdownFlushesWhatMustArrive(t *testing.T) {
	const frames = 300
	r := newRig(t, hub.Options{Backpressure: hub.Backpressure{MaxBytes: 64 << 20}}, server.Options{})
	p, _ := r.attach("", "", 0)
	note := fmt.Sprintf("%030000d", 0)
	publish := func(n int) {
		err := market.OrderEvent.Publish(t.Context(), r.hub, nova.Broadcast(), &market.Order{OrderID: note, CreatedAt: int64(n)})
		if err != nil {
			t.Fatal(err)
		}
	}
	for n := 1; n <= frames; n++ {
		publish(n)
	}
	if f := r.hub.Metrics().Frames; f.Unsent < frames/10 {
		t.Fatalf("only %d frames are queued", f.Unsent)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- r.srv.Shutdown(ctx) }()
	eventually(t, "the server drains", func() bool { status, _ := r.get("/readyz", ""); return status == 503 })
	next, told := int64(1), false
	for next <= frames {
		head, payload := p.data()
		var order market.Order
		switch {
		case head.ID == control.GoawayID:
			told = true
		case head.ID != market.OrderEvent.ID() || order.UnmarshalNova(payload) != nil || order.CreatedAt != next || head.Seq != uint64(next):
			t.Fatalf("%+v (order %d) where order %d was due", head, order.CreatedAt, next)
		default:
			next++
		}
	}
	p.expectEnd(1012, "service restart")
	if err := <-done; err != nil || !told {
		t.Errorf("told %v, %v", told, err)
	}
}
