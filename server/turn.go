package server

import (
	"sync"
	"time"
)

// turns tells those whom the accept rate turned away when to come again: each has its
// own place in a line that moves as fast as the rate. Coming back all at once they
// would be turned away all at once again.
type turns struct {
	mu      sync.Mutex
	waiting float64 // how many places are taken
	last    time.Time
}

// longestTurn bounds what a client is told, whatever a stranger does.
const longestTurn = 30 * time.Second

// next takes a place and returns how long until its turn, in whole seconds from 1 on.
func (t *turns) next(rate float64, now time.Time) time.Duration {
	rate = max(rate, minRate) // as the quota has it
	t.mu.Lock()
	defer t.mu.Unlock()
	if d := now.Sub(t.last); !t.last.IsZero() && d > 0 {
		t.waiting = max(0, t.waiting-rate*d.Seconds())
	}
	t.last = now
	t.waiting = min(t.waiting+1, rate*longestTurn.Seconds()+1)
	seconds := int(t.waiting/rate) + 1
	return min(time.Duration(seconds)*time.Second, longestTurn)
}
