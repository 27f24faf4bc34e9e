package hub

import (
	"context"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/session"
	"github.com/ignex/nova/wire"
	"github.com/ignex/nova/wire/control"
)

// asking is a call made to a client.
type asking struct {
	name    string
	over    *session.Cursor // the socket it went to
	sent    bool            // it is in the socket's queue; under calls.mu
	settled chan struct{}
	payload []byte
	err     error
}

// settle gives the outcome. The caller holds calls.mu and has taken a out of waiting.
func (a *asking) settle(payload []byte, err error) {
	a.payload, a.err = payload, err
	close(a.settled)
}

// lost is the outcome when the socket is gone. The caller holds calls.mu.
func (a *asking) lost() error {
	if !a.sent {
		return nova.Errorf(nova.Unavailable, "call %s: the client's connection was lost before the call was sent", a.name)
	}
	return nova.Errorf(nova.UnknownOutcome, "call %s: the client's connection was lost before it answered", a.name)
}

// CallFrame implements nova.Session.
func (s *Session) CallFrame(ctx context.Context, call *wire.Call, request nova.Encoded) ([]byte, error) {
	if err := s.hub.safe(call.Name, request.Unsafe); err != nil {
		return nil, err
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, callTime)
		defer cancel()
	}
	if err := ctx.Err(); err != nil {
		return nil, ended(call.Name, err)
	}
	a := &asking{name: call.Name, settled: make(chan struct{})}
	cs := s.callState()
	id, err := s.askOver(cs, a)
	if err != nil {
		return nil, err
	}
	data, err := s.callMessage(ctx, id, call.Name, request.Payload)
	if err != nil {
		cs.drop(id)
		return nil, err
	}
	s.listen(1)
	defer s.listen(-1)
	s.inTurn(func() { s.send(cs, id, a, data) })
	select {
	case <-a.settled:
	case <-ctx.Done():
		if cs.drop(id) {
			s.inTurn(func() { s.cancel(a.over, id) })
			return nil, ended(call.Name, ctx.Err())
		}
		<-a.settled
	}
	return a.payload, a.err
}

func ended(name string, err error) error {
	return nova.Errorf(nova.CodeOf(err), "call %s: %w", name, err)
}

// askOver gives a call its id and the socket it goes to.
func (s *Session) askOver(cs *calls, a *asking) (int64, error) {
	s.mu.Lock()
	caps := s.caps
	a.over = s.owner.Load()
	s.mu.Unlock()
	switch {
	case a.over == nil:
		return 0, nova.Errorf(nova.Unavailable, "call %s: client %q is not connected", a.name, s.id)
	case caps&CapCalls == 0:
		return 0, nova.Errorf(nova.Unimplemented, "call %s: client %q takes no calls", a.name, s.id)
	}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.ended || s.owner.Load() != a.over { // whoever takes it away ends its calls next
		return 0, a.lost()
	}
	if cs.waiting == nil {
		cs.waiting = map[int64]*asking{}
	}
	cs.last++
	cs.waiting[cs.last] = a
	return cs.last, nil
}

func (s *Session) callMessage(ctx context.Context, id int64, name string, payload []byte) ([]byte, error) {
	deadline, _ := ctx.Deadline()
	trace := nova.TraceOf(ctx)
	if t := s.hub.options.Tracer; t != nil {
		if own := t.Inject(ctx); own != "" {
			trace = own
		}
	}
	m := control.Call{ID: id, Name: name, DeadlineMs: max(1, time.Until(deadline).Milliseconds()), Trace: trace, Payload: payload}
	data, err := encodeMessage(&m, len(payload)+len(name)+len(trace)+replyHead)
	if most := s.hub.options.Backpressure.MaxBytes; err == nil && len(data) > most {
		err = nova.Errorf(nova.Invalid, "call %s: %d bytes, more than Backpressure.MaxBytes (%d) lets any client queue", name, len(data), most)
	}
	return data, err
}

// send queues a call for its socket.
func (s *Session) send(cs *calls, id int64, a *asking, data []byte) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.waiting[id] != a {
		return // given up
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.owner.Load() != a.over: // the loss of the socket settles it
	case s.queue.Answer(a.over, data):
		a.sent = true
	default:
		delete(cs.waiting, id)
		a.settle(nil, nova.Errorf(nova.Exhausted, "call %s: client %q has no room", a.name, s.id))
	}
}

// cancel tells a client that nobody waits for its answer.
func (s *Session) cancel(c *session.Cursor, id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.owner.Load() == c {
		s.queue.InOrder(c, session.Plain, message(nil, &control.Cancel{ID: id}))
	}
}

// drop gives a call up; false when it has its outcome.
func (cs *calls) drop(id int64) bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	_, ok := cs.waiting[id]
	delete(cs.waiting, id)
	return ok
}

// Replied takes a client's answer. One that nobody waits for is ignored.
func (s *Session) Replied(c *session.Cursor, m *control.Reply) {
	cs := s.callsSoFar()
	if cs == nil {
		return
	}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	a := cs.waiting[m.ID]
	if a == nil || a.over != c {
		return
	}
	delete(cs.waiting, m.ID)
	if m.Code == int64(nova.OK) {
		a.settle(m.Payload, nil)
		return
	}
	a.settle(nil, nova.ReplyError(m.Code, m.Message))
}

// listen counts the calls that wait for the client's answer: as long as there is one
// more is read from it than its handlers keep up with, as one of them may be waiting.
func (s *Session) listen(n int) {
	box := s.box()
	box.mu.Lock()
	defer box.mu.Unlock()
	if box.asking += n; n > 0 {
		box.space.Broadcast()
	}
}
