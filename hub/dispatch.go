package hub

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/ignex/nova"
	"github.com/ignex/nova/session"
	"github.com/ignex/nova/wire"
)

// handler is one registration; its address is its identity.
type handler struct{ fn nova.FrameHandler }

// HandleFrame implements nova.Hub. Several handlers of one event run in the
// order of their registration. A handler added during a dispatch does not run in
// it.
func (h *Hub) HandleFrame(event *wire.Event, fn nova.FrameHandler) (off func(), err error) {
	if event == nil || fn == nil {
		return nil, nova.Errorf(nova.Invalid, "a handler needs an event and a function")
	}
	state := h.events[event.ID]
	if state == nil || state.event.Name != event.Name {
		return nil, nova.Errorf(nova.Invalid, "schema %s has no event %q: the hub needs the schema it was generated from",
			h.options.Schema.Name(), event.Name)
	}
	mine := &handler{fn: fn}
	state.change(func(list []*handler) []*handler { return append(list, mine) })
	return func() {
		state.change(func(list []*handler) []*handler {
			return slices.DeleteFunc(list, func(x *handler) bool { return x == mine })
		})
	}, nil
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

// Inbound takes an application frame of the client: it counts it and, if someone
// listens, queues it for the handlers. It waits while the inbox is full; payload
// is copied. It must not be called by two goroutines at a time.
func (s *Session) Inbound(id uint32, payload []byte) {
	h := s.hub
	state := h.events[id]
	if state == nil {
		h.metrics.unknown.Add(1)
		return
	}
	handlers := len(state.list()) > 0
	if !handlers && !state.allowed.Load() {
		h.metrics.notAllowed.Add(1)
		return
	}
	state.inbound.Add(1)
	if handlers {
		s.enqueue(task{state: state, payload: append([]byte(nil), payload...)})
	}
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

// task is one thing to do for a session, in order: an event for its handlers, or
// run.
type task struct {
	state   *eventState
	payload []byte
	run     func(ctx context.Context)
	hook    bool // of the hub itself: not held back by a full inbox
	last    bool // nothing follows

	// of clients with session/1: their number, who sent it, and what is counted when
	// nobody listens
	numbered bool
	seq      uint64
	from     *session.Cursor
	counted  *eventState
	unknown  bool
	refused  bool
}

// The bounds of an inbox; reading stops beyond.
const (
	inboxTasks   = 256
	inboxPayload = 256 << 10
)

// inbox holds what a session has to do, one thing at a time, off the goroutine
// that reads. It needs no goroutine while empty.
type inbox struct {
	mu       sync.Mutex
	space    sync.Cond
	tasks    []task
	bytes    int
	running  bool
	closed   bool   // takes nothing more
	received uint64 // number of the last client frame taken
}

// enqueue waits for room and has t done after everything queued before. false: the
// number of t does not follow.
func (s *Session) enqueue(t task) bool {
	box := s.box()
	box.mu.Lock()
	defer box.mu.Unlock()
	for !box.closed && !t.hook && (len(box.tasks) >= inboxTasks || box.bytes > inboxPayload) {
		box.space.Wait()
	}
	if box.closed {
		return true
	}
	if t.numbered {
		take, ok := s.accept(box, &t)
		if !take {
			return ok
		}
		if t.state == nil && !box.running && len(box.tasks) == 0 {
			s.handled.Store(t.seq) // told with the next acknowledgement by time
			return true
		}
	}
	box.closed = t.last
	if t.last {
		box.space.Broadcast()
	}
	box.tasks = append(box.tasks, t)
	box.bytes += len(t.payload)
	if !box.running {
		box.running = s.hub.start(func() { s.work(box) })
	}
	return true
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

// work runs tasks until there are none.
func (s *Session) work(box *inbox) {
	for {
		box.mu.Lock()
		if len(box.tasks) == 0 {
			box.running, box.tasks = false, nil
			box.mu.Unlock()
			return
		}
		t := box.tasks[0]
		box.mu.Unlock()
		switch {
		case t.run != nil:
			s.runHook(t.run)
		case t.state != nil:
			s.dispatch(t.state, t.payload)
		}
		if t.numbered {
			s.handledUpTo(t.seq)
		}
		box.mu.Lock()
		box.tasks[0] = task{}
		box.tasks = box.tasks[1:]
		box.bytes -= len(t.payload)
		box.space.Signal()
		box.mu.Unlock()
	}
}

// handledUpTo notes the number of a client frame that is done with.
func (s *Session) handledUpTo(seq uint64) {
	s.handled.Store(seq)
	if seq-s.ackSent.Load() >= ackEvery && s.ackHandled() {
		s.shard.put(item{kind: itemFlush, member: &s.everyone})
	}
}

// ordered runs fn now, or after what the client sent before when it may be slow.
func (s *Session) ordered(slow bool, fn func(ctx context.Context)) {
	if slow {
		s.enqueue(task{run: fn})
		return
	}
	fn(s.hub.ctx)
}

func (s *Session) runHook(fn func(ctx context.Context)) {
	defer func() {
		if p := recover(); p != nil {
			s.hub.options.Logger.Error("hook panicked", "client", s.id, "panic", p, "stack", string(debug.Stack()))
		}
	}()
	fn(s.hub.ctx)
}

// dispatch runs the handlers of one event. What goes wrong in one is counted and
// logged; the others run all the same.
func (s *Session) dispatch(e *eventState, payload []byte) {
	h := s.hub
	if hook := h.options.AuthorizePublish; hook != nil {
		if err := guard(func() error { return hook(h.ctx, s.client, e.event) }); err != nil {
			h.metrics.notAllowed.Add(1)
			return
		}
	}
	for _, x := range e.list() {
		err := guard(func() error { return x.fn(h.ctx, s.client, payload) })
		var malformed *wire.DecodeError
		switch {
		case err == nil:
		case errors.As(err, &malformed):
			s.Undecodable(DamagePayload)
			return
		default:
			e.errors.Add(1)
			h.options.Logger.Error("handler failed", "event", e.event.Name, "client", s.id, "error", err)
		}
	}
}

// guard turns a panic into an error.
func guard(fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return fn()
}

func asCoded(err error) (*nova.Error, bool) {
	var coded *nova.Error
	ok := errors.As(err, &coded)
	return coded, ok
}
