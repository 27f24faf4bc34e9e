package hub

import (
	"sync"
)

// The bounds of catching up.
const (
	catchUpsPerSession = 4  // that go on beside each other; further ones wait in order
	catchUpsAtOnce     = 64 // pages read at a time, over all sessions
	pageFrames         = 256
)

// catching shares the reading of pages among the sessions that catch up. A session
// has at most one turn at a time: one page for each of its first catch-ups. It
// comes up again when its queue is below half, so one that does not read costs
// nothing but its place in this list.
type catching struct {
	mu      sync.Mutex
	queue   []*Session
	workers int
	busy    int           // workers that have a session
	ring    chan struct{} // capacity 1: the dispatcher has something to do
}

// chase is what a session with catch-ups has; guarded by catching.mu.
type chase struct {
	list   []*catchUp
	queued bool
	busy   bool // has its turn
	again  bool // and wants another one
}

// add puts a catch-up behind those of its session.
func (g *catching) add(c *catchUp) {
	s := c.m.session
	g.mu.Lock()
	defer g.mu.Unlock()
	if s.chase == nil {
		s.chase = &chase{}
	}
	s.chase.list = append(s.chase.list, c)
	g.wakeLocked(s)
}

// remove forgets a catch-up that is over; the next in order gets its place.
func (g *catching) remove(c *catchUp) {
	s := c.m.session
	g.mu.Lock()
	defer g.mu.Unlock()
	if s.chase == nil {
		return
	}
	for i, x := range s.chase.list {
		if x == c {
			s.chase.list = append(s.chase.list[:i:i], s.chase.list[i+1:]...)
			break
		}
	}
	if len(s.chase.list) == 0 && !s.chase.queued && !s.chase.busy {
		s.chase = nil
		return
	}
	g.wakeLocked(s)
}

// wake gives a session a turn, unless none of its topics is catching up.
func (g *catching) wake(s *Session) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.wakeLocked(s)
}

func (g *catching) wakeLocked(s *Session) {
	switch ch := s.chase; {
	case ch == nil || len(ch.list) == 0 || ch.queued:
	case ch.busy:
		ch.again = true
	default:
		ch.queued = true
		g.queue = append(g.queue, s)
		select {
		case g.ring <- struct{}{}:
		default:
		}
	}
}

// next takes the session whose turn it is, with its catch-ups; nil: none waits,
// and the worker is counted out.
func (g *catching) next() (*Session, []*catchUp) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.queue) == 0 {
		g.queue = nil
		g.workers--
		return nil, nil
	}
	s := g.queue[0]
	g.queue[0] = nil
	g.queue = g.queue[1:]
	ch := s.chase
	ch.queued, ch.busy, ch.again = false, true, false
	g.busy++
	n := min(len(ch.list), catchUpsPerSession)
	return s, append([]*catchUp(nil), ch.list[:n]...)
}

// done ends a turn.
func (g *catching) done(s *Session, again bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.busy--
	ch := s.chase
	ch.busy = false
	if len(ch.list) == 0 {
		s.chase = nil
		return
	}
	if again || ch.again {
		g.wakeLocked(s)
	}
}

// dispatchCatchUps starts workers when sessions wait, and gives topics their
// pipelines: whoever notes such a wish holds locks under which nothing can be
// started.
func (h *Hub) dispatchCatchUps() {
	defer h.wg.Done()
	for {
		select {
		case <-h.ctx.Done():
			return
		case <-h.catching.ring:
		}
		for _, r := range h.logging.takeStarts() {
			if !h.startPipeline(r) {
				return // closed: no session is left to catch up, and none comes
			}
		}
		for h.catching.moreWorkers() {
			if !h.start(h.catchUpWork) {
				return
			}
		}
	}
}

// moreWorkers counts another worker in, if there is work that none is free for.
func (g *catching) moreWorkers() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.workers >= catchUpsAtOnce || g.workers-g.busy >= len(g.queue) {
		return false
	}
	g.workers++
	return true
}

// catchUpWork serves sessions until none waits.
func (h *Hub) catchUpWork() {
	for {
		s, list := h.catching.next()
		if s == nil {
			return
		}
		again := false
		for _, c := range list {
			again = h.catchUp(c) || again
		}
		h.catching.done(s, again)
	}
}

// belowHalf reports whether the queue, with what is on the way to it, is below
// half of its bounds. The caller holds s.mu.
func (s *Session) belowHalf() bool {
	frames, bytes := s.queue.Room()
	o := &s.hub.options.Backpressure
	frames, bytes = o.MaxFrames-frames+s.coming.frames, o.MaxBytes-bytes+s.coming.bytes
	return frames == 0 || 2*frames < o.MaxFrames && 2*bytes < o.MaxBytes
}

// fed is called, with s.mu held, wherever the queue may have become shorter.
func (s *Session) fed() {
	if s.hungry && s.belowHalf() {
		s.hungry = false
		s.hub.catching.wake(s)
		s.hub.spacing.wake(s)
	}
}

// appetite returns the frames and bytes that a page may bring now: up to three
// quarters of the queue, which leaves what is live its place. 0 frames: the
// session gets its next turn once the queue is shorter.
func (s *Session) appetite() (frames, bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.belowHalf() {
		s.hungry = true
		return 0, 0
	}
	frames, bytes = s.queue.Room()
	o := &s.hub.options.Backpressure
	return max(frames-s.coming.frames-o.MaxFrames/4, 1), max(bytes-s.coming.bytes-o.MaxBytes/4, 1)
}

// waitEmptier has the session get a turn when a frame of n bytes fits. false: it
// does.
func (s *Session) waitEmptier(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	frames, bytes := s.queue.Room()
	frames, bytes = frames-s.coming.frames, bytes-s.coming.bytes
	o := &s.hub.options.Backpressure
	if frames == o.MaxFrames || frames > 0 && n <= bytes {
		return false
	}
	s.hungry = true
	return true
}
