package hub

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ignex/nova"
	"github.com/ignex/nova/session"
	"github.com/ignex/nova/wire"
)

// handler is one registration; its address is its identity.
type handler struct {
	fn     nova.FrameHandler
	allows bool // clients may send the event as long as it is there
	any    bool // of every event: comes behind the event's own
}

// HandleFrame implements nova.Hub. Several handlers of one event run in the
// order of their registration. A handler added during a dispatch does not run in
// it.
func (h *Hub) HandleFrame(event *wire.Event, fn nova.FrameHandler) (off func(), err error) {
	state, err := h.stateOf(event, fn != nil)
	if err != nil {
		return nil, err
	}
	return state.add(&handler{fn: fn, allows: true}), nil
}

// stateOf returns the state of an event that something is registered for.
func (h *Hub) stateOf(event *wire.Event, fn bool) (*eventState, error) {
	if event == nil || !fn {
		return nil, nova.Errorf(nova.Invalid, "a handler needs an event and a function")
	}
	state := h.events[event.ID]
	if state == nil || state.event.Name != event.Name {
		return nil, nova.Errorf(nova.Invalid, "schema %s has no event %q: the hub needs the schema it was generated from",
			h.options.Schema.Name(), event.Name)
	}
	return state, nil
}

// add registers a handler.
func (e *eventState) add(mine *handler) (off func()) {
	e.change(func(list []*handler) []*handler {
		at := len(list)
		for at > 0 && list[at-1].any && !mine.any {
			at--
		}
		return slices.Insert(list, at, mine)
	})
	return func() {
		e.change(func(list []*handler) []*handler {
			return slices.DeleteFunc(list, func(x *handler) bool { return x == mine })
		})
	}
}

// open reports whether clients may send the event.
func (e *eventState) open() bool {
	if e.allowed.Load() {
		return true
	}
	for _, x := range e.list() {
		if x.allows {
			return true
		}
	}
	return false
}

// change replaces the list of handlers by a changed copy.
func (e *eventState) change(edit func([]*handler) []*handler) {
	for {
		old := e.handlers.Load()
		var list []*handler
		if old != nil {
			list = slices.Clone(*old)
		}
		list = edit(list)
		if e.handlers.CompareAndSwap(old, &list) {
			return
		}
	}
}

func (e *eventState) list() []*handler {
	if p := e.handlers.Load(); p != nil {
		return *p
	}
	return nil
}

// AllowInbound lets clients send the named events, handlers or not. An event
// that the schema does not have is an error with code Invalid.
func (h *Hub) AllowInbound(names ...string) error {
	for _, name := range names {
		if h.layout.EventByName(name) == nil {
			return nova.Errorf(nova.Invalid, "schema %s has no event %q", h.options.Schema.Name(), name)
		}
	}
	for _, name := range names {
		h.events[wire.EventID(name)].allowed.Store(true)
	}
	return nil
}

// Damage says what of a frame could not be decoded.
type Damage uint8

// The kinds of damage.
const (
	DamageEnvelope Damage = iota // the first 18 bytes, or the length
	DamageControl                // the table of a control frame
	DamagePayload                // the table of an event
	damages
)

// String returns what could not be decoded, in lower case.
func (d Damage) String() string {
	return [...]string{"envelope", "control", "payload"}[min(d, damages-1)]
}

// Undecodable counts a malformed frame and closes the connection when there were
// too many.
func (s *Session) Undecodable(d Damage) {
	s.hub.metrics.undecodable[min(d, damages-1)].Add(1)
	if n := s.undecodable.Add(1); s.budget > 0 && n >= s.budget {
		s.closePeer(1002, "too many undecodable frames")
	}
}

// entry is what a session does in one go, in order: a burst of events for their
// handlers, or run.
type entry struct {
	burst *Burst
	run   func(ctx context.Context)
	from  *session.Cursor // the socket it came over
	hook  bool            // of the hub itself: not held back by a full inbox
	last  bool            // nothing follows
}

// size returns what the bounds of an inbox are about.
func (e *entry) size() (tasks, bytes int) {
	if e.burst == nil {
		return 1, 0
	}
	return len(e.burst.tasks), len(e.burst.bytes)
}

// The bounds of an inbox, what is being handled included; reading stops beyond.
const (
	inboxTasks   = 256
	inboxPayload = 256 << 10
	askingMore   = 8 // times that, while the answer to a call may stand behind it
)

// inbox holds what a session has to do, one thing at a time, off the goroutine
// that reads. It needs no goroutine and no memory while empty.
type inbox struct {
	mu       sync.Mutex
	space    sync.Cond
	queue    []entry
	tasks    int // in queue and in what is being handled
	bytes    int // likewise
	running  bool
	held     bool   // nothing begins before release
	closed   bool   // takes nothing more
	torn     bool   // the rest of a message is discarded; of whoever handles bursts
	received uint64 // number of the last client frame taken
	asking   int    // calls that wait for the client's answer

	connecting chan struct{} // closed when OnConnect has run; nil = there is none
	calls      atomic.Pointer[calls]
}

// box returns the inbox, made with its first use.
func (s *Session) box() *inbox {
	box := s.inbox.Load()
	if box == nil {
		box = &inbox{}
		box.space.L = &box.mu
		if !s.inbox.CompareAndSwap(nil, box) {
			box = s.inbox.Load()
		}
	}
	return box
}

// wait waits for room for e; false: there will be none, or not for its socket, which
// is closed or was replaced. After that nothing of the socket is taken, room or not:
// it would come behind a hole. The caller holds mu.
func (s *Session) wait(b *inbox, e *entry) bool {
	tasks, _ := e.size()
	for !b.closed && !e.hook {
		if e.from.Dead.Load() || s.owner.Load() != e.from {
			return false
		}
		more := 1
		if b.asking > 0 {
			more = askingMore
		}
		if b.tasks == 0 || b.tasks+tasks <= more*inboxTasks && b.bytes <= more*inboxPayload {
			return true
		}
		b.space.Wait()
	}
	return !b.closed
}

// Cut says that the socket of c is closed: whoever reads it waits for the inbox no
// longer.
func (s *Session) Cut(c *session.Cursor) {
	c.Dead.Store(true)
	s.lookAgain()
}

// lookAgain wakes those who wait for the inbox: one that has to go may be among
// them.
func (s *Session) lookAgain() {
	if box := s.inbox.Load(); box != nil {
		box.mu.Lock()
		defer box.mu.Unlock()
		box.space.Broadcast()
	}
}

// enqueue waits for room and has e done after everything queued before. false: the
// inbox is closed.
func (s *Session) enqueue(e entry) bool {
	box := s.box()
	box.mu.Lock()
	defer box.mu.Unlock()
	if !s.wait(box, &e) {
		return false
	}
	box.add(e)
	s.run(box)
	return true
}

// add queues e; run has to follow. The caller holds mu.
func (b *inbox) add(e entry) {
	if b.closed = e.last; e.last {
		b.space.Broadcast()
	}
	tasks, bytes := e.size()
	b.tasks += tasks
	b.bytes += bytes
	b.queue = append(b.queue, e)
}

// run sees to it that what is queued is done. The caller holds the inbox's mu.
func (s *Session) run(box *inbox) {
	if !box.running && !box.held {
		box.running = s.hub.start(func() { s.work(box) })
	}
}

// next takes all that is queued and leaves the memory of spare for what comes; nil:
// there is nothing and the inbox stands still.
func (b *inbox) next(spare []entry) []entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.queue) == 0 {
		b.running, b.queue = false, nil
		return nil
	}
	queue := b.queue
	b.queue = spare[:0]
	return queue
}

// work does what there is to do until there is nothing.
func (s *Session) work(box *inbox) {
	var queue []entry
	for {
		if queue = box.next(queue); queue == nil {
			return
		}
		for i := range queue {
			e := &queue[i]
			tasks, bytes := e.size()
			if e.run != nil {
				s.runHook(e.run)
			} else {
				s.handle(e.burst, box)
			}
			*e = entry{}
			box.mu.Lock()
			box.tasks -= tasks
			box.bytes -= bytes
			box.space.Broadcast()
			box.mu.Unlock()
		}
	}
}

// handledUpTo notes the number of a client frame that is done with.
func (s *Session) handledUpTo(seq uint64) {
	s.handled.Store(seq)
	if seq-s.ackSent.Load() >= ackEvery && s.ackHandled() {
		s.shard.put(item{kind: itemFlush, member: &s.everyone})
	}
}

// ordered runs fn now, or after what the client sent before over c when it may be
// slow.
func (s *Session) ordered(c *session.Cursor, slow bool, fn func(ctx context.Context)) {
	if slow {
		s.enqueue(entry{run: fn, from: c})
		return
	}
	fn(s.hub.ctx)
}

func (s *Session) runHook(fn func(ctx context.Context)) {
	defer func() {
		if p := recover(); p != nil {
			s.hub.sparse.Write(s.hub.options.Logger, slog.LevelError, "hook panicked", "", "client", s.id, "panic", p, "stack", string(debug.Stack()))
		}
	}()
	fn(s.hub.ctx)
}

// failed counts and logs what went wrong in one handler; the others run all the
// same. false: the payload does not decode or is not valid, so they need not try.
func (s *Session) failed(e *eventState, err error) bool {
	var malformed *wire.DecodeError
	if errors.As(err, &malformed) {
		s.Undecodable(DamagePayload)
		return false
	}
	var broken *nova.ConstraintError
	if errors.As(err, &broken) {
		s.refused(&s.hub.metrics.invalid, e.event, err)
		return false
	}
	e.errors.Add(1)
	s.hub.sparse.Write(s.hub.options.Logger, slog.LevelError, "handler failed", e.event.Name, "event", e.event.Name, "client", s.id, "error", err)
	return true
}

// guard turns a panic into an error.
func guard(fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked(p)
		}
	}()
	return fn()
}

// panicError is a panic of the application's code.
type panicError struct {
	value any
	stack string
}

func panicked(v any) error { return &panicError{value: v, stack: string(debug.Stack())} }

// Error implements error.
func (p *panicError) Error() string { return fmt.Sprintf("panic: %v\n%s", p.value, p.stack) }

func asCoded(err error) (*nova.Error, bool) {
	var coded *nova.Error
	ok := errors.As(err, &coded)
	return coded, ok
}
