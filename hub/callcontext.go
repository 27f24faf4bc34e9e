package hub

import (
	"context"
	"sync"
	"time"
)

// callContext is the context of a call's handler. It has no timer, no channel and no
// place in its parent before somebody waits for its end: most handlers are done
// before they ask.
type callContext struct {
	context.Context // the hub's
	deadline        time.Time

	mu    sync.Mutex
	err   error
	done  chan struct{}
	timer *time.Timer
	stop  func() bool // takes it out of its parent
	after map[*func()]struct{}
}

// Deadline implements context.Context.
func (c *callContext) Deadline() (time.Time, bool) { return c.deadline, true }

// Err implements context.Context.
func (c *callContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.look()
	return c.err
}

// Done implements context.Context.
func (c *callContext) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done != nil {
		return c.done
	}
	c.look()
	c.done = make(chan struct{})
	if c.err != nil {
		close(c.done)
		return c.done
	}
	c.timer = time.AfterFunc(time.Until(c.deadline), func() { c.cancel(context.DeadlineExceeded) })
	c.stop = context.AfterFunc(c.Context, func() { c.cancel(c.Context.Err()) })
	return c.done
}

// AfterFunc is what package context asks of contexts that are not its own, so that
// one derived from this needs no goroutine.
func (c *callContext) AfterFunc(fn func()) (stop func() bool) {
	c.Done()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		go fn()
		return func() bool { return false }
	}
	if c.after == nil {
		c.after = map[*func()]struct{}{}
	}
	c.after[&fn] = struct{}{}
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, waits := c.after[&fn]
		delete(c.after, &fn)
		return waits
	}
}

func (c *callContext) cancel(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end(err)
}

// look ends the context when its time or its parent has ended. The caller holds mu.
func (c *callContext) look() {
	if err := c.Context.Err(); err != nil {
		c.end(err)
	} else if !time.Now().Before(c.deadline) {
		c.end(context.DeadlineExceeded)
	}
}

// end ends the context, once. The caller holds mu.
func (c *callContext) end(err error) {
	if c.err != nil {
		return
	}
	c.err = err
	if c.done != nil {
		close(c.done)
	}
	if c.timer != nil {
		c.timer.Stop()
		c.stop()
	}
	for fn := range c.after {
		go (*fn)()
	}
	c.after = nil
}
