package client

import (
	"context"
	"fmt"

	"github.com/ignex/nova"
)

// errPaused is the outcome of an attempt that Pause ended.
var errPaused = nova.Errorf(nova.Cancelled, "the client is paused")

// pause is one turn of Pause and Connect.
type pause struct {
	begun  chan struct{} // closed by Pause
	parked chan struct{} // closed when there is no socket any more
	over   chan struct{} // closed by Connect
}

func newPause() *pause {
	return &pause{begun: make(chan struct{}), parked: make(chan struct{}), over: make(chan struct{})}
}

func (p *pause) on() bool {
	select {
	case <-p.begun:
		return true
	default:
		return false
	}
}

// Pause gives the socket up, with close code 4000, and stays Idle until Resume
// or Connect. What is queued is sent before, as far as the server's rate limit lets
// it. The server keeps the session for its time to live, so that a resume in time
// misses nothing; sends wait, at most Queue.MaxAge. It returns once there is no socket: nil, the error of ctx, or
// code Unavailable after the end. Like Close it does not wait when called with
// the context of a handler. Before Connect it does nothing.
func (c *Conn) Pause(ctx context.Context) error {
	c.mu.Lock()
	if err := c.usableLocked(); err != nil || !c.started {
		c.mu.Unlock()
		return err
	}
	p := c.pause
	if !p.on() {
		c.tried.set(errPaused)
		c.tried = newOutcome()
		close(p.begun)
		if c.abort != nil {
			c.abort()
		}
	}
	c.mu.Unlock()
	if ctx.Value(insideKey{}) == c {
		return nil
	}
	select {
	case <-p.parked:
	case <-p.over:
	case <-c.done:
	case <-ctx.Done():
		return fmt.Errorf("pause client: %w", ctx.Err())
	}
	return nil
}

// Resume ends a pause and waits like Connect, with its errors.
func (c *Conn) Resume(ctx context.Context) error { return c.Connect(ctx) }

// resumeLocked ends a pause. c.mu is held.
func (c *Conn) resumeLocked() {
	if c.pause.on() {
		close(c.pause.over)
		c.pause = newPause()
	}
}

// park waits while the client is paused and returns what may pause it next, or
// nil when it was closed.
func (c *Conn) park() *pause {
	for {
		c.mu.Lock()
		p := c.pause
		c.mu.Unlock()
		if !p.on() {
			if c.Status().State == Idle {
				c.setStatus(Status{State: Connecting})
			}
			return p
		}
		c.setStatus(Status{State: Idle})
		close(p.parked)
		select {
		case <-p.over:
		case <-c.closing:
			return nil
		}
	}
}
