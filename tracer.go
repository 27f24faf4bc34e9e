package nova

import "context"

// Tracer connects publishes and deliveries to a tracing system. A nil Tracer
// costs nothing.
type Tracer interface {
	// Start opens a span and returns its context and the function that ends it.
	Start(ctx context.Context, operation, event string) (context.Context, func(err error))
	// Inject returns the W3C traceparent of ctx, "" for none.
	Inject(ctx context.Context) string
	// Extract returns ctx continued from a W3C traceparent.
	Extract(ctx context.Context, traceparent string) context.Context
}
