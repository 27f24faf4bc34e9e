package client_test

import (
	"context"
	"testing"

	"github.com/ignex/nova"
	"github.com/ignex/nova/client"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/topiclog"
)

// pagedLog tells when a page was read.
type pagedLog struct {
	*topiclog.Memory
	read chan struct{}
}

func (l *pagedLog) Range(ctx context.Context, topic, epoch string, after uint64, limit int) ([]topiclog.Entry, uint64, error) {
	entries, lost, err := l.Memory.Range(ctx, topic, epoch, after, limit)
	select {
	case l.read <- struct{}{}:
	default:
	}
	return entries, lost, err
}

// A client that is behind by more than a queue holds gets all of it; what was
// evicted under it comes as a gap of the topic's offsets.
func TestCatchUpGap(t *testing.T) {
	log := &pagedLog{topiclog.NewMemory(topiclog.MemoryOptions{MaxFrames: 600}), make(chan struct{}, 1)}
	defer log.Close()
	r := newReal(t, false, hub.Options{
		Log: log, Topics: []hub.TopicRule{{Pattern: "t", Log: true}},
		Backpressure: hub.Backpressure{MaxFrames: 64},
	}, server.Options{})
	publish := func(from, to int64) {
		t.Helper()
		for ts := from; ts <= to; ts++ {
			if err := market.QuoteEvent.Publish(t.Context(), r.hub, nova.Topic("t"), &market.Quote{Ts: ts}, nova.Durable()); err != nil {
				t.Fatal(err)
			}
		}
	}
	publish(1, 500)
	c := r.dial(t, client.Options{})
	quotes, gaps := make(chan int64, 4096), make(chan client.Gap, 16)
	c.OnGap(func(g client.Gap) { gaps <- g })
	market.QuoteEvent.Listen(c, func(_ context.Context, q *market.Quote) error {
		quotes <- q.Ts
		return nil
	})
	if err := c.Pause(t.Context()); err != nil { // the session stays
		t.Fatal(err)
	}
	if err := r.hub.Client(c.ClientID()).Join(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	<-log.read // its first page
	publish(501, 2000)
	if err := c.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	next := int64(1)
	for next <= 2000 {
		ts := <-quotes
		if ts != next {
			g := <-gaps
			if g.Topic != "t" || g.From != uint64(next) || g.To != uint64(ts-1) || g.Reason != client.GapLog {
				t.Fatalf("quote %d after %d, %+v", ts, next-1, g)
			}
		}
		next = ts + 1
	}
	publish(2001, 2001)
	if ts := <-quotes; ts != 2001 {
		t.Errorf("quote %d", ts)
	}
	select {
	case g := <-gaps:
		t.Errorf("%+v", g)
	default:
	}
}
