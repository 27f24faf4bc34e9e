package server_test

import (
	"context"
	"testing"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/wire"
)

// What one read brought is judged number by number: what follows is handled,
// repetitions are dropped, and a gap ends it there, whatever comes behind.
func TestUpstreamNumbersInOneWrite(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	got := make(chan int64, 200)
	market.QuoteEvent.On(r.hub, func(_ context.Context, _ *nova.Client, q *market.Quote) error {
		got <- q.Ts
		return nil
	})
	p, _ := r.attach("", "", 0)
	var block []byte
	for _, seq := range []uint64{1, 2, 2, 1, 3, 5, 4} {
		frame, err := market.QuoteEvent.AppendFrame(nil, quote(int(seq)))
		if err != nil {
			t.Fatal(err)
		}
		wire.Stamp(frame, seq)
		block = ws.AppendMasked(block, ws.Binary, frame, [4]byte{5, 6, 7, 8})
	}
	p.write(block)
	p.expectEnd(1002, "frame number does not follow")
	for n := int64(1); n <= 3; n++ {
		if ts := <-got; ts != n {
			t.Errorf("handled %d, want %d", ts, n)
		}
	}
	if n := r.hub.Metrics().Inbound["quote"]; n != 3 {
		t.Errorf("counted %d", n)
	}
}
