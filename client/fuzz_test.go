package client

import (
	"context"
	"net"
	"testing"

	"github.com/ignex/nova"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/wire"
	"github.com/ignex/nova/wire/control"
)

// Whatever a server sends, a client counts it or closes; it never panics.
func FuzzServerFrames(f *testing.F) {
	seeds := []frameAppender{
		&control.Hello{Version: 2, Caps: []string{capTopics}}, &control.Welcome{ClientID: "c", Groups: []string{"g"}},
		&control.Resumed{Ok: true, From: 3}, &control.TopicSubscribed{ID: 1, Topic: "t", Epoch: "e", Offset: 1},
		&control.TopicRejected{ID: 1, Topic: "t", Code: 7}, &control.TopicRejected{Group: "g"}, &control.TopicUnsubscribed{Topic: "t"},
		&control.Pong{Ts: 1},
		&control.Hello{Version: 2, Caps: []string{capSession, capTopics}}, &control.Session{Session: "n.1", NextSeq: 3},
		&control.Gap{From: 1, To: 3, Reason: 2}, &control.Gap{Topic: "t", From: 1, To: 3, Reason: 5}, &control.Ack{Seq: 1},
		&control.Goaway{RetryAfterMs: 5}, &control.Groups{Groups: []string{"g"}},
	}
	for _, m := range seeds {
		frame := encode(m)
		f.Add(frame, frame)
		numbered := encode(m)
		wire.Stamp(numbered, 3)
		f.Add(encode(seeds[0]), numbered)
		f.Add(encode(seeds[8]), frame)
	}
	quote, err := market.QuoteEvent.AppendFrame(nil, &market.Quote{Symbol: "s"})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(quote, quote)
	f.Add(append(quote[:len(quote):len(quote)], encode(seeds[5])...), quote)
	f.Fuzz(func(t *testing.T, first, second []byte) {
		c, err := New("ws://x", Options{Schema: market.Schema})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Subscribe(t.Context(), "t"); err != nil {
			t.Fatal(err)
		}
		ours, theirs := net.Pipe()
		defer ours.Close()
		defer theirs.Close()
		s := &socket{c: c, conn: ours, joined: true}
		c.socket = s
		c.gate.Open()
		c.numbers.Open()
		market.QuoteEvent.Listen(c, func(context.Context, *market.Quote) error { return nil })
		c.ListenAny(func(context.Context, nova.Delivery) error { return nil })
		for _, frame := range [][]byte{first, encode(&control.Session{Session: "n.1", NextSeq: 3}), second, first} {
			if s.frames(frame) != nil {
				return
			}
		}
		if err := s.letGo(); err == nil && c.gate.Waiting() != 0 {
			t.Errorf("the gate still waits for %d", c.gate.Waiting())
		}
	})
}
