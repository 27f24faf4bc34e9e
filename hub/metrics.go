package hub

import (
	"sync/atomic"

	"github.com/ignex/nova"
	"github.com/ignex/nova/session"
	"github.com/ignex/nova/wire"
)

// Metrics is what a hub has counted. Reading it changes nothing.
type Metrics struct {
	Published     map[string]uint64    // by event
	Inbound       map[string]uint64    // by event, allowed ones
	HandlerErrors map[string]uint64    // by event, panics included
	Calls         map[nova.Code]uint64 // of clients, by the code they were answered with
	NotAllowed    uint64
	Invalid       uint64 // events and calls that Validate or CheckInbound refused
	UnknownEvents uint64
	Undecodable   uint64
	Damage        map[Damage]uint64 // of Undecodable, by what was damaged
	Dropped       uint64            // frames given up by policy
	SlowClosed    uint64            // sessions closed as slow consumers
	RejectedJoins uint64
	Sessions      int // admitted
	Topics        int
	Groups        int
	UserGroups    int
	HistoryBytes  int64
	Detached      int    // of Sessions, those without a socket
	Expired       uint64 // sessions nobody came back to
	Resumes       uint64 // sessions given back
	ResumesFailed uint64
	Replayed      uint64        // numbers given again to clients that came back, holes included
	SessionBytes  int64         // memory of what sessions hold, see SessionOptions.TotalBytes
	Frames        session.Stats // what became of all numbered frames
	ExpiredFrames uint64        // of Frames.Discarded, those of sessions nobody came back to
	QueueFrames   Depth         // frames unsent when a session begins to write
	FlushFrames   Depth         // frames in one write
	// PublishToWrite is the time publications wait until they are written.
	PublishToWrite Latency
}

type counters struct {
	notAllowed, invalid, unknown    atomic.Uint64
	undecodable                     [damages]atomic.Uint64
	expiredFrames                   atomic.Uint64
	dropped, slow, rejectedJoins    atomic.Uint64
	sessions                        atomic.Int64
	historyBytes                    atomic.Int64
	expired, resumes, resumesFailed atomic.Uint64
	replayed                        atomic.Uint64
	calls                           [callCodes]atomic.Uint64
	latency                         latency
}

// eventState is what the hub keeps per event of the schema.
type eventState struct {
	event     *wire.Event
	index     int         // in the schema
	allowed   atomic.Bool // by schema, option or AllowInbound
	handlers  atomic.Pointer[[]*handler]
	published atomic.Uint64
	inbound   atomic.Uint64
	errors    atomic.Uint64
	warned    fieldSet // whose unsafe int64 was logged
}

// Metrics returns a snapshot of the counters.
func (h *Hub) Metrics() Metrics {
	m := Metrics{
		Published:     map[string]uint64{},
		Inbound:       map[string]uint64{},
		HandlerErrors: map[string]uint64{},
		Calls:         map[nova.Code]uint64{},
		NotAllowed:    h.metrics.notAllowed.Load(),
		Invalid:       h.metrics.invalid.Load(),
		UnknownEvents: h.metrics.unknown.Load(),
		Damage:        map[Damage]uint64{},
		Dropped:       h.metrics.dropped.Load(),
		SlowClosed:    h.metrics.slow.Load(),
		RejectedJoins: h.metrics.rejectedJoins.Load(),
		Sessions:      int(h.metrics.sessions.Load()),
		Topics:        h.topics.len(),
		Groups:        h.groups.len(),
		UserGroups:    h.userGroups.len(),
		HistoryBytes:  h.metrics.historyBytes.Load(),
		Detached:      h.lost.len(),
		Expired:       h.metrics.expired.Load(),
		Resumes:       h.metrics.resumes.Load(),
		ResumesFailed: h.metrics.resumesFailed.Load(),
		Replayed:      h.metrics.replayed.Load(),
		SessionBytes:  h.SessionBytes(),
		Frames:        h.frameStats(),
		ExpiredFrames: h.metrics.expiredFrames.Load(),

		PublishToWrite: h.metrics.latency.snapshot(),
	}
	for code := range h.metrics.calls {
		if n := h.metrics.calls[code].Load(); n > 0 {
			m.Calls[nova.Code(code)] = n
		}
	}
	for d := range damages {
		m.Damage[d] = h.metrics.undecodable[d].Load()
		m.Undecodable += m.Damage[d]
	}
	for _, sh := range h.shards {
		sh.queued.addTo(&m.QueueFrames)
		sh.flushed.addTo(&m.FlushFrames)
	}
	for _, e := range h.events {
		m.Published[e.event.Name] = e.published.Load()
		m.Inbound[e.event.Name] = e.inbound.Load()
		m.HandlerErrors[e.event.Name] = e.errors.Load()
	}
	return m
}

// frameStats sums the counts of all sessions, those that ended too. With a session
// ending meanwhile it may be off by that session.
func (h *Hub) frameStats() session.Stats {
	sum, parting := h.ended.get()
	for _, s := range append(parting, h.sessions()...) {
		s.mu.Lock()
		sum.Add(s.queue.Stats())
		s.mu.Unlock()
	}
	return sum
}
