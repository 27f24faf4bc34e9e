package hub

import (
	"testing"
	"time"
)

// Where no session outlives its socket nobody looks for those that did, all the time.
func TestSweepEvery(t *testing.T) {
	for ttl, want := range map[time.Duration]time.Duration{
		-1: time.Second, time.Hour: time.Second, 4 * time.Second: 500 * time.Millisecond, time.Millisecond: 10 * time.Millisecond,
	} {
		h := &Hub{options: Options{Session: SessionOptions{TTL: ttl}}}
		if got := h.sweepEvery(); got != want {
			t.Errorf("TTL %v: every %v, want %v", ttl, got, want)
		}
	}
}
