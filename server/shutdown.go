package server

import (
	"context"
	"net"
	"time"

	"github.com/ignex/nova"
)

// cutEarly is how long before the end of its time a shutdown cuts off who has not
// gone: so long its own end may take.
const cutEarly = 250 * time.Millisecond

// Shutdown refuses new connections, tells the present ones when to come back,
// closes them one by one with 1012 behind what they have queued, and waits until all
// are gone. It returns before ctx ends: shortly before that it cuts off who is left,
// and returns an error with code DeadlineExceeded, or Cancelled. No goroutine of the
// server is left then, unless a hook of the application does not return. With a ctx
// that is over already it cuts all off at once. The hub is not closed, and sessions
// live on in it.
func (s *Server) Shutdown(ctx context.Context) error {
	began, late := time.Now(), ctx.Err() != nil
	idle := s.drain()
	work, cancel := withoutEnd(ctx)
	defer cancel()
	present := len(s.list())
	s.options.Logger.Info("shutdown begins", "connections", present)
	s.hub.Settle(work) // what was published before is queued
	s.sendAway(work)
	var err error
	select {
	case <-idle:
	case <-work.Done():
		left := len(s.list())
		err = nova.Errorf(nova.CodeOf(work.Err()), "shutdown: %d of %d connections did not end in time and were cut off: %w", left, present, work.Err())
	}
	closed := make(chan struct{})
	go func() {
		s.Close()
		close(closed)
	}()
	select {
	case <-closed:
	case <-ctx.Done():
		if late {
			select {
			case <-closed:
			case <-time.After(cutEarly):
			}
		}
		select {
		case <-closed: // both at once
		default:
			err = nova.Errorf(nova.CodeOf(ctx.Err()), "shutdown: a hook of the application does not return: %w", ctx.Err())
		}
	}
	if err != nil {
		s.options.Logger.Warn("shutdown did not end well", "connections", present, "took", time.Since(began), "error", err)
		return err
	}
	s.options.Logger.Info("shutdown ended", "connections", present, "took", time.Since(began))
	return nil
}

// withoutEnd returns a context that ends a little before ctx does.
func withoutEnd(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, deadline.Add(-min(cutEarly, time.Until(deadline)/10)))
}

// Close cuts all connections off at once and waits for the server's goroutines.
func (s *Server) Close() {
	idle := s.drain()
	s.mu.Lock()
	s.closed = true
	for nc := range s.refused {
		nc.Close()
	}
	s.mu.Unlock()
	for _, c := range s.list() {
		c.cut()
	}
	s.unhook()
	<-idle
	s.mu.Lock()
	s.stopped = true
	s.mu.Unlock()
	s.stop()
	s.wg.Wait()
	s.volleys.close()
}

// drain refuses new connections and returns a channel that is closed when none
// is left.
func (s *Server) drain() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draining = true
	idle := make(chan struct{})
	if len(s.conns) == 0 {
		close(idle)
		return idle
	}
	if s.idle == nil {
		s.idle = idle
	}
	return s.idle
}

// linger lets Close end, and wait for, a connection that is being told why it is
// refused, until done is called. Of those that come behind Close nobody waits: they
// are in the goroutine of their request.
func (s *Server) linger(nc net.Conn) (done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return func() {}
	}
	if s.refused == nil {
		s.refused = map[net.Conn]struct{}{}
	}
	s.refused[nc] = struct{}{}
	s.wg.Add(1)
	return func() {
		s.mu.Lock()
		delete(s.refused, nc)
		s.mu.Unlock()
		s.wg.Done()
	}
}
