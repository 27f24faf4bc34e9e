package main

import (
	"context"
	"sync"

	"github.com/ignex/nova"
	"github.com/ignex/nova/market"
)

// lastQuotes is the newest quote of each symbol that the synthetic feed published.
type lastQuotes struct {
	mu       sync.Mutex
	bySymbol map[string]market.Quote
}

func (l *lastQuotes) keep(q *market.Quote) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.bySymbol == nil {
		l.bySymbol = map[string]market.Quote{}
	}
	l.bySymbol[q.Symbol] = *q
}

// publishQuote publishes a quote on the topic of the feed.
func (d *demo) publishQuote(ctx context.Context, q *market.Quote) error {
	d.last.keep(q)
	return market.QuoteEvent.Publish(ctx, d.hub, nova.Topic(d.topic), q)
}

// getQuote answers the market's call.
func (d *demo) getQuote(_ context.Context, _ *nova.Client, in *market.GetQuoteRequest) (*market.Quote, error) {
	d.last.mu.Lock()
	defer d.last.mu.Unlock()
	q, ok := d.last.bySymbol[in.Symbol]
	if !ok {
		return nil, nova.Errorf(nova.NotFound, "there is no quote of %q", in.Symbol)
	}
	return &q, nil
}
