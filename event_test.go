package nova_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"testing"

	"github.com/ignex/nova"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/wire"
)

// fakeHub records publications and lets a test play a client.
type fakeHub struct {
	nova.Hub  // what these tests do not use
	published []nova.Publication
	handlers  map[string]nova.FrameHandler
	err       error
}

func (h *fakeHub) PublishFrame(_ context.Context, p nova.Publication) (nova.Result, error) {
	p.Frame = bytes.Clone(p.Frame)
	h.published = append(h.published, p)
	return nova.Result{Offset: 7, Members: 3}, h.err
}

func (h *fakeHub) HandleFrame(event *wire.Event, fn nova.FrameHandler) (func(), error) {
	if h.err != nil {
		return nil, h.err
	}
	if h.handlers == nil {
		h.handlers = map[string]nova.FrameHandler{}
	}
	h.handlers[event.Name] = fn
	return func() { delete(h.handlers, event.Name) }, nil
}

func TestPublishEncodesOnceAndReports(t *testing.T) {
	hub := new(fakeHub)
	quote := &market.Quote{Symbol: "AAPL", Bid: 1, Ask: 2, BidSize: 3, AskSize: 4, Ts: 5}
	var result nova.Result
	err := market.QuoteEvent.Publish(t.Context(), hub, nova.Topic("equities").But("c1"), quote, nova.Report(&result))
	if err != nil {
		t.Fatal(err)
	}
	if result != (nova.Result{Offset: 7, Members: 3}) {
		t.Errorf("reported %+v", result)
	}
	p := hub.published[0]
	if p.Target.Kind != nova.ToTopic || p.Target.Name != "equities" || p.Target.Except != "c1" {
		t.Errorf("target %+v", p.Target)
	}
	got, err := market.QuoteEvent.DecodeFrame(p.Frame)
	if err != nil {
		t.Fatal(err)
	}
	if *got != *quote {
		t.Errorf("published %+v, want %+v", got, quote)
	}
}

func TestPublishTellsTheHubOfAnUnsafeInteger(t *testing.T) {
	hub := new(fakeHub)
	if err := market.QuoteEvent.Publish(t.Context(), hub, nova.Broadcast(), &market.Quote{BidSize: 1 << 53}); err != nil {
		t.Fatal(err)
	}
	var unsafe *wire.Int64Error
	if !errors.As(hub.published[0].Unsafe, &unsafe) || unsafe.Path != "bidSize" {
		t.Errorf("unsafe = %v", hub.published[0].Unsafe)
	}
}

func TestPublishFindsItsHub(t *testing.T) {
	quote := new(market.Quote)
	err := market.QuoteEvent.Publish(t.Context(), nil, nova.Broadcast(), quote)
	if nova.CodeOf(err) != nova.FailedPrecondition {
		t.Errorf("without a hub: %v", err)
	}
	inContext, byDefault := new(fakeHub), new(fakeHub)
	nova.SetDefault(byDefault)
	defer nova.SetDefault(nil)
	if err := market.QuoteEvent.Publish(t.Context(), nil, nova.Broadcast(), quote); err != nil || len(byDefault.published) != 1 {
		t.Errorf("default hub: %v, %d publications", err, len(byDefault.published))
	}
	ctx := nova.WithHub(t.Context(), inContext)
	if err := market.QuoteEvent.Publish(ctx, nil, nova.Broadcast(), quote); err != nil || len(inContext.published) != 1 {
		t.Errorf("hub in context: %v, %d publications", err, len(inContext.published))
	}
}

func TestOnDecodesAndStops(t *testing.T) {
	hub := new(fakeHub)
	var got *market.Chat
	off := market.ChatEvent.On(hub, func(_ context.Context, _ *nova.Client, in *market.Chat) error {
		got = in
		return nil
	})
	payload, err := (&market.Chat{Room: "lobby", Text: "hi"}).AppendNova(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := hub.handlers["chat"](t.Context(), nil, payload); err != nil || got == nil || got.Text != "hi" {
		t.Errorf("handled %+v, %v", got, err)
	}
	if err := hub.handlers["chat"](t.Context(), nil, payload[:9]); nova.CodeOf(err) != nova.Invalid {
		t.Errorf("truncated payload: %v", err)
	}
	off()
	if len(hub.handlers) != 0 {
		t.Error("off left the handler")
	}
}

func TestDecodeFrameRefusesAnotherEvent(t *testing.T) {
	frame, err := market.TradeEvent.AppendFrame(nil, new(market.Trade))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := market.QuoteEvent.DecodeFrame(frame); nova.CodeOf(err) != nova.Invalid {
		t.Errorf("a trade read as a quote: %v", err)
	}
	if _, err := market.TradeEvent.DecodeFrame(frame[:20]); !errors.Is(err, wire.ErrSize) {
		t.Errorf("a truncated frame: %v", err)
	}
}

// fakeSubscription yields fixed deliveries and tells when listening began.
type fakeSubscription struct {
	payloads  [][]byte
	listening bool
}

func (s *fakeSubscription) Topic() string { return "lobby" }

func (s *fakeSubscription) Frames(context.Context, *wire.Event) iter.Seq2[nova.Delivery, error] {
	s.listening = true
	return func(yield func(nova.Delivery, error) bool) {
		for _, p := range s.payloads {
			if !yield(nova.Delivery{Payload: p}, nil) {
				return
			}
		}
		yield(nova.Delivery{}, io.ErrUnexpectedEOF)
	}
}

func TestAllListensBeforeItIterates(t *testing.T) {
	good, err := (&market.Chat{Text: "one"}).AppendNova(nil)
	if err != nil {
		t.Fatal(err)
	}
	sub := &fakeSubscription{payloads: [][]byte{good, good[:5]}}
	all := market.ChatEvent.All(t.Context(), sub)
	if !sub.listening {
		t.Error("All did not listen before the loop")
	}
	var texts []string
	var errs []error
	for chat, err := range all {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		texts = append(texts, chat.Text)
	}
	if fmt.Sprint(texts) != "[one]" || len(errs) != 2 || nova.CodeOf(errs[0]) != nova.Invalid || !errors.Is(errs[1], io.ErrUnexpectedEOF) {
		t.Errorf("texts %v, errors %v", texts, errs)
	}
}

func TestPublishAllocatesNothing(t *testing.T) {
	var hub nova.Hub = discard{}
	ctx, quote := t.Context(), &market.Quote{Symbol: "AAPL", Bid: 189.5}
	allocs := testing.AllocsPerRun(100, func() {
		if err := market.QuoteEvent.Publish(ctx, hub, nova.Broadcast(), quote); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > 1 { // the closure that carries the publication
		t.Errorf("%v allocations", allocs)
	}
}

type discard struct{ nova.Hub }

func (discard) PublishFrame(context.Context, nova.Publication) (nova.Result, error) {
	return nova.Result{}, nil
}

func TestCodes(t *testing.T) {
	cause := errors.New("disk full")
	err := fmt.Errorf("outer: %w", nova.Errorf(nova.Exhausted, "no room: %w", cause))
	if nova.CodeOf(err) != nova.Exhausted || !errors.Is(err, cause) {
		t.Errorf("%v has code %v", err, nova.CodeOf(err))
	}
	for _, c := range []struct {
		err  error
		code nova.Code
	}{{nil, nova.OK}, {context.Canceled, nova.Cancelled}, {context.DeadlineExceeded, nova.DeadlineExceeded}, {cause, nova.Unknown}} {
		if got := nova.CodeOf(c.err); got != c.code {
			t.Errorf("CodeOf(%v) = %v, want %v", c.err, got, c.code)
		}
	}
	for code, status := range map[nova.Code]int{
		nova.Invalid: 400, nova.Unauthenticated: 401, nova.Denied: 403, nova.NotFound: 404, nova.AlreadyExists: 409,
		nova.Exhausted: 429, nova.DeadlineExceeded: 504, nova.Unimplemented: 501, nova.Unavailable: 503,
		nova.Internal: 500, nova.Unknown: 500, nova.OK: http.StatusOK,
	} {
		if got := code.HTTPStatus(); got != status {
			t.Errorf("%v answers %d, want %d", code, got, status)
		}
	}
}

// Nothing to send is an error, not a panic in the code of a type.
func TestNilValue(t *testing.T) {
	hub := new(fakeHub)
	err := market.QuoteEvent.Publish(t.Context(), hub, nova.Broadcast(), nil)
	if nova.CodeOf(err) != nova.Invalid || err.Error() != "invalid: quote: the value is nil" || len(hub.published) != 0 {
		t.Errorf("%v, %d publications", err, len(hub.published))
	}
	if dst, err := market.QuoteEvent.AppendFrame([]byte("x"), nil); err == nil || string(dst) != "x" {
		t.Errorf("%q %v", dst, err)
	}
}

func TestErrorfKeepsEveryCause(t *testing.T) {
	err := nova.Errorf(nova.Internal, "read: %w, then %w", io.EOF, context.Canceled)
	if !errors.Is(err, io.EOF) || !errors.Is(err, context.Canceled) {
		t.Errorf("a cause is lost in %v", err)
	}
	if err := nova.Errorf(nova.Internal, "read: %w", io.EOF); errors.Unwrap(err) != io.EOF {
		t.Errorf("cause %v", errors.Unwrap(err))
	}
	if err := nova.Errorf(nova.Internal, "read"); errors.Unwrap(err) != nil {
		t.Errorf("cause %v", errors.Unwrap(err))
	}
}
