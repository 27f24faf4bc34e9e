package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/wire"
	"github.com/ignex/nova/wire/control"
)

// A slow AuthorizePublish keeps the order of its client's events and holds up nobody
// else, not even the pings of that client.
func TestSlowAuthorizePublish(t *testing.T) {
	const slow = 5 * time.Second
	synctest.Test(t, func(t *testing.T) {
		r := newQuietRig(t, hub.Options{
			AuthorizePublish: func(ctx context.Context, c *nova.Client, e *wire.Event) error {
				if c.User() == "slow" {
					time.Sleep(slow)
				}
				return nil
			},
		}, server.Options{Authenticate: userFromQuery})
		got := r.times()
		a, b := r.greet(r.dialPipe("user=slow")), r.greet(r.dialPipe("user=quick"))
		a.write(quotes(t, 1, 3, false))
		b.write(quotes(t, 11, 13, false))
		a.sync()
		b.sync()
		if d := time.Since(got.start); d != 0 {
			t.Errorf("pongs after %v", d)
		}
		time.Sleep(4 * slow)
		synctest.Wait()
		got.expect(t, map[int]time.Duration{1: slow, 2: 2 * slow, 3: 3 * slow, 11: 0, 12: 0, 13: 0})
	})
}

func userFromQuery(_ context.Context, c server.Credentials) (server.Identity, error) {
	return server.Identity{UserID: c.Request.URL.Query().Get("user")}, nil
}

// What AuthorizePublish refuses, by an error or a panic, is counted and not handled,
// and nothing tells the client. It is asked about all that a client may send.
func TestAuthorizePublishRefuses(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	var logged bytes.Buffer
	r := newRig(t, hub.Options{
		Logger: slog.New(slog.NewTextHandler(&logged, nil)),
		AuthorizePublish: func(_ context.Context, _ *nova.Client, e *wire.Event) error {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, e.Name)
			switch len(asked) {
			case 1:
				return errors.New("not now")
			case 2:
				panic("oops")
			}
			return nil
		},
	}, server.Options{})
	if err := r.hub.AllowInbound("chat"); err != nil { // with nobody listening
		t.Fatal(err)
	}
	got := r.times()
	p, _ := r.attach("", "", 0)
	p.write(quotes(t, 1, 3, true))
	p.frameOf(market.ChatEvent.AppendFrame(nil, &market.Chat{}))(4)
	p.frameOf(market.TradeEvent.AppendFrame(nil, &market.Trade{}))(5) // not allowed: nobody is asked
	p.sync()
	eventually(t, "all is done", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(asked) == 4
	})
	p.write(quotes(t, 6, 6, true))
	eventually(t, "the last is handled", func() bool {
		got.mu.Lock()
		defer got.mu.Unlock()
		_, ok := got.at[6]
		return ok && len(got.at) == 2
	})
	if want := []string{"quote", "quote", "quote", "chat", "quote"}; !slices.Equal(asked, want) {
		t.Errorf("asked %v, want %v", asked, want)
	}
	if m := r.hub.Metrics(); m.NotAllowed != 3 || m.Undecodable != 0 {
		t.Errorf("%d not allowed, %d undecodable", m.NotAllowed, m.Undecodable)
	}
	if !strings.Contains(logged.String(), "hook panicked") || strings.Contains(logged.String(), "not now") {
		t.Errorf("logged %s", logged.String())
	}
}

// frameOf sends a frame with a number.
func (p *rawPeer) frameOf(frame []byte, err error) func(seq uint64) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
	return func(seq uint64) {
		p.t.Helper()
		wire.Stamp(frame, seq)
		p.message(frame)
	}
}

// strictQuote is a quote whose type has constraints.
type strictQuote struct{ market.Quote }

func (q *strictQuote) Validate() error {
	if q.Bid > q.Ask {
		return fmt.Errorf("/bid: %g is above the ask", q.Bid)
	}
	return nil
}

var strictEvent = nova.NewEvent[strictQuote](market.Schema, "quote")

// Values that break their constraints reach no handler; without Validate nobody looks.
func TestInboundValidation(t *testing.T) {
	for _, c := range []struct {
		validate []string
		valid    bool
	}{{nil, false}, {[]string{"trade"}, false}, {[]string{"trade", "quote"}, true}, {[]string{"*"}, true}} {
		r := newRig(t, hub.Options{Validate: c.validate}, server.Options{MaxUndecodable: 1})
		got := make(chan float64, 8)
		for range 2 {
			strictEvent.On(r.hub, func(_ context.Context, _ *nova.Client, q *strictQuote) error {
				got <- q.Bid
				return nil
			})
		}
		p := r.join("", "")
		for _, bid := range []float64{9, 1} {
			p.frameOf(market.QuoteEvent.AppendFrame(nil, &market.Quote{Bid: bid, Ask: 5}))(0)
		}
		if !c.valid {
			for range 2 {
				if bid := <-got; bid != 9 {
					t.Errorf("%v: %g", c.validate, bid)
				}
			}
		}
		for range 2 {
			if bid := <-got; bid != 1 {
				t.Errorf("%v: %g", c.validate, bid)
			}
		}
		m := r.hub.Metrics()
		if want := map[bool]uint64{true: 1}[c.valid]; m.Invalid != want || m.HandlerErrors["quote"] != 0 || m.Undecodable != 0 {
			t.Errorf("%v: %d invalid, want %d; %d errors", c.validate, m.Invalid, want, m.HandlerErrors["quote"])
		}
	}
	if _, err := hub.New(hub.Options{Schema: market.Schema, Validate: []string{"qoute"}}); err == nil || !strings.Contains(err.Error(), `"qoute"`) {
		t.Errorf("an unknown event: %v", err)
	}
}

// A descriptor that validates by itself counts like Options.Validate, and what is not
// valid is not the one that Once waits for.
func TestInboundValidationOfADescriptor(t *testing.T) {
	for name, listen := range map[string]func(*rig, func(context.Context, *nova.Client, *strictQuote) error) func(){
		"validated": func(r *rig, fn func(context.Context, *nova.Client, *strictQuote) error) func() {
			return strictEvent.Validated().On(r.hub, fn)
		},
		"once": func(r *rig, fn func(context.Context, *nova.Client, *strictQuote) error) func() {
			return strictEvent.Once(r.hub, fn)
		},
	} {
		o := hub.Options{Inbound: []string{"quote"}}
		if name == "once" {
			o.Validate = []string{"*"}
		}
		r := newRig(t, o, server.Options{MaxUndecodable: 1})
		got := make(chan float64, 2)
		defer listen(r, func(_ context.Context, _ *nova.Client, q *strictQuote) error {
			got <- q.Bid
			return nil
		})()
		p := r.join("", "")
		for _, bid := range []float64{9, 1} {
			p.frameOf(market.QuoteEvent.AppendFrame(nil, &market.Quote{Bid: bid, Ask: 5}))(0)
		}
		if bid := <-got; bid != 1 {
			t.Errorf("%s: %g", name, bid)
		}
		if m := r.hub.Metrics(); m.Invalid != 1 || m.HandlerErrors["quote"] != 0 || m.Undecodable != 0 {
			t.Errorf("%s: %d invalid, %d errors, %d undecodable", name, m.Invalid, m.HandlerErrors["quote"], m.Undecodable)
		}
	}
}

// CheckInbound sees the payload of what handlers would get.
func TestCheckInbound(t *testing.T) {
	r := newRig(t, hub.Options{Inbound: []string{"chat"},
		CheckInbound: func(_ context.Context, _ *nova.Client, e *wire.Event, payload []byte) error {
			var q market.Quote
			if err := q.UnmarshalNova(payload); err != nil || e.Name != "quote" {
				return fmt.Errorf("%s: %v", e.Name, err)
			}
			if q.Ts%2 == 0 {
				return errors.New("even")
			}
			return nil
		}}, server.Options{})
	got := make(chan int64, 8)
	market.QuoteEvent.On(r.hub, func(_ context.Context, _ *nova.Client, q *market.Quote) error {
		got <- q.Ts
		return nil
	})
	p := r.join("", "")
	p.frameOf(market.ChatEvent.AppendFrame(nil, &market.Chat{}))(0) // nobody listens: not looked at
	p.write(quotes(t, 1, 5, false))
	for _, want := range []int64{1, 3, 5} {
		if ts := <-got; ts != want {
			t.Errorf("%d, want %d", ts, want)
		}
	}
	if m := r.hub.Metrics(); m.Invalid != 2 {
		t.Errorf("%d invalid", m.Invalid)
	}
}

// A slow AuthorizeTopic of one client changes nothing for the others; its own frames
// keep their order, and what it asks for meanwhile waits.
func TestSlowAuthorizeTopic(t *testing.T) {
	const slow = 5 * time.Second
	synctest.Test(t, func(t *testing.T) {
		r := newQuietRig(t, hub.Options{
			AuthorizeTopic: func(ctx context.Context, c *nova.Client, topic string) error {
				if c.User() == "slow" {
					time.Sleep(slow)
				}
				return nil
			},
		}, server.Options{Authenticate: userFromQuery})
		var others []*rawPeer
		a := r.greet(r.dialPipe("user=slow"), "topics/1")
		for range 20 {
			others = append(others, r.greet(r.dialPipe("user=quick"), "topics/1"))
		}
		start := time.Now()
		a.send(&control.TopicSubscribe{ID: 1, Topic: "t", Offset: -1})
		a.send(&control.TopicSubscribe{ID: 2, Topic: "u", Offset: -1})
		for n, p := range others {
			p.send(&control.TopicSubscribe{ID: 1, Topic: "t", Offset: -1})
			p.subscribed()
			r.publish(nova.Topic("t"), n)
			for _, q := range others[:n+1] {
				if ts, _ := q.place(); ts != int64(n) {
					t.Errorf("got %d, want %d", ts, n)
				}
			}
		}
		a.sync()
		if d := time.Since(start); d != 0 {
			t.Errorf("the others waited %v", d)
		}
		for n := 1; n <= 2; n++ {
			if told := a.subscribed(); told.ID != int64(n) || time.Since(start) != time.Duration(n)*slow {
				t.Errorf("%+v after %v", told, time.Since(start))
			}
		}
	})
}
