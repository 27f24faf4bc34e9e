package hub

import (
	"context"
	"sync"

	"github.com/ignex/nova"
	"github.com/ignex/nova/internal/ws"
)

// spacing are the publishes that wait for room in the queues of their receivers. One of
// them at a time looks for room and takes it, so that they do not take the same.
type spacing struct {
	turn    chan struct{} // capacity 1; whoever has put one in has the turn
	mu      sync.Mutex    // guards waiting; may be locked under a session's mu
	waiting map[*Session]chan struct{}
}

// wake has those who wait for room with a session look again.
func (sp *spacing) wake(s *Session) {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	if ch := sp.waiting[s]; ch != nil {
		close(ch)
		delete(sp.waiting, s)
	}
}

// publishSpaced is publish of a p with WaitForSpace.
func (h *Hub) publishSpaced(ctx context.Context, p nova.Publication, wait bool) (nova.Result, error) {
	if p.Target.Kind != nova.ToClient && p.Target.Kind != nova.ToUser {
		return nova.Result{}, nova.Errorf(nova.Invalid, "WaitForSpace waits for one client or user; publish to others without it")
	}
	if _, err := h.checkPublication(&p); err != nil {
		return nova.Result{}, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(h.ctx, func() { cancel(errClosed) })()
	for {
		select {
		case h.spacing.turn <- struct{}{}:
		case <-ctx.Done():
			return nova.Result{}, noSpace(ctx)
		}
		full := h.findFull(ctx, &p)
		if full == nil && ctx.Err() == nil {
			defer func() { <-h.spacing.turn }()
			p.WaitForSpace = false
			return h.publish(ctx, &p, wait)
		}
		<-h.spacing.turn
		if full != nil && !wait {
			return nova.Result{}, nova.Errorf(nova.Exhausted, "the queue of a receiver is full")
		}
		select {
		case <-full:
		case <-ctx.Done():
			return nova.Result{}, noSpace(ctx)
		}
	}
}

func noSpace(ctx context.Context) error {
	err := context.Cause(ctx)
	if err == errClosed {
		return err
	}
	return nova.Errorf(nova.CodeOf(err), "waiting for room in the queue of a receiver: %w", err)
}

// findFull returns nil when every receiver has room, else what is closed when one that
// has none is to be looked at again.
func (h *Hub) findFull(ctx context.Context, p *nova.Publication) <-chan struct{} {
	size := len(p.Frame) + ws.HeaderSize(len(p.Frame))
	for _, s := range h.receivers(&p.Target) {
		s.shard.barrier(ctx) // what was published before has its place
		if full := s.whenEmptier(size); full != nil {
			return full
		}
	}
	return nil
}

// receivers returns the sessions of a client or user.
func (h *Hub) receivers(to *nova.Target) []*Session {
	var list []*Session
	if to.Kind == nova.ToClient {
		if s := h.session(to.Name); s != nil && s.id != to.Except {
			list = append(list, s)
		}
		return list
	}
	for _, s := range h.sessions() {
		if s.User() == to.Name && s.id != to.Except {
			list = append(list, s)
		}
	}
	return list
}

// whenEmptier returns nil when a frame of size bytes fits in the queue.
func (s *Session) whenEmptier(size int) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	frames, bytes := s.queue.Room()
	frames, bytes = frames-s.coming.frames, bytes-s.coming.bytes
	if frames == s.hub.options.Backpressure.MaxFrames || frames > 0 && size <= bytes || s.queue.Broken() {
		return nil
	}
	sp := &s.hub.spacing
	sp.mu.Lock()
	defer sp.mu.Unlock()
	ch := sp.waiting[s]
	if ch == nil {
		ch = make(chan struct{})
		if sp.waiting == nil {
			sp.waiting = map[*Session]chan struct{}{}
		}
		sp.waiting[s] = ch
	}
	s.hungry = true // fed wakes us
	return ch
}
