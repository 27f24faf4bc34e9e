package hub_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/wire"
)

const burstOf = 100

// busy returns a function that has a client send one burst and waits until it is
// handled.
func busy(t testing.TB, decode bool) (send func()) {
	h := newHub(t, hub.Options{})
	done, n := make(chan struct{}), 0
	count := func() {
		if n++; n%burstOf == 0 {
			done <- struct{}{}
		}
	}
	if decode {
		market.QuoteEvent.On(h, func(context.Context, *nova.Client, *market.Quote) error { count(); return nil })
	} else if _, err := h.HandleFrame(market.QuoteEvent.Info(), func(context.Context, *nova.Client, []byte) error {
		count()
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	p := connect(t, h, hub.Identity{})
	payload, err := (&market.Quote{Ts: 1}).AppendNova(nil)
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		b := h.Burst()
		for range burstOf {
			b.Add(wire.Header{ID: market.QuoteEvent.ID()}, payload)
		}
		p.session.Inbound(&p.cursor, b)
		<-done
	}
}

// A burst costs a few allocations, its frames none.
func TestBurstCostsLittleMemory(t *testing.T) {
	send := busy(t, false)
	if n := testing.AllocsPerRun(200, send); n > burstOf/5 {
		t.Errorf("%v allocations for %d frames", n, burstOf)
	}
}

func BenchmarkBurst(b *testing.B) {
	for name, decode := range map[string]bool{"raw": false, "decoded": true} {
		b.Run(name, func(b *testing.B) {
			send := busy(b, decode)
			b.ReportAllocs()
			for b.Loop() {
				send()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/burstOf, "ns/frame")
		})
	}
}

// One burst with all that can happen: an event nobody may send, one the schema does
// not have, one only counted, handlers that fail and panic, payloads that do not
// decode. Each frame is counted once and keeps its own payload.
func TestMixedBurst(t *testing.T) {
	h := newHub(t, hub.Options{})
	if err := h.AllowInbound("trade"); err != nil {
		t.Fatal(err)
	}
	var got []int64
	done := make(chan struct{})
	market.QuoteEvent.On(h, func(_ context.Context, _ *nova.Client, q *market.Quote) error {
		got = append(got, q.Ts)
		switch q.Ts {
		case 2:
			panic("on purpose")
		case 3:
			return errors.New("on purpose")
		case 5:
			close(done)
		}
		return nil
	})
	p := connect(t, h, hub.Identity{})
	b := h.Burst()
	add := func(id uint32, payload []byte) {
		b.Add(wire.Header{ID: id}, payload)
		clear(payload) // the burst has a copy
	}
	for n := int64(1); n <= 5; n++ {
		payload, err := (&market.Quote{Ts: n}).AppendNova(nil)
		if err != nil {
			t.Fatal(err)
		}
		switch n {
		case 2:
			add(market.TradeEvent.ID(), []byte("only counted"))
		case 3:
			add(12345, []byte("unknown"))
		case 4:
			add(market.PortfolioEvent.ID(), []byte("refused"))
			add(market.QuoteEvent.ID(), []byte("malformed"))
		}
		add(market.QuoteEvent.ID(), payload)
	}
	p.session.Inbound(&p.cursor, b)
	<-done
	if len(got) != 5 || got[0] != 1 || got[3] != 4 {
		t.Errorf("handled %v", got)
	}
	m := h.Metrics()
	if m.Inbound["quote"] != 6 || m.Inbound["trade"] != 1 || m.UnknownEvents != 1 || m.NotAllowed != 1 ||
		m.HandlerErrors["quote"] != 2 || m.Undecodable != 1 {
		t.Errorf("%+v", m)
	}
}

// Frames that the reader of a closed socket gave up on leave a hole: those after
// them, for which there is room again, are neither taken nor held against the client,
// who sends them all again over its next socket.
func TestNothingBehindAHole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, hub.Options{})
		release, handled := make(chan struct{}), []int64{}
		market.QuoteEvent.On(h, func(_ context.Context, _ *nova.Client, q *market.Quote) error {
			<-release
			handled = append(handled, q.Ts)
			return nil
		})
		p := connect(t, h, hub.Identity{})
		sent := uint64(0)
		send := func(n int) bool {
			b := h.Burst()
			for range n {
				sent++
				payload, err := (&market.Quote{Ts: int64(sent)}).AppendNova(nil)
				if err != nil {
					t.Fatal(err)
				}
				b.Add(wire.Header{ID: market.QuoteEvent.ID(), Seq: sent}, payload)
			}
			_, ok := p.session.InboundNumbered(&p.cursor, b)
			return ok
		}
		for range 3 {
			send(100) // the third waits from here on
			if sent == 200 {
				go func() {
					synctest.Wait()
					p.session.Cut(&p.cursor)
				}()
			}
		}
		close(release)
		synctest.Wait()
		if !send(10) {
			t.Error("a frame after those left out is the client's fault")
		}
		synctest.Wait()
		if len(handled) != 200 {
			t.Errorf("%d frames handled, want 200", len(handled))
		}
	})
}
