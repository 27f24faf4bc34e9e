package client

import (
	"context"
	"encoding/base64"
	"slices"
	"strconv"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/wire"
	"github.com/ignex/nova/wire/control"
)

const (
	capCalls = "calls/1"
	callTime = 10 * time.Second // for calls without a deadline
)

// errCut is the outcome of a call that no server was given.
var errCut = nova.Errorf(nova.Unavailable, "the connection was lost before the call was sent")

// errNoCalls is the outcome of a call to a server that takes none.
var errNoCalls = nova.Errorf(nova.Unimplemented, "the server takes no calls (capability %s)", capCalls)

// errUnanswered is the outcome of a call that may or may not have been handled.
func errUnanswered(name string) error {
	return nova.Errorf(nova.UnknownOutcome, "call %s was sent, and the connection was lost before the answer", name)
}

// pending is a call that waits for its answer. Its fields change under queue.mu until
// settled is closed.
type pending struct {
	id      int64
	name    string
	event   uint32 // of a base call: of its frame; 0 = it is none
	sent    bool   // a socket may have taken it
	over    bool
	settled chan struct{}
	payload []byte
	err     error
}

// base reports whether the item is a call of the base protocol, which has no number.
func (it *item) base() bool { return it.call != nil && it.call.event != 0 }

// untried returns the item as one that no socket has taken.
func (it item) untried() item {
	it.tried = false
	if it.call != nil {
		it.call.sent = false
	}
	return it
}

// call queues a call. frame makes its frame from its id.
func (q *queue) call(p *pending, frame func(id int64) ([]byte, error)) (expired []item, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.noCalls && p.event == 0 {
		return nil, errNoCalls
	}
	q.lastCall++
	p.id = q.lastCall
	data, err := frame(p.id)
	if err != nil {
		return nil, err
	}
	if expired, err = q.add(item{frame: data, event: p.name, answered: true, call: p}); err != nil {
		return expired, err
	}
	if q.calls == nil {
		q.calls = map[int64]*pending{}
	}
	q.calls[p.id] = p
	return expired, nil
}

// settleCall gives a call its outcome, unless it has one.
func (q *queue) settleCall(p *pending, payload []byte, err error) {
	if p.over {
		return
	}
	p.over, p.payload, p.err = true, payload, err
	delete(q.calls, p.id)
	close(p.settled)
}

// answered takes the answer to a call; base says which kind it was.
func (q *queue) answered(id int64, base bool, payload []byte, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if p := q.calls[id]; p != nil && p.sent && base == (p.event != 0) {
		q.settleCall(p, payload, err)
	}
}

// abandon gives a call up. told is true when the server has it and is to be told.
func (q *queue) abandon(p *pending, cause error) (told bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if p.over {
		return false
	}
	q.takeBack(func(it *item) bool { return it.call == p }, cause)
	told = !p.over
	q.settleCall(p, nil, cause)
	return told
}

// takeBack drops calls that have no number yet: nobody was given them.
func (q *queue) takeBack(match func(*item) bool, cause error) {
	q.waiting = slices.DeleteFunc(q.waiting, func(it item) bool {
		if it.call == nil || it.seq != 0 || !match(&it) {
			return false
		}
		q.drop(it, cause)
		return true
	})
}

// failCalls ends all calls when a socket is gone: those that it certainly did not take
// with cause, and they are never sent; of the others nobody can tell. These are
// repeated, as numbers must not be missing.
func (q *queue) failCalls(cause error) {
	q.takeBack(func(*item) bool { return true }, cause)
	first := len(q.kept) // of those at the end that no socket took
	for first > 0 && !q.kept[first-1].tried {
		first--
	}
	kept, seq := q.kept[:first], uint64(0)
	for _, it := range q.kept[first:] {
		if seq == 0 {
			seq = it.seq
		}
		if it.call != nil {
			q.drop(it, cause)
			q.given--
			continue
		}
		it.seq = seq
		seq++
		kept = append(kept, it)
	}
	clear(q.kept[len(kept):])
	q.kept = kept
	q.failSent()
}

// failSent ends the calls that a socket may have taken.
func (q *queue) failSent() {
	for _, p := range q.calls {
		if p.sent {
			q.settleCall(p, nil, errUnanswered(p.name))
		}
	}
}

// endCalls ends all calls as nothing more is answered.
func (q *queue) endCalls(cause error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.takeBack(func(*item) bool { return true }, cause)
	for _, p := range q.calls {
		q.settleCall(p, nil, errUnanswered(p.name))
	}
}

// refuseCalls ends the calls for a server that takes none, and those to come.
func (q *queue) refuseCalls() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.noCalls = true
	q.takeBack(func(it *item) bool { return !it.base() }, errNoCalls)
}

// CallFrame implements nova.Caller. A call waits for a connection within ctx. To
// servers with sessions a call has a number like an event: it is handled at most
// once, over any number of reconnects. It cannot be made with the context of a
// handler of events, on the goroutine that would have to read the answer.
func (c *Conn) CallFrame(ctx context.Context, call *wire.Call, request nova.Encoded) ([]byte, error) {
	return c.do(ctx, &pending{name: call.Name}, func(deadline time.Time, id int64) ([]byte, error) {
		m := control.Call{ID: id, Name: call.Name, DeadlineMs: max(1, time.Until(deadline).Milliseconds()),
			Trace: nova.TraceOf(ctx), Payload: request.Payload}
		return m.AppendFrame(make([]byte, 0, len(request.Payload)+len(m.Name)+len(m.Trace)+128))
	})
}

// RequestFrame implements nova.Conn, with the same limits as CallFrame.
func (c *Conn) RequestFrame(ctx context.Context, event *wire.Event, frame []byte) ([]byte, error) {
	return c.do(ctx, &pending{name: event.Name, event: event.ID}, func(_ time.Time, id int64) ([]byte, error) {
		m := control.RpcCall{ID: strconv.FormatInt(id, 10), Name: event.Name, PayloadB64: base64.StdEncoding.EncodeToString(frame)}
		return m.AppendFrame(nil)
	})
}

func (c *Conn) do(ctx context.Context, p *pending, frame func(deadline time.Time, id int64) ([]byte, error)) ([]byte, error) {
	if ctx.Value(insideKey{}) == c && ctx.Value(answeringKey{}) != c {
		return nil, nova.Errorf(nova.FailedPrecondition, "call %s from a handler of the same connection would wait for itself: "+
			"make it in a goroutine, with another context", p.name)
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, callTime)
		defer cancel()
	}
	if err := ctx.Err(); err != nil {
		return nil, over(p, err)
	}
	if err := c.usable(); err != nil {
		return nil, err
	}
	p.settled = make(chan struct{})
	deadline, _ := ctx.Deadline()
	expired, err := c.queue.call(p, func(id int64) ([]byte, error) { return frame(deadline, id) })
	c.reportExpired(expired)
	if err != nil {
		return nil, err
	}
	select {
	case <-p.settled:
	case <-ctx.Done():
		if c.queue.abandon(p, over(p, ctx.Err())) && p.event == 0 {
			c.mu.Lock()
			c.control(&control.Cancel{ID: p.id})
			c.mu.Unlock()
		}
		<-p.settled
	}
	return p.payload, p.err
}

func over(p *pending, err error) error {
	return nova.Errorf(nova.CodeOf(err), "call %s: %w", p.name, err)
}

func (s *socket) onReply(m *control.Reply) error {
	var err error
	if m.Code != int64(nova.OK) {
		err = nova.ReplyError(m.Code, m.Message)
	}
	s.c.queue.answered(m.ID, false, m.Payload, err)
	return nil
}

// onResult takes the answer to a call of the base protocol. Whoever waits checks
// whether the payload is of its event.
func (s *socket) onResult(m *control.RpcResult) error {
	id, err := strconv.ParseInt(m.ID, 10, 64)
	if err != nil {
		return nil // of nobody here
	}
	if !m.Ok {
		s.c.queue.answered(id, true, nil, nova.Errorf(nova.Unknown, "%s", m.Err))
		return nil
	}
	frame, err := base64.StdEncoding.DecodeString(m.PayloadB64)
	var h wire.Header
	var payload []byte
	if err == nil {
		h, payload, err = wire.ParseFrame(frame)
	}
	if err != nil {
		s.c.queue.answered(id, true, nil, nova.Errorf(nova.Internal, "the answer does not decode: %w", err))
		return nil
	}
	s.c.queue.answeredBy(id, h.ID, payload)
	return nil
}

// answeredBy takes the answer to a base call, which has to be of the same event.
func (q *queue) answeredBy(id int64, event uint32, payload []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	p := q.calls[id]
	switch {
	case p == nil || !p.sent || p.event == 0:
	case p.event != event:
		q.settleCall(p, nil, nova.Errorf(nova.Internal, "the answer to %s is of another event (%#x)", p.name, event))
	default:
		q.settleCall(p, payload, nil)
	}
}
