package oteltrace_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/ignex/nova"
	"github.com/ignex/nova/client"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/internal/leak"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/oteltrace"
	"github.com/ignex/nova/server"
)

func TestMain(m *testing.M) { leak.Main(m) }

// record returns a tracer and the SDK's own recorder of its spans.
func record(t *testing.T) (nova.Tracer, *sdk.TracerProvider, *tracetest.SpanRecorder) {
	t.Helper()
	recorder := tracetest.NewSpanRecorder()
	provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(recorder))
	t.Cleanup(func() {
		if err := provider.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return oteltrace.New(provider), provider, recorder
}

// A publish is a child of the span of its context; a handler has a span, and what it
// publishes is part of that.
func TestSpansOfAHub(t *testing.T) {
	tracer, provider, recorder := record(t)
	h, err := hub.New(hub.Options{Schema: market.Schema, Tracer: tracer})
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(h, server.Options{})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s)
	defer func() {
		s.Close()
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
		web.Close()
		http.DefaultClient.CloseIdleConnections()
	}()

	ctx, root := provider.Tracer("test").Start(t.Context(), "root")
	if err := market.QuoteEvent.Publish(ctx, h, nova.Topic("t"), &market.Quote{Symbol: "A"}); err != nil {
		t.Fatal(err)
	}
	if err := market.QuoteEvent.Publish(ctx, h, nova.Topic(""), &market.Quote{}); err == nil {
		t.Fatal("a topic without a name was accepted")
	}
	root.End()
	handled := make(chan error, 1)
	market.ChatEvent.On(h, func(ctx context.Context, _ *nova.Client, in *market.Chat) error {
		handled <- market.ChatEvent.Publish(ctx, h, nova.Broadcast(), in)
		return errors.New("no")
	})
	conn, err := client.Dial(t.Context(), "ws"+web.URL[len("http"):], client.Options{Schema: market.Schema})
	if err != nil {
		t.Fatal(err)
	}
	if err := market.ChatEvent.Send(t.Context(), conn, &market.Chat{Room: "r"}); err != nil {
		t.Fatal(err)
	}
	if err := <-handled; err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := h.Close(t.Context()); err != nil { // the handler has returned
		t.Error(err)
	}

	spans := map[string]sdk.ReadOnlySpan{}
	for _, span := range recorder.Ended() {
		spans[span.Name()] = span
	}
	publish, handle, answer := spans["publish quote"], spans["handle chat"], spans["publish chat"]
	if publish == nil || handle == nil || answer == nil {
		t.Fatalf("spans: %v", spans)
	}
	if publish.SpanContext().TraceID() != root.SpanContext().TraceID() || publish.Parent().SpanID() != root.SpanContext().SpanID() {
		t.Error("the publish is no child of the span around it")
	}
	if answer.Parent().SpanID() != handle.SpanContext().SpanID() {
		t.Error("what the handler published is no child of its span")
	}
	if publish.SpanKind() != trace.SpanKindProducer || handle.SpanKind() != trace.SpanKindConsumer {
		t.Errorf("kinds %v and %v", publish.SpanKind(), handle.SpanKind())
	}
	if publish.Status().Code != codes.Unset || handle.Status().Code != codes.Error || handle.Status().Description != "no" {
		t.Errorf("statuses %v and %v", publish.Status(), handle.Status())
	}
}

func TestW3CContexts(t *testing.T) {
	tracer, provider, _ := record(t)
	if got := tracer.Inject(t.Context()); got != "" {
		t.Errorf("without a span: %q", got)
	}
	// The example of the W3C recommendation.
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	ctx := tracer.Extract(t.Context(), parent)
	if got := tracer.Inject(ctx); got != parent {
		t.Errorf("injected %q, want %q", got, parent)
	}
	_, span := provider.Tracer("test").Start(ctx, "child")
	span.End()
	if got := span.SpanContext().TraceID().String(); got != "0af7651916cd43dd8448eb211c80319c" {
		t.Errorf("trace %s", got)
	}
	for _, junk := range []string{"", "x", parent[:54], "00-00000000000000000000000000000000-b7ad6b7169203331-01"} {
		if got := tracer.Inject(tracer.Extract(t.Context(), junk)); got != "" {
			t.Errorf("%q became %q", junk, got)
		}
	}
}

func TestNilProvider(t *testing.T) {
	tracer := oteltrace.New(nil)
	ctx, end := tracer.Start(t.Context(), "publish", "quote")
	end(errors.New("x"))
	if got := tracer.Inject(ctx); got != "" {
		t.Errorf("injected %q", got)
	}
}
