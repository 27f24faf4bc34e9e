package client

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ignex/nova"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/wire"
)

func testStream(t *testing.T) *stream {
	t.Helper()
	c, err := New("ws://x/ws", Options{Schema: market.Schema})
	if err != nil {
		t.Fatal(err)
	}
	return newStream(&Subscription{c: c, name: "t"}, nil, false)
}

func quote(symbol string, ts int64) nova.Delivery {
	b, err := (&market.Quote{Symbol: symbol, Ts: ts}).AppendNova(nil)
	if err != nil {
		panic(err)
	}
	return nova.Delivery{Event: market.QuoteEvent.Info(), Offset: uint64(ts), Payload: b}
}

// A full stream keeps the newest of each key, in the order they came.
func TestStreamLatest(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	s := testStream(t)
	newest := map[string]int64{}
	got := map[string]int64{}
	last := int64(0)
	pop := func() bool {
		d, ok, _, _ := s.pop()
		if !ok {
			return false
		}
		var q market.Quote
		if err := q.UnmarshalNova(d.Payload); err != nil || q.Ts <= last {
			t.Fatalf("seed %d: %d after %d, %v", seed, q.Ts, last, err)
		}
		last, got[q.Symbol] = q.Ts, q.Ts
		return true
	}
	for ts := int64(1); ts <= 30000; ts++ {
		symbol := fmt.Sprint(rng.IntN(500))
		newest[symbol] = ts
		if v := s.push(market.QuoteEvent.ID(), quote(symbol, ts)); v != pushedWaits {
			t.Fatalf("seed %d: push %d: %v", seed, ts, v)
		}
		if len(s.list) > 3*maxStreamFrames || s.live > maxStreamFrames {
			t.Fatalf("seed %d: %d entries, %d live", seed, len(s.list), s.live)
		}
		if rng.IntN(20) == 0 {
			pop()
		}
	}
	for pop() {
	}
	for symbol, ts := range newest {
		if got[symbol] != ts {
			t.Errorf("seed %d: %s ended at %d, want %d", seed, symbol, got[symbol], ts)
		}
	}
	if s.live != 0 || s.bytes != 0 || s.latest != nil {
		t.Errorf("empty, it counts %d frames of %d bytes", s.live, s.bytes)
	}
}

func TestStreamClasses(t *testing.T) {
	must, drop := &wire.Event{Name: "m", ID: 1, Delivery: wire.DeliverMust}, &wire.Event{Name: "d", ID: 2, Delivery: wire.DeliverDrop}
	s := testStream(t)
	for i := range maxStreamFrames {
		if v := s.push(2, nova.Delivery{Event: drop, Offset: uint64(i + 1)}); v != pushedWaits {
			t.Fatalf("frame %d: %v", i, v)
		}
	}
	if v := s.push(2, nova.Delivery{Event: drop}); v != pushedDropped {
		t.Errorf("a frame that may be dropped: %v", v)
	}
	s.pop()
	if v := s.push(2, nova.Delivery{Event: drop}); v != pushedWaits {
		t.Errorf("with room again: %v", v)
	}
	if v := s.push(1, nova.Delivery{Event: must}); v != pushedEnded {
		t.Errorf("a frame that must come: %v", v)
	}
	n := 0
	for {
		_, ok, ended, err := s.pop()
		if ok {
			n++
			continue
		}
		if !ended || nova.CodeOf(err) != nova.Exhausted {
			t.Errorf("ends with %v", err)
		}
		break
	}
	if n != maxStreamFrames {
		t.Errorf("%d frames before the error", n)
	}
	for _, c := range []struct {
		d    nova.Delivery
		want string
	}{
		{nova.Delivery{Topic: "t", Offset: 7, Seq: 9}, `offsets of "t" 7 to 7`},
		{nova.Delivery{Seq: 9}, "delivery numbers 9 to 9"},
	} {
		if g := consumerGap(c.d); !strings.HasPrefix(g.String(), c.want) {
			t.Errorf("%v, want %s", g, c.want)
		}
	}
}

// An iterator over one event that begins between the two steps of a dispatch has
// nothing of another.
func TestStreamClaimedDuringADispatch(t *testing.T) {
	s := testStream(t)
	s.backlog = true
	d := quote("A", 1)
	d.Topic = "t"
	if !s.wants(market.QuoteEvent.ID(), &d) || !s.claim(market.ChatEvent.Info()) {
		t.Fatal("not the case to test")
	}
	s.push(market.QuoteEvent.ID(), d)
	if d, ok, _, _ := s.pop(); ok {
		t.Errorf("it has %+v", d)
	}
}
