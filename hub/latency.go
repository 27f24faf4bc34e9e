package hub

import (
	"sync/atomic"
	"time"
)

// LatencyBounds are the upper bounds of the buckets of Metrics.PublishToWrite; the
// last bucket has none.
var LatencyBounds = [...]time.Duration{
	50 * time.Microsecond, 100 * time.Microsecond, 250 * time.Microsecond, 500 * time.Microsecond,
	time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond, 10 * time.Millisecond,
	25 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 250 * time.Millisecond, time.Second,
}

// Latency is a histogram: for each turn of a shard's loop, the time from the
// oldest publish in it to the last first write of the turn.
type Latency struct {
	Buckets [len(LatencyBounds) + 1]uint64 // each alone, not summed up
	Sum     time.Duration
	Count   uint64
}

type latency struct {
	buckets [len(LatencyBounds) + 1]atomic.Uint64
	sum     atomic.Int64
}

func (l *latency) observe(d time.Duration) {
	i := 0
	for i < len(LatencyBounds) && d > LatencyBounds[i] {
		i++
	}
	l.buckets[i].Add(1)
	l.sum.Add(int64(d))
}

func (l *latency) snapshot() (out Latency) {
	for i := range l.buckets {
		out.Buckets[i] = l.buckets[i].Load()
		out.Count += out.Buckets[i]
	}
	out.Sum = time.Duration(l.sum.Load())
	return out
}
