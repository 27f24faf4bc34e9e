package server

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ignex/nova/hub"
)

// Metrics is what a server and its hub have counted. Reading it changes nothing.
type Metrics struct {
	Hub            hub.Metrics
	Connections    int            // open now
	Accepted       uint64         // upgrades that became connections
	Refused        uint64         // upgrades that did not
	Closed         map[int]uint64 // connections ended, by close code
	InboundControl uint64         // control frames of clients
	PartialBytes   int64          // of messages that have come in part
	RateLimited    uint64         // frames that came earlier than RateLimit allows
	OtherSchema    uint64         // clients that came with another version of the schema
	SentBytes      uint64
	Uptime         time.Duration
}

type counters struct {
	accepted, refused, control, sentBytes, otherSchema atomic.Uint64
	mu                                                 sync.Mutex
	codes                                              map[int]uint64
}

func (c *counters) closed(code int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.codes == nil {
		c.codes = map[int]uint64{}
	}
	if _, ok := c.codes[code]; !ok && chosen(code) && len(c.codes) >= 64 {
		code = 0 // clients choose from thousands; the labels stay few
	}
	c.codes[code]++
}

// chosen reports whether a close code is one of the thousands for applications, and
// none of the protocol's.
func chosen(code int) bool { return code >= 3000 && code != 4401 && code != 4403 }

// Metrics returns a snapshot.
func (s *Server) Metrics() Metrics {
	s.mu.Lock()
	connections := len(s.conns)
	s.mu.Unlock()
	s.metrics.mu.Lock()
	closed := maps.Clone(s.metrics.codes)
	s.metrics.mu.Unlock()
	return Metrics{
		Hub:            s.hub.Metrics(),
		Connections:    connections,
		Accepted:       s.metrics.accepted.Load(),
		Refused:        s.metrics.refused.Load(),
		Closed:         closed,
		InboundControl: s.metrics.control.Load(),
		PartialBytes:   s.partial.Load(),
		RateLimited:    s.limits.count(),
		OtherSchema:    s.metrics.otherSchema.Load(),
		SentBytes:      s.metrics.sentBytes.Load(),
		Uptime:         time.Since(s.started),
	}
}
