package hub

import (
	"errors"
	"sync"

	"github.com/ignex/nova/session"
	"github.com/ignex/nova/wire"
	"github.com/ignex/nova/wire/control"
)

// Burst gathers the application frames that came with one read of a socket, so
// that they cost one lock, one wake-up and one copy of memory together. It is one
// goroutine's until it is given to Session.Inbound or InboundNumbered, which take
// it over.
type Burst struct {
	hub      *Hub
	tasks    []task
	bytes    []byte // the payloads, one after the other
	state    *eventState
	id       uint32 // of the event in state: bursts are mostly of one event
	work     bool   // there is something for handlers
	numbered bool
	calls    []gathered
}

// task is one application frame. Its payload begins where that of the task before
// ends.
type task struct {
	state  *eventState // nil = unknown
	seq    uint64      // of clients with session/1: their number
	end    int
	size   int // of the payload
	fate   fate
	joined bool // see Join
}

// fate is what becomes of an application frame.
type fate uint8

const (
	forHandlers fate = iota
	onlyCounted      // allowed, but nobody listens
	onlyAsked        // likewise, and AuthorizePublish may still refuse it
	refused
	unknown
	forCalls // begins beside the others
	dropped  // numbered wrongly or again, or of a socket that was replaced
	skipped  // more than the client may send; its number is used
)

// The bounds of a burst: two of them are what an inbox takes, so that one is
// gathered while the other is handled. A payload is never cut.
const (
	burstTasks   = inboxTasks / 2
	burstPayload = 16 << 10
	// keptPayload is the capacity above which the memory of a burst is left to the
	// collector.
	keptPayload = 64 << 10
)

var bursts = sync.Pool{New: func() any { return new(Burst) }}

// Burst returns an empty burst.
func (h *Hub) Burst() *Burst {
	b := bursts.Get().(*Burst)
	b.hub = h
	return b
}

// release gives the memory of b to the next burst.
func (b *Burst) release() {
	clear(b.tasks)
	clear(b.calls)
	*b = Burst{tasks: b.tasks[:0], bytes: b.bytes[:0], calls: b.calls[:0]}
	if cap(b.bytes) > keptPayload {
		b.bytes = nil
	}
	bursts.Put(b)
}

// Add adds a frame; payload is copied if someone listens. full: b is to be handed
// over before the next one.
func (b *Burst) Add(head wire.Header, payload []byte) (full bool) {
	if head.ID == control.CallID {
		b.addCall(payload, nil)
		return b.append(task{seq: head.Seq, fate: forCalls})
	}
	if head.ID != b.id || b.state == nil {
		b.id, b.state = head.ID, b.hub.events[head.ID]
	}
	t := task{state: b.state, seq: head.Seq, size: len(payload), fate: refused}
	switch {
	case t.state == nil:
		t.fate = unknown
	case len(t.state.list()) > 0 && t.state.open():
		t.fate = forHandlers
		b.bytes = append(b.bytes, payload...)
		b.work = true
	case t.state.allowed.Load() && b.hub.options.AuthorizePublish != nil:
		t.fate = onlyAsked
		b.work = true
	case t.state.allowed.Load():
		t.fate = onlyCounted
	}
	return b.append(t)
}

// Skip adds a frame that is not to be handled: only its number counts.
func (b *Burst) Skip(head wire.Header) (full bool) {
	return b.append(task{seq: head.Seq, fate: skipped})
}

func (b *Burst) append(t task) (full bool) {
	t.end = len(b.bytes)
	b.tasks = append(b.tasks, t)
	return len(b.tasks) >= burstTasks || len(b.bytes) >= burstPayload
}

// Join says that the frame added last follows another one in its message: it is
// discarded when that does not decode.
func (b *Burst) Join() { b.tasks[len(b.tasks)-1].joined = true }

// Event returns the id of the event added last; 0 without one the schema has.
func (b *Burst) Event() uint32 {
	if b.state == nil {
		return 0
	}
	return b.id
}

// count counts the frames, each run of one event at once: the counters are
// everybody's.
func (b *Burst) count() {
	for i := 0; i < len(b.tasks); {
		t, n := &b.tasks[i], 1
		for ; i+n < len(b.tasks) && b.tasks[i+n].state == t.state && b.tasks[i+n].fate == t.fate; n++ {
		}
		i += n
		switch t.fate {
		case forHandlers, onlyCounted, onlyAsked:
			t.state.inbound.Add(uint64(n))
		case refused:
			b.hub.metrics.notAllowed.Add(uint64(n))
		case unknown:
			b.hub.metrics.unknown.Add(uint64(n))
		}
	}
}

// Inbound takes the frames of a client without numbers: it counts them and has
// the handlers run. It waits while the inbox is full, as long as the socket of c is
// open and has the session. It must not be called by two goroutines at a time. The
// call that came last, if any, is the caller's to run.
func (s *Session) Inbound(c *session.Cursor, b *Burst) *Due {
	b.count()
	s.hub.trace.received(s.id, b)
	if !b.work {
		due := s.begin(c, b.calls)
		b.release()
		return due
	}
	list := b.calls
	b.calls = nil // the handlers release the rest, when they are done
	if !s.enqueue(entry{burst: b, from: c}) {
		b.release()
	}
	return s.begin(c, list)
}

// place is how far the handling of a burst has come.
type place struct {
	frame, at int        // index of the task, position of its payload
	begun     bool       // rest is of this frame
	rest      []*handler // that have not run
	box       *inbox
}

// handle runs the handlers for the frames of a burst.
func (s *Session) handle(b *Burst, box *inbox) {
	p := place{box: box}
	for !s.handleOn(b, &p) {
	}
	b.release()
}

// handleOn goes on at p; false: a handler panicked, which is its error, and the
// rest is still to be done. One recover for many calls: each costs as much as a
// small handler.
func (s *Session) handleOn(b *Burst, p *place) (done bool) {
	defer func() {
		if v := recover(); v != nil {
			s.failed(b.tasks[p.frame].state, panicked(v))
		}
	}()
	for ; p.frame < len(b.tasks); p.frame++ {
		t := &b.tasks[p.frame]
		if !p.begun {
			p.begun, p.rest = true, nil
			if p.box.torn = p.box.torn && t.joined; !p.box.torn {
				p.rest = s.handlers(t, b.bytes[p.at:t.end:t.end])
			}
		}
		for len(p.rest) > 0 {
			x := p.rest[0]
			p.rest = p.rest[1:]
			err := s.call(x, t.state, b.bytes[p.at:t.end:t.end])
			if err != nil && !s.failed(t.state, err) {
				p.rest, p.box.torn = nil, true
			}
		}
		p.begun, p.at = false, t.end
		if b.numbered && t.fate != dropped {
			s.handledUpTo(t.seq)
		}
	}
	return true
}

// call runs one handler, in a span of its own if there is a tracer.
func (s *Session) call(x *handler, e *eventState, payload []byte) (err error) {
	tracer := s.hub.options.Tracer
	if tracer == nil {
		return x.fn(s.hub.ctx, s.client, payload)
	}
	ctx, end := tracer.Start(s.hub.ctx, "handle", e.event.Name)
	err = errPanicked // unless it returns
	defer func() { end(err) }()
	err = x.fn(ctx, s.client, payload)
	return err
}

// errPanicked is what the span of a handler ends with that does not return.
var errPanicked = errors.New("panic")

// handlers returns those to run for a frame.
func (s *Session) handlers(t *task, payload []byte) []*handler {
	if t.fate != forHandlers && t.fate != onlyAsked {
		return nil
	}
	if s.hub.options.judges() && !s.accepts(t, payload) {
		return nil
	}
	return t.state.list()
}
