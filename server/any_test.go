package server_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/wire"
)

// notes collects what handlers saw, in order.
type notes struct {
	mu   sync.Mutex
	list []string
}

func (n *notes) add(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, fmt.Sprintf(format, args...))
}

func (n *notes) have(t *testing.T, want ...string) {
	t.Helper()
	eventually(t, fmt.Sprint("handlers saw ", want), func() bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		return len(n.list) >= len(want)
	})
	n.mu.Lock()
	defer n.mu.Unlock()
	if !slices.Equal(n.list, want) {
		t.Errorf("handlers saw %q, want %q", n.list, want)
	}
}

// OnAny sees every event that clients may send, behind the event's own handlers,
// whenever they were added, and lets nobody send anything.
func TestOnAny(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	var n notes
	off := r.hub.OnAny(func(_ context.Context, from *nova.Client, event *wire.Event, payload []byte) error {
		var q market.Quote
		if event.Name == "quote" && q.UnmarshalNova(payload) != nil {
			t.Errorf("payload %x", payload)
		}
		n.add("any %s %d", event.Name, q.Ts)
		return errors.New("of no consequence")
	})
	p := r.join("", "")
	p.send(frameOf(market.TradeEvent, &market.Trade{}))
	p.sync()
	if m := r.hub.Metrics(); m.NotAllowed != 1 {
		t.Errorf("%d refused", m.NotAllowed)
	}
	market.QuoteEvent.On(r.hub, func(_ context.Context, _ *nova.Client, q *market.Quote) error {
		n.add("own %d", q.Ts)
		return nil
	})
	if err := r.hub.AllowInbound("trade"); err != nil {
		t.Fatal(err)
	}
	p.send(frameOf(market.QuoteEvent, quote(1)))
	p.send(frameOf(market.TradeEvent, &market.Trade{}))
	n.have(t, "own 1", "any quote 1", "any trade 0")
	off()
	p.send(frameOf(market.QuoteEvent, quote(2)))
	n.have(t, "own 1", "any quote 1", "any trade 0", "own 2")
}

// Once runs once, for the first event that decodes, and lets nobody send it.
func TestOnce(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	var n notes
	once := func(name string) func() {
		return market.QuoteEvent.Once(r.hub, func(_ context.Context, _ *nova.Client, q *market.Quote) error {
			n.add("%s %d", name, q.Ts)
			return nil
		})
	}
	once("first")
	p := r.join("", "")
	p.send(frameOf(market.QuoteEvent, quote(1)))
	p.sync()
	if m := r.hub.Metrics(); m.NotAllowed != 1 {
		t.Errorf("%d refused", m.NotAllowed)
	}
	market.QuoteEvent.On(r.hub, func(_ context.Context, _ *nova.Client, q *market.Quote) error {
		n.add("on %d", q.Ts)
		return nil
	})
	broken := append(wire.AppendHeader(nil, market.QuoteEvent.ID()), 4, 0, 0, 0, 255, 255, 255, 255)
	p.write(ws.AppendMasked(nil, ws.Binary, broken, [4]byte{}))
	off := once("taken away")
	off()
	p.send(frameOf(market.QuoteEvent, quote(2)))
	p.send(frameOf(market.QuoteEvent, quote(3)))
	n.have(t, "first 2", "on 2", "on 3")
}

// eventFrame is an event as a client sends it.
type eventFrame []byte

func (f eventFrame) AppendFrame(dst []byte) ([]byte, error) { return append(dst, f...), nil }

func frameOf[T any](event nova.Event[T], v *T) eventFrame {
	frame, err := event.AppendFrame(nil, v)
	if err != nil {
		panic(err)
	}
	return frame
}
