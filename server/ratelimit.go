package server

import (
	"fmt"
	"math"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/ignex/nova/hub"
)

// RateLimit bounds how many messages clients send, by token buckets that start
// full. Every frame takes a token of its connection, of its user and of its
// address, whatever it is; of a batch each frame does. The zero value limits
// nothing; with any field set the others have their defaults. Clients with session/1
// learn the limits and keep below them.
type RateLimit struct {
	// MessagesPerSecond of one connection. Default 100, negative = no limit of single
	// connections. Rates below 0.001 count as 0.001.
	MessagesPerSecond float64
	// Burst is the number of messages that a connection may send at once; users and
	// addresses may send as many, or those of one second if these are more. Of a burst
	// of 32 and more up to 3 messages, at most 3 %, may be too many. Default: those of
	// one second, at least 1.
	Burst  int
	Policy LimitPolicy // of what comes too early; default LimitDelay
	// PerUser and PerIP are the messages a second of all connections of a user, and of
	// an address, together. Connections without a user have no part in PerUser; IPv6
	// addresses count by their first 64 bits. Default no limit.
	PerUser float64
	PerIP   float64
}

// LimitPolicy is what becomes of a message beyond a RateLimit.
type LimitPolicy uint8

// The policies.
const (
	// LimitDelay stops reading the socket until there is a token: nothing is lost, and
	// the client's own queue fills.
	LimitDelay LimitPolicy = iota
	// LimitDrop drops application events and pings, and refuses with Exhausted what
	// expects an answer. What gives something up (unsubscribe, leaveGroup) is done, and
	// acknowledgements are taken.
	LimitDrop
	// LimitClose closes the connection with 1008.
	LimitClose
)

func (r *RateLimit) setDefaults() error {
	for _, rate := range []float64{r.MessagesPerSecond, r.PerUser, r.PerIP} {
		if math.IsNaN(rate) || math.IsInf(rate, 0) {
			return fmt.Errorf("server: Options.RateLimit has the rate %v; write a number, or 0 for the default", rate)
		}
	}
	switch {
	case r.Burst < 0:
		return fmt.Errorf("server: Options.RateLimit.Burst is %d; it must not be negative", r.Burst)
	case r.Policy > LimitClose:
		return fmt.Errorf("server: Options.RateLimit.Policy %d is unknown", r.Policy)
	case *r != RateLimit{} && r.MessagesPerSecond == 0:
		r.MessagesPerSecond = 100
	}
	return nil
}

// limits are the buckets of a server; nil = no limit.
type limits struct {
	policy  LimitPolicy
	own     quota // of each connection
	users   table[string]
	addrs   table[netip.Addr]
	clock   func() int64 // nanoseconds
	limited atomic.Uint64
}

// newLimits returns nil for no limit.
func newLimits(r RateLimit) *limits {
	l := &limits{policy: r.Policy, own: newQuota(r.MessagesPerSecond, r.Burst)}
	l.users.quota = newQuota(r.PerUser, 0).atLeast(r.Burst)
	l.addrs.quota = newQuota(r.PerIP, 0).atLeast(r.Burst)
	if l.own == (quota{}) && l.users.quota == (quota{}) && l.addrs.quota == (quota{}) {
		return nil
	}
	start := time.Now()
	l.clock = func() int64 { return int64(time.Since(start)) } // which nobody sets back
	return l
}

// tell adds the rate and burst that a single connection keeps. They are whole
// numbers of at least 1 on the wire: a lower rate is told as 1.
func (l *limits) tell(t *hub.Terms) {
	if l == nil {
		return
	}
	least := quota{perNano: math.Inf(1), burst: math.Inf(1)}
	for _, q := range []quota{l.own, l.users.quota, l.addrs.quota} {
		if q != (quota{}) {
			least.perNano, least.burst = min(least.perNano, q.perNano), min(least.burst, q.burst)
		}
	}
	t.Rate, t.Burst = int64(max(1, least.rate())), int64(least.burst)
}

// count returns the frames that came too early.
func (l *limits) count() uint64 {
	if l == nil {
		return 0
	}
	return l.limited.Load()
}

// sweep forgets the buckets of users and addresses that are gone.
func (l *limits) sweep() {
	if l == nil {
		return
	}
	now := l.clock()
	l.users.sweep(now, maxUnused)
	l.addrs.sweep(now, maxUnused)
}

// network returns what of an address counts as one client: of IPv6 the part that an
// access is given. The zero value: no address that could be told apart.
func network(ip string) netip.Addr {
	addr, err := netip.ParseAddr(ip)
	if err != nil {
		return netip.Addr{}
	}
	return counted(addr.Unmap().WithZone(""))
}
