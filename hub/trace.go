package hub

import (
	"cmp"
	"context"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/wire"
)

// Direction says which way an event went.
type Direction uint8

// The directions of a trace.
const (
	OutEmit    Direction = iota // published through a hub
	OutPublish                  // published over the HTTP API
	InClient                    // sent by a client
	directions
)

// String returns the direction as traces show it, such as "out.emit".
func (d Direction) String() string {
	return [...]string{"out.emit", "out.publish", "in.client", "unknown"}[min(d, directions)]
}

// MarshalText implements encoding.TextMarshaler.
func (d Direction) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// TraceEntry is one event that was published or received.
type TraceEntry struct {
	Seq         uint64 // 1, 2, 3 … per hub
	Time        time.Time
	Direction   Direction
	Event       string
	Kind        nova.TargetKind // of what is published
	Name        string          // of the target; of what came in, the id of the client
	More        int             // topics besides Name
	Bytes       int             // envelope and payload
	Traceparent string          // W3C, "" without a Tracer
}

// TraceFilter selects entries; what is empty selects all.
type TraceFilter struct {
	Directions []Direction
	Event      string
	Name       string
}

func (f *TraceFilter) match(e *TraceEntry) bool {
	return (len(f.Directions) == 0 || slices.Contains(f.Directions, e.Direction)) &&
		(f.Event == "" || f.Event == e.Event) && (f.Name == "" || f.Name == e.Name)
}

// TraceStats sums up a trace. What was recorded counts from the start, whatever
// Clear forgot.
type TraceStats struct {
	Enabled  bool
	Capacity int // entries
	Size     int // entries there are
	Total    uint64
	In, Out  uint64
	Bytes    uint64
	ByName   map[string]uint64 // by event, those that occurred
	Last     time.Time         // zero = nothing yet
}

// Trace remembers the newest events in memory made beforehand: recording allocates
// nothing. Times are exact to a millisecond. It may be used by any goroutine.
type Trace struct {
	on       atomic.Bool
	capacity int
	seq      atomic.Uint64
	clock    traceClock
	rings    []traceRing
	names    []string // of the events, by their index
}

// maxTraceRings bounds the memory of traces on large machines.
const maxTraceRings = 8

// traced is an entry as it is kept.
type traced struct {
	seq    uint64
	at     int64 // Unix, nanoseconds
	event  *wire.Event
	name   string
	parent string
	bytes  int
	more   int32
	kind   nova.TargetKind
	dir    Direction
}

func (e *traced) entry() TraceEntry {
	return TraceEntry{
		Seq: e.seq, Time: time.Unix(0, e.at), Direction: e.dir, Event: e.event.Name,
		Kind: e.kind, Name: e.name, More: int(e.more), Bytes: e.bytes, Traceparent: e.parent,
	}
}

type traceRing struct {
	mu      sync.Mutex
	entries []traced // a ring; next is the place of the one after the newest
	next    int
	size    int
	in, out uint64
	bytes   uint64
	events  []uint64 // recorded, by the index of the event
	last    int64
	_       [64]byte // the next ring is another processor's
}

// TraceOptions are those of a trace.
type TraceOptions struct {
	// Capacity is the number of entries kept; negative begins switched off, see
	// Trace.Enable. Default 1,024, switched off if the environment has NOVA_TRACE=0 or
	// IGNEX_NOVA_TRACE=0.
	Capacity int
}

func newTrace(h *Hub, o TraceOptions, rings int) *Trace {
	t := &Trace{capacity: o.Capacity}
	off := o.Capacity < 0 || o.Capacity == 0 && (os.Getenv("NOVA_TRACE") == "0" || os.Getenv("IGNEX_NOVA_TRACE") == "0")
	if t.capacity <= 0 {
		t.capacity = 1024
	}
	t.clock.hub = h
	t.names = make([]string, len(h.layout.Events))
	for i := range h.layout.Events {
		t.names[i] = h.layout.Events[i].Name
	}
	t.rings = make([]traceRing, min(rings, maxTraceRings))
	t.Enable(!off)
	return t
}

// Trace returns the trace of what was published and received.
func (h *Hub) Trace() *Trace { return h.trace }

// Enable switches recording on or off. What was recorded stays.
func (t *Trace) Enable(on bool) {
	if on {
		for i := range t.rings {
			t.rings[i].prepare(t.capacity, len(t.names))
		}
	}
	t.on.Store(on)
}

// prepare takes the memory that is needed.
func (r *traceRing) prepare(capacity, events int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.entries == nil {
		r.entries, r.events = make([]traced, capacity), make([]uint64, events)
	}
}

// slot returns the entry to fill in for an event; the caller holds mu.
func (r *traceRing) slot(event int, bytes int) *traced {
	e := &r.entries[r.next]
	if r.next++; r.next == len(r.entries) {
		r.next = 0
	}
	r.size = min(r.size+1, len(r.entries))
	r.bytes += uint64(bytes)
	r.events[event]++
	return e
}

// published records a publication.
func (t *Trace) published(ctx context.Context, state *eventState, p *nova.Publication, tracer nova.Tracer) {
	if !t.on.Load() {
		return
	}
	now := t.clock.now()
	parent := ""
	if tracer != nil {
		parent = tracer.Inject(ctx)
	}
	r := &t.rings[(state.index+len(p.Target.Name))%len(t.rings)]
	r.mu.Lock()
	e := r.slot(state.index, len(p.Frame))
	e.seq, e.at, e.event, e.name, e.parent = t.seq.Add(1), now, p.Event, p.Target.Name, parent
	e.bytes, e.more, e.kind, e.dir = len(p.Frame), 0, p.Target.Kind, OutEmit
	if p.API {
		e.dir = OutPublish
	}
	if names := p.Target.Names; e.kind == nova.ToTopics && len(names) > 0 {
		e.name, e.more = names[0], int32(len(names)-1)
	}
	r.out++
	r.last = now
	r.mu.Unlock()
}

// received records the events of a burst that the client may send.
func (t *Trace) received(client string, b *Burst) {
	if !t.on.Load() {
		return
	}
	now := t.clock.now()
	r := &t.rings[len(b.tasks)%len(t.rings)]
	r.mu.Lock()
	for i := range b.tasks {
		x := &b.tasks[i]
		if x.fate > onlyAsked { // nobody was meant to get it
			continue
		}
		e := r.slot(x.state.index, x.size)
		e.seq, e.at, e.event, e.name, e.parent = t.seq.Add(1), now, x.state.event, client, ""
		e.bytes, e.more, e.kind, e.dir = x.size, 0, 0, InClient
		r.in++
		r.last = now
	}
	r.mu.Unlock()
}

// Recent returns the newest entries that the filter selects, at most limit
// (0 = 100), the newest first.
func (t *Trace) Recent(limit int, filter TraceFilter) []TraceEntry {
	if limit <= 0 {
		limit = 100
	}
	var list []TraceEntry
	for i := range t.rings {
		list = t.rings[i].append(list)
	}
	slices.SortFunc(list, func(a, b TraceEntry) int { return cmp.Compare(b.Seq, a.Seq) })
	list = list[:min(len(list), t.capacity)]
	list = slices.DeleteFunc(list, func(e TraceEntry) bool { return !filter.match(&e) })
	return slices.Clip(list[:min(len(list), limit)])
}

func (r *traceRing) append(list []TraceEntry) []TraceEntry {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.entries[:r.size] { // until it is full it begins at 0
		list = append(list, r.entries[i].entry())
	}
	return list
}

// Stats returns the sums.
func (t *Trace) Stats() TraceStats {
	s := TraceStats{Enabled: t.on.Load(), Capacity: t.capacity, ByName: map[string]uint64{}}
	for i := range t.rings {
		t.rings[i].addTo(&s, t.names)
	}
	s.Size = min(s.Size, s.Capacity)
	s.Total = s.In + s.Out
	return s
}

func (r *traceRing) addTo(s *TraceStats, names []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s.Size += r.size
	s.In += r.in
	s.Out += r.out
	s.Bytes += r.bytes
	for i, n := range r.events {
		if n > 0 {
			s.ByName[names[i]] += n
		}
	}
	if r.last > 0 && time.Unix(0, r.last).After(s.Last) {
		s.Last = time.Unix(0, r.last)
	}
}

// Clear forgets the entries; the sums stay.
func (t *Trace) Clear() {
	for i := range t.rings {
		t.rings[i].forget()
	}
}

func (r *traceRing) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.entries)
	r.next, r.size = 0, 0
}

// traceClock is a clock that costs less to read than the system's, which would be
// a quarter of a publish: while it is used a goroutine sets it every millisecond.
type traceClock struct {
	hub  *Hub
	at   atomic.Int64 // Unix, nanoseconds; 0 = it stands still
	used atomic.Bool
}

// tracePatience is the number of milliseconds without a use after which the clock
// stands still.
const tracePatience = 100

func (c *traceClock) now() int64 {
	at := c.at.Load()
	if at == 0 {
		return c.begin()
	}
	if !c.used.Load() {
		c.used.Store(true)
	}
	return at
}

// begin sets the clock going.
func (c *traceClock) begin() int64 {
	now := c.hub.options.Clock().UnixNano()
	if c.at.CompareAndSwap(0, now) && !c.hub.start(c.tick) {
		c.at.Store(0)
	}
	return now
}

func (c *traceClock) tick() {
	defer c.at.Store(0)
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for idle := 0; idle < tracePatience; idle++ {
		select {
		case <-c.hub.logging.closing:
			return
		case <-ticker.C:
			c.at.Store(c.hub.options.Clock().UnixNano())
		}
		if c.used.Swap(false) {
			idle = 0
		}
	}
}
