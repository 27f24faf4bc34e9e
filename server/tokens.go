package server

import (
	"cmp"
	"math"
	"sync"
	"time"
)

// quota is how many tokens come in a nanosecond, and how many there are at most.
// The zero value is no limit.
type quota struct {
	perNano, burst float64
	blind          uint8 // see spare
}

// minRate is the least number of tokens a second: a rate is a limit, not a ban.
const minRate = 0.001

// newQuota returns the quota of a rate a second, 0 and less for no limit; burst 0 is
// what comes in a second.
func newQuota(rate float64, burst int) quota {
	if rate <= 0 {
		return quota{}
	}
	rate = max(rate, minRate)
	return quota{perNano: rate / float64(time.Second)}.with(cmp.Or(float64(burst), math.Ceil(rate)))
}

// with returns q with that burst.
func (q quota) with(burst float64) quota {
	q.burst, q.blind = burst, uint8(min(burst/32, 3))
	return q
}

// atLeast returns q with at least so large a burst.
func (q quota) atLeast(burst int) quota {
	if q == (quota{}) {
		return q
	}
	return q.with(max(q.burst, float64(burst)))
}

// rate returns the tokens of a second.
func (q quota) rate() float64 { return q.perNano * float64(time.Second) }

// tokens is a token bucket. It is filled to the brim by fill; the quota and the
// clock, nanoseconds of any origin, are its owner's.
type tokens struct {
	left  float64 // below 0: as many are promised
	last  int64   // when it was refilled
	blind uint8   // tokens spared since
}

// fill makes a bucket that nobody has used.
func (t *tokens) fill(q quota, now int64) { *t = tokens{left: q.burst, last: now} }

// staleTime is how much older than another's a reader's idea of the time may be.
const staleTime = int64(10 * time.Second)

// refill adds what came since the last time. An older time brings nothing. If it is
// much older the clock stepped back: the bucket goes on from there, so that nobody
// waits for the clock to come back.
func (t *tokens) refill(q quota, now int64) {
	t.blind = 0
	switch d := now - t.last; {
	case d > 0:
		t.left = min(q.burst, t.left+float64(d)*q.perNano)
		t.last = now
	case d < -staleTime:
		t.last = now
	}
}

// take takes a token; false: there is none.
func (t *tokens) take(q quota, now int64) bool {
	if now != t.last {
		t.refill(q, now)
	}
	if t.left < 1 {
		return false
	}
	t.left--
	return true
}

// spare takes a token without a look at the clock, which costs more than all the
// rest. It does so a few times between two looks while there are tokens; what the
// bucket gained meanwhile is added at the next look. So there may be as many tokens
// more than the burst, never less than there should be.
func (t *tokens) spare(q quota) bool {
	if t.blind >= q.blind || t.left < 1 {
		return false
	}
	t.blind++
	t.left--
	return true
}

// promise takes a token that there will be after wait. Those who wait go on one by
// one, in the order they came.
func (t *tokens) promise(q quota) (wait time.Duration) {
	t.left--
	return time.Duration(math.Ceil(-t.left / q.perNano))
}

// shared is the bucket of several connections, or of all upgrades.
type shared struct {
	mu     sync.Mutex
	tokens tokens
	users  int  // connections; under the table's mu
	listed bool // in the table's list of those without; likewise
}

func (s *shared) take(q quota, now int64) bool {
	s.mu.Lock()
	ok := s.tokens.take(q, now)
	s.mu.Unlock()
	return ok
}

func (s *shared) spare(q quota) bool {
	s.mu.Lock()
	ok := s.tokens.spare(q)
	s.mu.Unlock()
	return ok
}

func (s *shared) promise(q quota) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tokens.promise(q)
}

// giveBack returns a token that was promised to a connection that is gone.
func (s *shared) giveBack() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens.left++
}

// full reports whether s is as good as new.
func (s *shared) full(q quota, now int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens.refill(q, now)
	return s.tokens.left >= q.burst
}

// maxUnused bounds the buckets that no connection uses and that are not full.
const maxUnused = 1 << 16

// table holds the shared buckets by name. One without connections stays until it is
// full again: who comes back finds it as it was left.
type table[K comparable] struct {
	quota  quota
	mu     sync.Mutex
	shared map[K]*shared
	unused []K // those without connections and, stale, some that have some again
}

// use returns the bucket of a name; drop has to follow.
func (t *table[K]) use(name K, now int64) *shared {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.shared[name]
	if s == nil {
		s = &shared{}
		s.tokens.fill(t.quota, now)
		if t.shared == nil {
			t.shared = map[K]*shared{}
		}
		t.shared[name] = s
	}
	s.users++
	return s
}

func (t *table[K]) drop(name K) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.shared[name]
	if s.users--; s.users == 0 && !s.listed {
		s.listed = true
		t.unused = append(t.unused, name)
	}
}

// sweep forgets the buckets that are not used and full, and of those that are not
// full the ones left first, above most.
func (t *table[K]) sweep(now int64, most int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := t.unused[:0]
	for i, name := range t.unused {
		s := t.shared[name]
		switch {
		case s.users > 0:
			s.listed = false
		case len(t.unused)-i+len(kept) > most || s.full(t.quota, now):
			delete(t.shared, name)
		default:
			kept = append(kept, name)
		}
	}
	clear(t.unused[len(kept):])
	t.unused = kept
}
