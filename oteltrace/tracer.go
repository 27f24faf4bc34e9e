// Package oteltrace connects a hub to OpenTelemetry: spans for publishes and handlers,
// and W3C trace contexts in and out.
package oteltrace

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/ignex/nova"
)

// scope names what the spans come from.
const scope = "github.com/ignex/nova"

// New returns a tracer for hub.Options.Tracer. A nil provider traces nothing.
func New(provider trace.TracerProvider) nova.Tracer {
	if provider == nil {
		provider = noop.NewTracerProvider()
	}
	return &tracer{provider.Tracer(scope)}
}

type tracer struct{ tracer trace.Tracer }

// Start implements nova.Tracer: a span "publish quote".
func (t *tracer) Start(ctx context.Context, operation, event string) (context.Context, func(err error)) {
	ctx, span := t.tracer.Start(ctx, operation+" "+event, trace.WithSpanKind(kindOf(operation)), trace.WithAttributes(
		attribute.String("messaging.system", "nova"),
		attribute.String("messaging.operation.name", operation),
		attribute.String("nova.event", event),
	))
	return ctx, func(err error) {
		if err != nil {
			span.SetAttributes(attribute.String("error.type", nova.CodeOf(err).String()))
			span.RecordError(err)
			span.SetStatus(codes.Error, err.Error())
		}
		span.End()
	}
}

func kindOf(operation string) trace.SpanKind {
	switch operation {
	case "publish":
		return trace.SpanKindProducer
	case "handle":
		return trace.SpanKindConsumer
	case "call":
		return trace.SpanKindServer
	}
	return trace.SpanKindInternal
}

const traceparent = "traceparent"

// Inject implements nova.Tracer.
func (t *tracer) Inject(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier[traceparent]
}

// Extract implements nova.Tracer. What is no trace context changes nothing.
func (t *tracer) Extract(ctx context.Context, parent string) context.Context {
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{traceparent: parent})
}
