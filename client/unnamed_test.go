package client_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/client"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/wire"
	"github.com/ignex/nova/wire/control"
)

// A topic without history gives its frames no offsets, so that they come without
// the topic's name: its iterators have them all the same.
func TestIteratorOfATopicWithoutHistory(t *testing.T) {
	r := newReal(t, false, hub.Options{History: hub.History{Size: -1}}, server.Options{})
	market.ChatEvent.On(r.hub, func(ctx context.Context, _ *nova.Client, _ *market.Chat) error {
		return market.QuoteEvent.Publish(ctx, r.hub, nova.Topic("equities"), &market.Quote{Ts: 7})
	})
	c := r.dial(t, client.Options{})
	sub, err := c.Subscribe(t.Context(), "equities")
	if err != nil {
		t.Fatal(err)
	}
	if err := market.ChatEvent.Send(t.Context(), c, &market.Chat{Text: "publish"}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for q, err := range market.QuoteEvent.All(ctx, sub) {
		if err != nil || q.Ts != 7 {
			t.Errorf("got %+v, %v", q, err)
		}
		return
	}
	t.Error("the iterator has nothing")
}

// An event that is not retained has no offset either. What is retained and comes
// without a topic is of none, once the topic has offsets.
func TestIteratorOfAnEventThatIsNotRetained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		c, p := f.start(client.Options{}, "topics/1")
		passing := *market.ChatEvent.Info()
		passing.Retain = wire.RetainNone
		c.ListenFrame(&passing, func(context.Context, nova.Delivery) error { return nil })
		c.ListenFrame(market.QuoteEvent.Info(), func(context.Context, nova.Delivery) error { return nil })
		sub, _ := c.Subscribe(t.Context(), "a")
		p.expect(`nova.subscribe 1 a "" 0`)
		p.control(&control.TopicSubscribed{ID: 1, Topic: "a", Epoch: "A", Offset: 3})
		quote, _ := market.QuoteEvent.AppendFrame(nil, &market.Quote{Symbol: "to everyone"})
		p.send(quote)
		p.send(chat("passing", 0))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		got := 0
		for d, err := range sub.Frames(ctx, nil) {
			if got++; err != nil || d.Event != &passing {
				t.Errorf("got %v, %v", d.Event, err)
			}
		}
		if got != 1 {
			t.Errorf("%d frames", got)
		}
		shut(t, c, p)
	})
}
