package nova

import "context"

type traceKey struct{}

// maxTrace is the longest trace that is passed on. A W3C traceparent has 55 bytes.
const maxTrace = 128

// WithTrace returns a context whose calls carry a W3C traceparent to the other
// side. One longer than 128 bytes is left out. Handlers receive such a context.
func WithTrace(ctx context.Context, traceparent string) context.Context {
	if traceparent == "" || len(traceparent) > maxTrace {
		return ctx
	}
	return context.WithValue(ctx, traceKey{}, traceparent)
}

// TraceOf returns the W3C traceparent of ctx, "" for none.
func TraceOf(ctx context.Context) string {
	s, _ := ctx.Value(traceKey{}).(string)
	return s
}
