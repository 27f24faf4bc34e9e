package client

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/wire"
)

// errNoAck is the outcome of a frame that a server without sessions was given.
var errNoAck = nova.Errorf(nova.FailedPrecondition, "the server does not acknowledge what it is sent")

// errMaybe is the outcome of a frame that may or may not have been handled.
func errMaybe(it item) error {
	if it.call != nil {
		return errUnanswered(it.event)
	}
	return nova.Errorf(nova.UnknownOutcome, "event %s was sent, and the session was lost before it was acknowledged", it.event)
}

// errTooLarge is the outcome of a frame that the server would close for.
func errTooLarge(event string, size, largest int) error {
	return nova.Errorf(nova.Invalid, "event %s: frame of %d bytes is larger than the server takes (%d bytes)", event, size, largest)
}

// resumed takes the server's word that the session goes on and that it has what
// is numbered up to received; what follows is repeated. It reports false when
// that cannot be.
func (q *queue) resumed(received uint64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	oldest := q.given + 1 // all before is acknowledged
	if len(q.kept) > 0 {
		oldest = q.kept[0].seq
	}
	if received > q.given || received+1 < oldest {
		return false
	}
	q.acknowledge(received)
	q.numbered = true
	q.waiting = append(q.kept, q.waiting...)
	q.kept = nil
	return true
}

// renewed begins a session whose numbers go on behind given, or none when numbered
// is false. It returns the frames of the one before whose outcome is unknown; those
// that certainly were not sent wait again.
func (q *queue) renewed(numbered bool, given uint64) (lost []item) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var again []item
	n := 0
	for n < len(q.waiting) && q.waiting[n].seq != 0 {
		n++
	}
	for _, it := range append(q.kept, q.waiting[:n]...) {
		if it.tried {
			lost = append(lost, it)
			q.drop(it, errMaybe(it))
			continue
		}
		it.seq = 0
		again = append(again, it.untried())
	}
	q.waiting = append(again, q.waiting[n:]...)
	q.kept, q.given, q.numbered = nil, given, numbered
	q.largest = 0
	q.failSent()
	return lost
}

// acked takes an acknowledgement and reports whether it can be true.
func (q *queue) acked(seq uint64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if seq > q.given {
		return false
	}
	q.acknowledge(seq)
	return true
}

func (q *queue) acknowledge(seq uint64) {
	n := 0
	for ; n < len(q.kept) && q.kept[n].seq <= seq; n++ {
		q.drop(q.kept[n], nil)
		q.recycle(q.kept[n].frame)
		q.kept[n] = item{}
	}
	if q.kept = q.kept[n:]; len(q.kept) == 0 {
		q.kept = nil
	}
}

// end refuses everything from now on and tells all who wait. It returns the frames
// whose outcome is unknown. The first cause counts.
func (q *queue) end(cause error) (lost []item) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ended != nil {
		return nil
	}
	q.ended = cause
	for _, it := range slices.Concat(q.kept, q.waiting) {
		switch {
		case it.id == 0:
		case it.tried:
			lost = append(lost, it)
			q.drop(it, errMaybe(it))
		default:
			q.drop(it, cause)
		}
	}
	q.kept, q.waiting = nil, nil
	q.failSent()
	return lost
}

// waiter waits for the outcome of the frames with ids from to to.
type waiter struct {
	from, to int64
	left     int  // without outcome
	strict   bool // without acknowledgement it is an error
	err      error
	done     chan struct{}
}

func (q *queue) wait(from, to int64, left int, strict bool) *waiter {
	w := &waiter{from: from, to: to, left: left, strict: strict, done: make(chan struct{})}
	if left == 0 {
		close(w.done)
	} else {
		q.waiters = append(q.waiters, w)
	}
	return w
}

// flush waits for all frames sent so far.
func (q *queue) flush() *waiter {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.wait(0, q.last, q.frames, false)
}

// forget ends a wait that was given up.
func (q *queue) forget(w *waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiters = slices.DeleteFunc(q.waiters, func(other *waiter) bool { return other == w })
}

// settle tells those who wait for a frame what became of it.
func (q *queue) settle(id int64, outcome error) {
	if len(q.waiters) == 0 {
		return
	}
	q.waiters = slices.DeleteFunc(q.waiters, func(w *waiter) bool {
		if id < w.from || id > w.to {
			return false
		}
		if w.err == nil && (w.strict || !errors.Is(outcome, errNoAck)) {
			w.err = outcome
		}
		if w.left--; w.left > 0 {
			return false
		}
		close(w.done)
		return true
	})
}

// pace keeps a socket below the rate that the server closes for. The zero value
// does not.
type pace struct {
	rate   float64 // frames a second
	burst  float64
	tokens float64
	last   time.Time
}

// limit sets what the server takes: its rate and burst, a little below, as frames
// may arrive closer together than they were sent, and the size of frames. Of what
// waits, larger frames are dropped and returned; a number given is never taken back.
func (q *queue) limit(rate, burst int64, largest int, now time.Time) (refused []item) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.largest, q.pace = largest, pace{}
	if rate > 0 {
		b := max(1, float64(burst)*0.9-2) // hello and attach count too
		q.pace = pace{rate: float64(rate) * 0.95, burst: b, tokens: b, last: now}
	}
	q.waiting = slices.DeleteFunc(q.waiting, func(it item) bool {
		if it.id == 0 || it.seq != 0 || largest == 0 || len(it.frame) <= largest {
			return false
		}
		refused = append(refused, it)
		q.drop(it, errTooLarge(it.event, len(it.frame), largest))
		return true
	})
	return refused
}

// take takes a token, or says when there will be one.
func (p *pace) take(now time.Time) (wait time.Duration) {
	if p.rate <= 0 {
		return 0
	}
	if d := now.Sub(p.last); d > 0 {
		p.tokens = min(p.burst, p.tokens+d.Seconds()*p.rate)
		p.last = now
	}
	if p.tokens < 1 {
		return max(time.Millisecond, time.Duration((1-p.tokens)/p.rate*float64(time.Second)))
	}
	p.tokens--
	return 0
}

// Flush waits until the server has acknowledged everything sent before, which
// it does at most 2 s after it handled it; of a server without sessions, until
// it was given to the socket. Errors carry a Code: UnknownOutcome (the session
// was lost, so that some of it may or may not have been handled),
// DeadlineExceeded (waited longer than Queue.MaxAge for a connection),
// Unavailable (closed), or that of ctx, which bounds the wait only.
func (c *Conn) Flush(ctx context.Context) error {
	if err := c.usable(); err != nil {
		return err
	}
	return c.outcome(ctx, c.queue.flush())
}

// Confirmed returns the same connection with sends that wait for the server's
// acknowledgement, at most 2 s after it handled the frame, and return what
// became of it: an error with the codes of Flush, or FailedPrecondition when the
// server has no sessions and nobody can tell. Use it with a descriptor:
//
//	err := market.ChatEvent.Send(ctx, conn.Confirmed(), &market.Chat{…})
func (c *Conn) Confirmed() nova.Conn { return confirmed{c} }

type confirmed struct{ *Conn }

// SendFrame implements nova.Conn.
func (c confirmed) SendFrame(ctx context.Context, event *wire.Event, frame []byte) error {
	w, err := c.enqueue(ctx, event, frame, true)
	if err != nil {
		return err
	}
	return c.outcome(ctx, w)
}

// outcome waits for it, and sees to it that frames do not wait for a connection for
// longer than they may.
func (c *Conn) outcome(ctx context.Context, w *waiter) error {
	old := time.NewTicker(c.options.Queue.MaxAge + time.Millisecond)
	defer old.Stop()
	for {
		select {
		case <-w.done:
			return w.err
		case <-ctx.Done():
			c.queue.forget(w)
			return ctx.Err()
		case now := <-old.C:
			c.reportExpired(c.queue.sweep(now))
		}
	}
}

// enqueue is SendFrame; with answered the waiter tells the outcome.
func (c *Conn) enqueue(ctx context.Context, event *wire.Event, frame []byte, answered bool) (*waiter, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := c.usable(); err != nil {
		return nil, err
	}
	if _, _, err := wire.ParseFrame(frame); err != nil {
		return nil, nova.Errorf(nova.Invalid, "event %s: %w", event.Name, err)
	}
	w, expired, err := c.queue.send(event.Name, frame, answered)
	c.reportExpired(expired)
	return w, err
}

func (c *Conn) reportRefused(refused []item, largest int) {
	for _, it := range refused {
		if !it.answered {
			c.report(errTooLarge(it.event, len(it.frame), largest))
		}
	}
}
