package hub

import (
	"context"
	"encoding/base64"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/session"
	"github.com/ignex/nova/wire"
	"github.com/ignex/nova/wire/control"
)

const (
	maxCalls    = 16               // of one client that run at a time
	callTime    = 10 * time.Second // for calls without a deadline
	maxCallTime = 24 * time.Hour
	callCodes   = nova.Unauthenticated + 1 // codes that replies may have are below
)

// calls are those of one session that run, and those made to its client. It needs no
// memory before the first.
type calls struct {
	mu      sync.Mutex
	running []*made
	waiting map[int64]*asking // by the id we gave
	last    int64             // id given
	ended   bool              // none is begun any more
}

// made is a call that a client made.
type made struct {
	from    *session.Cursor // the socket it came over
	base    bool            // a call of the base protocol, which has a text for id
	id      int64
	text    string
	name    string
	payload []byte // of a base call: a frame in base64, until open
	time    time.Duration
	trace   string
	ctx     callContext
	due     Due
}

// gathered is a call in a burst: its place there, and what it says, nil when it does
// not decode.
type gathered struct {
	task    int
	call    *control.Call
	refused *nova.Error // the answer, nil = it is to run
}

// RefuseCall adds a call that is answered with an error; its number counts. full: b is
// to be handed over before the next frame.
func (b *Burst) RefuseCall(head wire.Header, payload []byte, err *nova.Error) (full bool) {
	b.addCall(payload, err)
	return b.append(task{seq: head.Seq, fate: forCalls})
}

func (b *Burst) addCall(payload []byte, refused *nova.Error) {
	m := new(control.Call)
	if m.UnmarshalNova(payload) != nil {
		m = nil
	}
	b.calls = append(b.calls, gathered{len(b.tasks), m, refused})
}

// Due is a call that was begun and has yet to run.
type Due struct {
	session *Session
	calls   *calls
	made    *made
}

// Run runs the handler and answers the call.
func (d *Due) Run() {
	defer d.session.hub.tasks.Done()
	d.session.serve(d.calls, d.made)
}

// Go runs the call beside the caller.
func (d *Due) Go() { d.session.hub.run(d) }

// begin begins the calls of a burst that were taken, beside everything else the
// client does; the last one is left to the caller. nil: there is none.
func (s *Session) begin(c *session.Cursor, list []gathered) (due *Due) {
	for _, g := range list {
		if due != nil {
			s.hub.run(due)
			due = nil
		}
		m := g.call
		if m == nil {
			s.Undecodable(DamageControl)
			continue
		}
		x := &made{from: c, id: m.ID, name: m.Name, payload: m.Payload, trace: m.Trace, time: callTime}
		if m.DeadlineMs > 0 {
			x.time = time.Duration(min(m.DeadlineMs, maxCallTime.Milliseconds())) * time.Millisecond
		}
		if g.refused != nil {
			s.reply(x, g.refused.Code, g.refused.Message, nil)
			continue
		}
		if m.DeadlineMs < 0 {
			s.reply(x, nova.DeadlineExceeded, "the time for the call was over when it was sent", nil)
			continue
		}
		due = s.start(x)
	}
	return due
}

// Request begins a call of the base protocol. It is always answered.
func (s *Session) Request(c *session.Cursor, m *control.RpcCall) {
	x := &made{from: c, base: true, text: m.ID, name: m.Name, payload: []byte(m.PayloadB64), time: callTime}
	if due := s.start(x); due != nil {
		s.hub.run(due)
	}
}

// open takes the request of a base call out of its frame.
func (x *made) open(event uint32) error {
	frame, err := base64.StdEncoding.AppendDecode(nil, x.payload)
	if err != nil {
		return nova.Errorf(nova.Invalid, "undecodable request payload: %w", err)
	}
	head, payload, err := wire.ParseFrame(frame)
	switch {
	case err != nil:
		return nova.Errorf(nova.Invalid, "undecodable request payload: %w", err)
	case head.ID != event || head.Trailer:
		return nova.Errorf(nova.Invalid, "undecodable request payload: not a frame of %s", x.name)
	}
	x.payload = payload
	return nil
}

// callState returns what the session keeps about calls, made with their first.
func (s *Session) callState() *calls {
	box := s.box()
	if cs := box.calls.Load(); cs != nil {
		return cs
	}
	box.calls.CompareAndSwap(nil, &calls{})
	return box.calls.Load()
}

// callsSoFar is callState without making it; nil: there were none.
func (s *Session) callsSoFar() *calls {
	if box := s.inbox.Load(); box != nil {
		return box.calls.Load()
	}
	return nil
}

// start counts a call in, which has to run then. nil: it must not.
func (s *Session) start(x *made) *Due {
	cs := s.callState()
	cs.mu.Lock()
	if cs.ended || s.owner.Load() != x.from {
		cs.mu.Unlock()
		return nil // nobody could take the answer
	}
	if len(cs.running) >= maxCalls {
		cs.mu.Unlock()
		s.reply(x, nova.Exhausted, "too many calls run: wait for one to end", nil)
		return nil
	}
	if !s.hub.enter() {
		cs.mu.Unlock()
		return nil
	}
	x.ctx.Context, x.ctx.deadline = s.hub.ctx, time.Now().Add(x.time)
	cs.running = append(cs.running, x)
	cs.mu.Unlock()
	x.due = Due{s, cs, x}
	return &x.due
}

// serve runs a call and answers it.
func (s *Session) serve(cs *calls, x *made) {
	defer x.ctx.cancel(context.Canceled)
	ctx := nova.WithTrace(&x.ctx, x.trace)
	var end func(error)
	if t := s.hub.options.Tracer; t != nil {
		if trace := nova.TraceOf(ctx); trace != "" {
			ctx = t.Extract(ctx, trace)
		}
		ctx, end = t.Start(ctx, "call", x.name)
	}
	s.connected(ctx)
	out, err := s.attend(ctx, x)
	code, message := s.verdict(ctx, x, err)
	if end != nil {
		end(err)
	}
	cs.forget(x)
	s.reply(x, code, message, out.Payload)
}

// connected waits until OnConnect has run.
func (s *Session) connected(ctx context.Context) {
	box := s.box()
	box.mu.Lock()
	connecting := box.connecting
	box.mu.Unlock()
	if connecting == nil {
		return
	}
	select {
	case <-connecting:
	case <-ctx.Done():
	}
}

func (cs *calls) forget(x *made) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for i, y := range cs.running {
		if y == x {
			last := len(cs.running) - 1
			cs.running[i], cs.running[last] = cs.running[last], nil
			cs.running = cs.running[:last]
			return
		}
	}
}

// idle reports whether no call runs.
func (cs *calls) idle() bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return len(cs.running) == 0
}

// CancelCall says that the client waits for the answer to a call no longer.
func (s *Session) CancelCall(c *session.Cursor, id int64) {
	cs := s.callsSoFar()
	if cs == nil {
		return
	}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for _, x := range cs.running {
		if x.id == id && x.from == c && !x.base {
			x.ctx.cancel(context.Canceled)
		}
	}
}

// cutCalls ends what was called over a socket that is gone: nobody could take the
// answers. nil is every socket, for good.
func (s *Session) cutCalls(c *session.Cursor) {
	cs := s.callsSoFar()
	if cs == nil {
		return
	}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.ended = cs.ended || c == nil
	for _, x := range cs.running {
		if c == nil || x.from == c {
			x.ctx.cancel(context.Canceled)
		}
	}
	for id, a := range cs.waiting {
		if c == nil || a.over == c {
			delete(cs.waiting, id)
			a.settle(nil, a.lost())
		}
	}
}

// reply answers a call, behind everything its handler has published.
func (s *Session) reply(x *made, code nova.Code, message string, payload []byte) {
	data, err := x.encode(code, message, payload)
	if most := s.hub.options.Backpressure.MaxBytes; err != nil || len(data) > most {
		s.hub.sparse.Write(s.hub.options.Logger, slog.LevelError, "the answer to a call is too large", x.name,
			"call", x.name, "client", s.id, "bytes", len(payload), "limit", most)
		code = nova.Internal
		data, _ = x.encode(code, "internal error", nil) // short
	}
	s.hub.metrics.calls[min(max(code, 0), callCodes-1)].Add(1)
	s.inTurn(func() {
		s.mu.Lock()
		room := s.owner.Load() != x.from || s.queue.Answer(x.from, data)
		s.mu.Unlock()
		if !room {
			s.hub.metrics.slow.Add(1)
			s.closePeer(1013, "slow consumer")
		}
	})
}

// encode returns the answer as one WebSocket message.
func (x *made) encode(code nova.Code, message string, payload []byte) ([]byte, error) {
	if x.base {
		return x.encodeBase(code, message, payload)
	}
	m := control.Reply{ID: x.id, Code: int64(code), Message: message, Payload: payload}
	return encodeMessage(&m, len(payload)+len(message)+replyHead)
}

// replyHead is what a reply or a call takes beside its texts and payload.
const replyHead = 128

func (x *made) encodeBase(code nova.Code, message string, payload []byte) ([]byte, error) {
	m := control.RpcResult{ID: x.text, Ok: code == nova.OK, Err: message}
	if m.Ok {
		frame := append(wire.AppendHeader(make([]byte, 0, wire.HeaderLen+len(payload)), wire.EventID(x.name)), payload...)
		m.PayloadB64 = base64.StdEncoding.EncodeToString(frame)
	}
	return encodeMessage(&m, len(m.PayloadB64)+len(message)+len(x.text)+replyHead)
}

// encodeMessage is message for tables of any size; most is about how large.
func encodeMessage(m controlFrame, most int) ([]byte, error) {
	const room = ws.MaxHeader
	b, err := m.AppendFrame(make([]byte, room, room+most))
	if err != nil {
		return nil, err
	}
	n := len(b) - room
	head := room - ws.HeaderSize(n)
	ws.AppendHeader(b[head:head], ws.Binary, n)
	return b[head:], nil
}

// inTurn runs fn, which queues something, behind everything published before, and
// writes. With nothing on the way to the queue that is at once: handing it to the
// shard's loop costs more than all the rest. Where other calls run, those that are
// about to end may end before, so that one write takes all answers.
func (s *Session) inTurn(fn func()) {
	if !s.shard.quiet() {
		s.shard.put(item{kind: itemFlush, member: &s.everyone, done: func(uint64) { fn() }})
		return
	}
	fn()
	if !s.callState().idle() {
		runtime.Gosched()
	}
	s.flush()
}

// quiet reports whether everything put so far is in the queues.
func (sh *shard) quiet() bool {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return len(sh.pending) == 0 && !sh.taken.Load()
}
