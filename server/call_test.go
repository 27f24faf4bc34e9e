package server_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/session"
	"github.com/ignex/nova/wire"
	"github.com/ignex/nova/wire/control"
)

func requestPayload(t testing.TB, symbol string) []byte {
	t.Helper()
	b, err := (&market.GetQuoteRequest{Symbol: symbol}).AppendNova(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// call sends a call; number 0 leaves it unnumbered.
func (p *rawPeer) call(number uint64, m control.Call) {
	p.t.Helper()
	frame, err := m.AppendFrame(nil)
	if err != nil {
		p.t.Fatal(err)
	}
	if number > 0 {
		wire.Stamp(frame, number)
	}
	p.write(ws.AppendMasked(nil, ws.Binary, frame, [4]byte{1, 2, 3, 4}))
}

func (p *rawPeer) get(number uint64, id int64, symbol string) {
	p.t.Helper()
	p.call(number, control.Call{ID: id, Name: "getQuote", Payload: requestPayload(p.t, symbol)})
}

// replied reads the next frame, which must be the reply to that call.
func (p *rawPeer) replied(id int64, code nova.Code) control.Reply {
	p.t.Helper()
	var m control.Reply
	p.expectFrame(control.ReplyID, 0, &m)
	if m.ID != id || m.Code != int64(code) {
		p.t.Fatalf("reply %+v, want call %d with code %v", m, id, code)
	}
	return m
}

type quoteHandler = func(context.Context, *nova.Client, *market.GetQuoteRequest) (*market.Quote, error)

func (r *rig) handle(fn quoteHandler) {
	r.t.Helper()
	if _, err := market.GetQuoteCall.Handle(r.hub, fn); err != nil {
		r.t.Fatal(err)
	}
}

func echoQuote(_ context.Context, _ *nova.Client, in *market.GetQuoteRequest) (*market.Quote, error) {
	return &market.Quote{Symbol: in.Symbol}, nil
}

// A call runs, although its client does not read what it asked for before.
func TestCallOfWhoDoesNotRead(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	ran := make(chan struct{})
	r.handle(func(ctx context.Context, from *nova.Client, in *market.GetQuoteRequest) (*market.Quote, error) {
		close(ran)
		return echoQuote(ctx, from, in)
	})
	p := r.greet(r.dialPipe(), "calls/1")
	var out []byte
	for range session.MaxAhead { // then nothing more is read
		m := control.Resume{LastSeq: -1}
		frame, _ := m.AppendFrame(nil)
		out = ws.AppendMasked(out, ws.Binary, frame, [4]byte{})
	}
	m := control.Call{ID: 1, Name: "getQuote", Payload: requestPayload(t, "A")}
	frame, _ := m.AppendFrame(nil)
	p.write(ws.AppendMasked(out, ws.Binary, frame, [4]byte{}))
	select {
	case <-ran:
	case <-time.After(patience):
		t.Error("the call waits for its client")
	}
}

// A client without sessions calls without numbers; one that did not ask for calls is
// not understood.
func TestCallOfABaseClient(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	r.handle(echoQuote)
	p := r.join("", "", "calls/1")
	p.get(0, 7, "AAPL")
	var q market.Quote
	if err := q.UnmarshalNova(p.replied(7, nova.OK).Payload); err != nil || q.Symbol != "AAPL" {
		t.Errorf("%+v, %v", q, err)
	}
	p.call(0, control.Call{ID: 8, Name: "other"})
	if m := p.replied(8, nova.Unimplemented); m.Message != "no handler for other" {
		t.Errorf("%+v", m)
	}
	p.call(0, control.Call{ID: 9, Name: "getQuote", DeadlineMs: -1})
	p.replied(9, nova.DeadlineExceeded)
	p.call(0, control.Call{ID: 10, Name: "getQuote", Payload: []byte{1, 2, 3}})
	p.replied(10, nova.Invalid)
	if m := r.hub.Metrics(); m.Undecodable != 1 || m.Damage[hub.DamagePayload] != 1 {
		t.Errorf("undecodable %d, %v", m.Undecodable, m.Damage)
	}
	deaf := r.join("", "")
	deaf.get(0, 1, "AAPL")
	deaf.sync()
	if n := r.hub.Metrics().Calls[nova.OK]; n != 1 {
		t.Errorf("%d calls handled", n)
	}
}

// A call has its place among the numbers; what was received is not handled again.
func TestCallIsNumbered(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	var handled atomic.Int64
	r.handle(func(ctx context.Context, from *nova.Client, in *market.GetQuoteRequest) (*market.Quote, error) {
		handled.Add(1)
		return echoQuote(ctx, from, in)
	})
	market.QuoteEvent.On(r.hub, func(context.Context, *nova.Client, *market.Quote) error { return nil })
	p := r.join("?nova=2", "", "session/1", "calls/1")
	session := p.attach(control.Attach{Topics: []control.Cursor{}})
	p.stamped(1, 1)
	p.get(2, 1, "a")
	p.replied(1, nova.OK)
	p.stamped(3, 3)
	p.get(4, 2, "b")
	p.replied(2, nova.OK)
	broken := []byte(nil)
	broken = wire.AppendHeader(broken, control.CallID)
	broken = append(broken, 4, 0, 0, 0, 255, 255, 255, 255)
	wire.Stamp(broken, 5)
	p.write(ws.AppendMasked(nil, ws.Binary, broken, [4]byte{}))
	p.get(6, 3, "c")
	p.replied(3, nova.OK)
	if m := r.hub.Metrics(); m.Damage[hub.DamageControl] != 1 {
		t.Errorf("damage %v", m.Damage)
	}
	p.net.Close()
	r.detached(1)
	p = r.join("?nova=2", "", "session/1", "calls/1")
	again := p.attach(control.Attach{Session: session.Session, Topics: []control.Cursor{}})
	if !again.Recovered || again.Received != 6 {
		t.Fatalf("%+v", again)
	}
	p.get(6, 3, "c")
	p.get(7, 4, "d")
	p.replied(4, nova.OK)
	if n := handled.Load(); n != 4 {
		t.Errorf("%d calls handled, want 4", n)
	}
	p.get(9, 5, "e") // 8 is missing
	p.expectEnd(1002, "frame number does not follow")
}

// The base protocol's call: a frame of another implementation in, a frame of the same
// event out; whatever is wrong with it is answered.
func TestRespond(t *testing.T) {
	r := newRig(t, hub.Options{
		AuthorizePublish: func(_ context.Context, _ *nova.Client, e *wire.Event) error {
			if e.Name == "trade" {
				return fmt.Errorf("a secret")
			}
			return nil
		},
	}, server.Options{})
	if _, err := market.QuoteEvent.Respond(r.hub, func(_ context.Context, _ *nova.Client, q *market.Quote) (*market.Quote, error) {
		if q.Symbol != "AAPL" {
			return nil, nova.Errorf(nova.NotFound, "x")
		}
		return &market.Quote{Symbol: q.Symbol, Bid: q.Bid + 1}, nil
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := market.TradeEvent.Respond(r.hub, func(_ context.Context, _ *nova.Client, v *market.Trade) (*market.Trade, error) {
		return v, nil
	}); err != nil {
		t.Fatal(err)
	}
	p := r.join("", "")
	ask := func(name string, frame []byte) control.RpcResult {
		t.Helper()
		p.send(&control.RpcCall{ID: name + "\x00é", Name: name, PayloadB64: base64.StdEncoding.EncodeToString(frame)})
		var m control.RpcResult
		p.control(control.RpcResultID, &m)
		if m.ID != name+"\x00é" {
			t.Fatalf("%+v", m)
		}
		return m
	}
	theirs, err := hex.DecodeString(golden["quote"])
	if err != nil {
		t.Fatal(err)
	}
	result := ask("quote", theirs)
	frame, err := base64.StdEncoding.DecodeString(result.PayloadB64)
	if err != nil || !result.Ok || result.Err != "" {
		t.Fatalf("%+v, %v", result, err)
	}
	if q, err := market.QuoteEvent.DecodeFrame(frame); err != nil || q.Symbol != "AAPL" || q.Bid != 2 {
		t.Errorf("%+v, %v", q, err)
	}
	other, err := market.QuoteEvent.AppendFrame(nil, &market.Quote{})
	if err != nil {
		t.Fatal(err)
	}
	if m := ask("quote", other); m != (control.RpcResult{ID: "quote\x00é", Err: "x"}) {
		t.Errorf("%+v", m)
	}
	for name, want := range map[string]string{"chat": "no handler for chat", "getQuote": "no handler for getQuote", "trade": "not allowed to call trade"} {
		if m := ask(name, nil); m.Ok || m.Err != want {
			t.Errorf("%s: %+v, want %q", name, m, want)
		}
	}
	chat, err := market.ChatEvent.AppendFrame(nil, &market.Chat{})
	if err != nil {
		t.Fatal(err)
	}
	for _, frame := range [][]byte{nil, {0}, chat, other[:len(other)-1]} {
		if m := ask("quote", frame); m.Ok || !strings.HasPrefix(m.Err, "undecodable request payload") {
			t.Errorf("%x: %+v", frame, m)
		}
	}
	p.golden("rpcCall")
	var m control.RpcResult
	p.control(control.RpcResultID, &m)
	if m.ID != "r1" || m.Ok || !strings.HasPrefix(m.Err, "undecodable request payload") {
		t.Errorf("%+v", m)
	}
	p.golden("quote") // to respond allows nobody to send the event
	p.sync()
	if m := r.hub.Metrics(); m.NotAllowed != 2 || m.Inbound["quote"] != 0 {
		t.Errorf("%d not allowed, %d quotes handled", m.NotAllowed, m.Inbound["quote"])
	}
}

// A client that does not read its replies is closed when they fill its queue.
func TestRepliesHaveABound(t *testing.T) {
	r := newQuietRig(t, hub.Options{Backpressure: hub.Backpressure{MaxBytes: 10_000}}, server.Options{})
	r.handle(func(context.Context, *nova.Client, *market.GetQuoteRequest) (*market.Quote, error) {
		return &market.Quote{Symbol: strings.Repeat("x", 4000)}, nil
	})
	p := r.greet(r.dialPipe(), "calls/1")
	for id := range int64(6) {
		p.get(0, id, "x")
	}
	eventually(t, "the slow client is closed", func() bool { return r.srv.Metrics().Closed[1013] == 1 })
	if n := r.hub.Metrics().SlowClosed; n == 0 {
		t.Error("not counted")
	}
}

// A reply that no queue could take is an internal error.
func TestReplyTooLarge(t *testing.T) {
	r := newRig(t, hub.Options{Backpressure: hub.Backpressure{MaxBytes: 10_000}}, server.Options{})
	r.handle(func(context.Context, *nova.Client, *market.GetQuoteRequest) (*market.Quote, error) {
		return &market.Quote{Symbol: strings.Repeat("x", 20_000)}, nil
	})
	p := r.join("", "", "calls/1")
	p.get(0, 1, "x")
	p.replied(1, nova.Internal)
	to := r.hub.Client(p.id)
	_, err := market.GetQuoteCall.Do(t.Context(), to, &market.GetQuoteRequest{Symbol: strings.Repeat("x", 20_000)})
	if nova.CodeOf(err) != nova.Invalid {
		t.Errorf("a request too large: %v", err)
	}
}

// OnConnect has run before a call begins.
func TestCallAfterOnConnect(t *testing.T) {
	var connected atomic.Bool
	open := make(chan bool)
	r := newRig(t, hub.Options{OnConnect: func(context.Context, *nova.Client) {
		<-open
		connected.Store(true)
	}}, server.Options{})
	r.handle(func(ctx context.Context, from *nova.Client, in *market.GetQuoteRequest) (*market.Quote, error) {
		if !connected.Load() {
			t.Error("the call came first")
		}
		return echoQuote(ctx, from, in)
	})
	p := r.join("", "", "calls/1")
	p.get(0, 1, "x")
	p.sync() // the reader has passed the call
	close(open)
	p.replied(1, nova.OK)
}

// To a client without calls, or without a connection, nothing is sent.
func TestCallOfTheServerRefused(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	get := func(id string) error {
		_, err := market.GetQuoteCall.Do(t.Context(), r.hub.Client(id), &market.GetQuoteRequest{})
		return err
	}
	p, _ := r.attach("", "", 0)
	p.sync()
	if err := get(p.id); nova.CodeOf(err) != nova.Unimplemented {
		t.Errorf("without calls: %v", err)
	}
	p.net.Close()
	r.detached(1)
	if err := get(p.id); nova.CodeOf(err) != nova.Unavailable {
		t.Errorf("without a connection: %v", err)
	}
}

// Answers count for the call they name, of the socket it went to, once.
func TestReplyOfTheClient(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	p := r.join("", "", "calls/1")
	p.sync()
	outcome := make(chan error, 1)
	go func() {
		_, err := market.GetQuoteCall.Do(t.Context(), r.hub.Client(p.id), &market.GetQuoteRequest{Symbol: "S"})
		outcome <- err
	}()
	var m control.Call
	p.expectFrame(control.CallID, 0, &m)
	if m.Name != "getQuote" || m.DeadlineMs < 9000 || m.DeadlineMs > 10_000 || string(m.Payload) != string(requestPayload(t, "S")) {
		t.Errorf("%+v", m)
	}
	p.send(&control.Reply{ID: m.ID + 1})
	other := r.join("", "", "calls/1")
	other.send(&control.Reply{ID: m.ID})
	other.sync()
	p.send(&control.Reply{ID: m.ID, Code: 7, Message: "not for you"})
	p.send(&control.Reply{ID: m.ID})
	if err := <-outcome; err == nil || err.Error() != "denied: not for you" {
		t.Error(err)
	}
	p.sync()
}

// A call above the rate limit is answered, its number is used, and replies and cancels
// are taken all the same.
func TestCallAboveTheRateLimit(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{
		RateLimit: server.RateLimit{MessagesPerSecond: 0.001, Burst: 4, Policy: server.LimitDrop}})
	cancelled := make(chan bool)
	r.handle(func(ctx context.Context, _ *nova.Client, in *market.GetQuoteRequest) (*market.Quote, error) {
		<-ctx.Done()
		close(cancelled)
		return nil, ctx.Err()
	})
	p := r.join("?nova=2", "", "session/1", "calls/1") // hello
	p.attach(control.Attach{Topics: []control.Cursor{}})
	p.get(1, 1, "waits")
	p.stamped(2, 2)
	p.get(3, 3, "one too many")
	if m := p.replied(3, nova.Exhausted); m.Message != "rate limit exceeded" {
		t.Errorf("%+v", m)
	}
	p.send(&control.Cancel{ID: 1})
	p.replied(1, nova.Cancelled)
	<-cancelled
}
