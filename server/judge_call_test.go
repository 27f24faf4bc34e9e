package server_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/wire"
	"github.com/ignex/nova/wire/control"
)

// strictRequest is a request whose type has constraints.
type strictRequest struct{ market.GetQuoteRequest }

func (q *strictRequest) Validate() error {
	if q.Symbol == "" {
		return wire.Invalid("the symbol is empty").Under("symbol")
	}
	return nil
}

var strictCall = nova.NewCall[strictRequest, market.Quote](market.Schema, "getQuote")

// request makes the base protocol's call of quote.
func (p *rawPeer) request(id string, q *market.Quote) control.RpcResult {
	p.t.Helper()
	frame, err := market.QuoteEvent.AppendFrame(nil, q)
	if err != nil {
		p.t.Fatal(err)
	}
	p.send(&control.RpcCall{ID: id, Name: "quote", PayloadB64: base64.StdEncoding.EncodeToString(frame)})
	var m control.RpcResult
	p.expectFrame(control.RpcResultID, 0, &m)
	if m.ID != id {
		p.t.Fatalf("answer to %q, want %q", m.ID, id)
	}
	return m
}

// A call whose request breaks its constraints reaches no handler; the caller is told
// which value it is, and is not closed for it. Without Validate nobody looks.
func TestCallValidation(t *testing.T) {
	for _, c := range []struct {
		validate    []string
		call, event bool
	}{
		{validate: nil},
		{validate: []string{"trade"}},
		{validate: []string{"getQuote"}, call: true},
		{validate: []string{"quote"}, event: true},
		{validate: []string{"*"}, call: true, event: true},
	} {
		t.Run(strings.Join(c.validate, ","), func(t *testing.T) {
			r := newRig(t, hub.Options{Validate: c.validate}, server.Options{MaxUndecodable: 1})
			asked := make(chan string, 8)
			if _, err := strictCall.Handle(r.hub, func(_ context.Context, _ *nova.Client, in *strictRequest) (*market.Quote, error) {
				asked <- "call " + in.Symbol
				return &market.Quote{}, nil
			}); err != nil {
				t.Fatal(err)
			}
			if _, err := strictEvent.Respond(r.hub, func(_ context.Context, _ *nova.Client, q *strictQuote) (*strictQuote, error) {
				asked <- "request " + q.Symbol
				return q, nil
			}); err != nil {
				t.Fatal(err)
			}
			p := r.join("", "", "calls/1")
			want, refused := []string{"call ", "request bad"}, uint64(0)
			p.get(0, 1, "")
			if c.call {
				want, refused = want[1:], refused+1
				if m := p.replied(1, nova.Invalid); m.Message != "getQuote: invalid value: /symbol: the symbol is empty" {
					t.Errorf("told %q", m.Message)
				}
			} else {
				p.replied(1, nova.OK)
			}
			m := p.request("a", &market.Quote{Symbol: "bad", Bid: 9, Ask: 5})
			if c.event {
				want, refused = want[:len(want)-1], refused+1
				if m.Ok || !strings.Contains(m.Err, "/bid") {
					t.Errorf("told %+v", m)
				}
			} else if !m.Ok {
				t.Errorf("told %+v", m)
			}
			p.get(0, 2, "S")
			p.replied(2, nova.OK)
			if m := p.request("b", &market.Quote{Symbol: "good"}); !m.Ok {
				t.Errorf("told %+v", m)
			}
			for _, w := range append(want, "call S", "request good") {
				if got := <-asked; got != w {
					t.Errorf("handled %q, want %q", got, w)
				}
			}
			got := r.hub.Metrics()
			if got.Invalid != refused || got.Undecodable != 0 || got.Calls[nova.Invalid] != refused || got.Calls[nova.OK] != 4-refused {
				t.Errorf("%d invalid, want %d; %d undecodable, calls %v", got.Invalid, refused, got.Undecodable, got.Calls)
			}
		})
	}
}

// callHooks writes down what the hooks are asked about.
type callHooks struct {
	mu    sync.Mutex
	asked []string
}

func (h *callHooks) add(what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = append(h.asked, what)
}

// CheckInbound judges the requests of both kinds of calls, after AuthorizePublish and
// only when somebody answers them. What it says is told.
func TestCheckInboundOfCalls(t *testing.T) {
	var asked callHooks
	var logged bytes.Buffer
	r := newRig(t, hub.Options{
		Logger: slog.New(slog.NewTextHandler(&logged, nil)),
		AuthorizePublish: func(_ context.Context, _ *nova.Client, e *wire.Event) error {
			asked.add("authorize " + e.Name)
			return nil
		},
		CheckInbound: func(_ context.Context, c *nova.Client, e *wire.Event, payload []byte) error {
			symbol := "?"
			switch e.Name {
			case "getQuote":
				var m market.GetQuoteRequest
				if m.UnmarshalNova(payload) == nil {
					symbol = m.Symbol
				}
			case "quote":
				var m market.Quote
				if m.UnmarshalNova(payload) == nil {
					symbol = m.Symbol
				}
			}
			asked.add("check " + e.Name + " " + symbol)
			switch symbol {
			case "coded":
				return nova.Errorf(nova.FailedPrecondition, "/symbol: not today")
			case "plain":
				return errors.New("a secret")
			case "panics":
				panic("oops")
			}
			return nil
		},
	}, server.Options{MaxUndecodable: 1})
	r.handle(echoQuote)
	if _, err := market.QuoteEvent.Respond(r.hub, func(_ context.Context, _ *nova.Client, q *market.Quote) (*market.Quote, error) {
		return q, nil
	}); err != nil {
		t.Fatal(err)
	}
	p := r.join("", "", "calls/1")
	for i, c := range []struct {
		symbol  string
		code    nova.Code
		message string
	}{
		{"fine", nova.OK, ""},
		{"coded", nova.FailedPrecondition, "/symbol: not today"},
		{"plain", nova.Invalid, "the request of %s was refused"},
		{"panics", nova.Invalid, "the request of %s was refused"},
	} {
		p.get(0, int64(i), c.symbol)
		if m := p.replied(int64(i), c.code); m.Message != strings.ReplaceAll(c.message, "%s", "getQuote") {
			t.Errorf("%s: told %q", c.symbol, m.Message)
		}
		if m := p.request(c.symbol, &market.Quote{Symbol: c.symbol}); m.Ok != (c.code == nova.OK) || m.Err != strings.ReplaceAll(c.message, "%s", "quote") {
			t.Errorf("%s: told %+v", c.symbol, m)
		}
	}
	p.call(0, control.Call{ID: 10, Name: "other"}) // nobody answers: nobody is asked
	p.replied(10, nova.Unimplemented)
	var want []string
	for _, symbol := range []string{"fine", "coded", "plain", "panics"} {
		want = append(want, "authorize getQuote", "check getQuote "+symbol, "authorize quote", "check quote "+symbol)
	}
	asked.mu.Lock()
	defer asked.mu.Unlock()
	if !slices.Equal(asked.asked, want) {
		t.Errorf("asked %q, want %q", asked.asked, want)
	}
	if m := r.hub.Metrics(); m.Invalid != 6 || m.NotAllowed != 0 || m.Undecodable != 0 {
		t.Errorf("%d invalid, %d not allowed, %d undecodable", m.Invalid, m.NotAllowed, m.Undecodable)
	}
	if text := logged.String(); !strings.Contains(text, "hook panicked") || strings.Contains(text, "a secret") {
		t.Errorf("logged %s", text)
	}
}

// What AuthorizePublish refuses is not looked at any further; a panic says no.
func TestRefusedCallIsNotChecked(t *testing.T) {
	r := newRig(t, hub.Options{
		AuthorizePublish: func(_ context.Context, c *nova.Client, e *wire.Event) error {
			if e.Name == "quote" {
				panic("oops")
			}
			return errors.New("no")
		},
		CheckInbound: func(_ context.Context, _ *nova.Client, e *wire.Event, _ []byte) error {
			t.Errorf("asked about %s", e.Name)
			return nil
		},
	}, server.Options{})
	r.handle(echoQuote)
	if _, err := market.QuoteEvent.Respond(r.hub, func(_ context.Context, _ *nova.Client, q *market.Quote) (*market.Quote, error) {
		return q, nil
	}); err != nil {
		t.Fatal(err)
	}
	p := r.join("", "", "calls/1")
	p.get(0, 1, "S")
	if m := p.replied(1, nova.Denied); m.Message != "not allowed to call getQuote" {
		t.Errorf("told %q", m.Message)
	}
	if m := p.request("a", &market.Quote{}); m.Ok || m.Err != "not allowed to call quote" {
		t.Errorf("told %+v", m)
	}
	if m := r.hub.Metrics(); m.NotAllowed != 2 || m.Invalid != 0 {
		t.Errorf("%d not allowed, %d invalid", m.NotAllowed, m.Invalid)
	}
}
