package client

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/wire"
	"github.com/ignex/nova/wire/control"
)

const (
	maxAnswering = 16 // calls of the server that run at a time
	maxCallTime  = 24 * time.Hour
)

// answers are the handlers of calls that the server makes, and those that run.
type answers struct {
	wg       sync.WaitGroup // of handlers; Close waits for it
	mu       sync.Mutex
	handlers map[string]*nova.CallHandler
	running  map[int64]*answering // of the present socket
	n        int                  // handlers that have not returned
}

// answering is a call that runs.
type answering struct{ cancel context.CancelFunc }

// answeringKey marks the context of handlers of calls: they do not run on the
// goroutine that reads.
type answeringKey struct{}

// AnswerCall implements nova.Conn. Handlers run beside each other, at most 16 at a
// time; their context ends with the server's deadline, when it gives up, and with the
// connection.
func (c *Conn) AnswerCall(call *wire.Call, fn nova.CallHandler) (off func(), err error) {
	if call == nil || fn == nil {
		return nil, nova.Errorf(nova.Invalid, "a handler needs a call and a function")
	}
	a, name, mine := &c.answers, call.Name, &fn
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.handlers[name] != nil {
		return nil, nova.Errorf(nova.AlreadyExists, "call %q has a handler: end that one first", name)
	}
	if a.handlers == nil {
		a.handlers = map[string]*nova.CallHandler{}
	}
	a.handlers[name] = mine
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.handlers[name] == mine {
			delete(a.handlers, name)
		}
	}, nil
}

// onCall begins to answer a call of the server.
func (s *socket) onCall(m *control.Call) error {
	c, a := s.c, &s.c.answers
	a.mu.Lock()
	fn := a.handlers[m.Name]
	var refusal *nova.Error
	switch {
	case fn == nil:
		refusal = nova.Errorf(nova.Unimplemented, "no handler for %s", m.Name)
	case m.DeadlineMs < 0:
		refusal = nova.Errorf(nova.DeadlineExceeded, "the time for the call was over when it was sent")
	case a.n >= maxAnswering:
		refusal = nova.Errorf(nova.Exhausted, "too many calls run: wait for one to end")
	}
	if refusal != nil {
		a.mu.Unlock()
		s.reply(m.ID, refusal.Code, refusal.Message, nil)
		return nil
	}
	limit := callTime
	if m.DeadlineMs > 0 {
		limit = time.Duration(min(m.DeadlineMs, maxCallTime.Milliseconds())) * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(context.WithValue(c.ctx, answeringKey{}, c), limit)
	if a.running == nil {
		a.running = map[int64]*answering{}
	}
	mine := &answering{cancel}
	a.running[m.ID] = mine
	a.n++
	a.wg.Add(1)
	a.mu.Unlock()
	go s.answer(nova.WithTrace(ctx, m.Trace), mine, *fn, m)
	return nil
}

func (s *socket) answer(ctx context.Context, mine *answering, fn nova.CallHandler, m *control.Call) {
	c, a := s.c, &s.c.answers
	defer a.wg.Done()
	defer mine.cancel()
	out, err := c.answerSafely(ctx, fn, m)
	code, message, hidden := nova.ReplyTo(ctx, err)
	if hidden {
		c.counts.handlerErrors.Add(1)
		c.report(fmt.Errorf("handler of call %s: %w", m.Name, err))
	}
	a.mu.Lock()
	a.n--
	if a.running[m.ID] == mine { // else the id is another socket's by now
		delete(a.running, m.ID)
	}
	a.mu.Unlock()
	s.reply(m.ID, code, message, out.Payload)
}

func (c *Conn) answerSafely(ctx context.Context, fn nova.CallHandler, m *control.Call) (out nova.Encoded, err error) {
	defer func() {
		if p := recover(); p != nil {
			c.options.Logger.Error("nova client: handler panicked", "call", m.Name, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return fn(ctx, nil, m.Payload)
}

// reply answers a call of the server, unless the socket is gone.
func (s *socket) reply(id int64, code nova.Code, message string, payload []byte) {
	m := control.Reply{ID: id, Code: int64(code), Message: message, Payload: payload}
	c := s.c
	if largest := c.queue.most(); largest > 0 && len(payload)+len(message)+128 > largest {
		c.report(nova.Errorf(nova.Invalid, "the answer to a call has %d bytes, more than the server takes (%d bytes)", len(payload), largest))
		m = control.Reply{ID: id, Code: int64(nova.Internal), Message: "internal error"}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.socket == s {
		c.control(&m)
	}
}

// most returns the longest frame the server takes, 0 = any.
func (q *queue) most() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.largest
}

func (s *socket) onCancel(m *control.Cancel) error {
	a := &s.c.answers
	a.mu.Lock()
	defer a.mu.Unlock()
	if x := a.running[m.ID]; x != nil {
		x.cancel()
	}
	return nil
}

// cut ends what the server called over a socket that is gone.
func (a *answers) cut() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, x := range a.running {
		x.cancel()
	}
	clear(a.running)
}
