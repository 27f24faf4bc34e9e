package hub

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ignex/nova/session"
)

// lostList holds the sessions without a socket, the longest first.
type lostList struct {
	mu    sync.Mutex
	first *Session
	last  *Session
	n     int
}

func (l *lostList) add(s *Session, now int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.lostAt, s.prev, s.next = now, l.last, nil
	if l.last != nil {
		l.last.next = s
	} else {
		l.first = s
	}
	l.last = s
	l.n++
}

func (l *lostList) remove(s *Session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.lostAt == 0 {
		return
	}
	if s.prev != nil {
		s.prev.next = s.next
	} else {
		l.first = s.next
	}
	if s.next != nil {
		s.next.prev = s.prev
	} else {
		l.last = s.prev
	}
	s.lostAt, s.prev, s.next = 0, nil, nil
	l.n--
}

// since tells when the session lost its socket, 0 = it has one.
func (l *lostList) since(s *Session) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return s.lostAt
}

// oldest returns the session longest without a socket, and since when.
func (l *lostList) oldest() (*Session, int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.first == nil {
		return nil, 0
	}
	return l.first, l.first.lostAt
}

func (l *lostList) len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.n
}

// Lost says that the socket of c is gone, with its close code. The session goes
// on without one if its client can come back to it, else it ends. A socket that
// was replaced touches nothing. byClient: the client closed it.
func (s *Session) Lost(c *session.Cursor, code int, byClient bool) {
	s = s.lockState()
	h := s.hub
	s.mu.Lock()
	if s.ended || !s.queue.Owns(c) {
		mine := s.queue.Owns(c)
		s.mu.Unlock()
		s.state.Unlock()
		if mine {
			s.clear(c)
		}
		return
	}
	keep := s.listed && s.doomed == 0 && survives(code, byClient) && !s.queue.Broken() &&
		h.options.Session.TTL > 0 && (s.pinned || s.caps&CapSession != 0)
	if !keep {
		s.ended = true
		reason := lostReason(code, byClient, s.doomed, s.queue.Broken())
		s.mu.Unlock()
		s.state.Unlock()
		s.tearDown(true, reason)
		return
	}
	s.queue.Detach(c)
	s.peer = nil
	s.owner.Store(nil)
	h.lost.add(s, h.now())
	s.mu.Unlock()
	if hook := h.options.OnLost; hook != nil { // noted before anybody can come back
		s.note(func(ctx context.Context) { hook(ctx, s.client, code) })
		defer s.kick()
	}
	s.state.Unlock()
	s.cutCalls(c)
}

// clear takes the last socket from a session that ended with data left for it.
func (s *Session) clear(c *session.Cursor) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue.End()
	s.peer = nil
	s.owner.Store(nil)
	if s.parting {
		s.parting = false
		s.hub.ended.gone(s, s.queue.Stats())
	}
}

// survives reports whether a session lives on after its socket was closed.
func survives(code int, byClient bool) bool {
	switch code {
	case 1006, 1011, 1012, 1013, 4000, 4401:
		return true
	case 1001:
		return !byClient
	}
	return false
}

// NoteRefusal tells the hub that its server turned a connection away: sessions of
// clients that cannot come back for that reason live longer, up to five times the
// TTL.
func (h *Hub) NoteRefusal() { h.refused.Store(h.now()) }

// expire ends sessions that are too long without a socket, or too many, and sees
// to the memory of all.
func (h *Hub) expire() {
	ttl := int64(h.options.Session.TTL)
	h.marks.expire(h.now())
	saved := h.save()
	for {
		s, since := h.lost.oldest()
		if s == nil {
			break
		}
		now := h.now()
		age, refused := now-since, h.refused.Load()
		old := age >= ttl && (age >= 5*ttl || refused == 0 || now-refused >= min(ttl, int64(30*time.Second)))
		if !old && int64(h.Len()) <= h.most.Load() && !h.overSessions() {
			break
		}
		s.expireFrom(since)
	}
	h.tighten(saved)
}

// overSessions reports whether sessions hold too much memory.
func (h *Hub) overSessions() bool { return h.SessionBytes() > int64(h.options.Session.TotalBytes) }

// save has all sessions let go of what they need not hold, when that is too much,
// once in a second. It reports whether it did.
func (h *Hub) save() bool {
	now := h.now()
	if !h.overSessions() || h.savedAt != 0 && now-h.savedAt < int64(time.Second) {
		return false
	}
	h.savedAt = now
	keep := int(h.keepFrames.Load())
	for _, s := range h.sessions() {
		s.mu.Lock()
		s.queue.Shrink(keep)
		s.mu.Unlock()
	}
	return true
}

// tighten says how much sessions may keep from now on. saved: they have already let
// go of what they might not.
func (h *Hub) tighten(saved bool) {
	was := h.tight.Load()
	level := was
	switch held, total := h.SessionBytes(), int64(h.options.Session.TotalBytes); {
	case held > total && (was == 0 || saved):
		level = min(was+1, tightest)
	case held < total/8*7:
		level = max(was-1, 0)
	}
	if level == was {
		return
	}
	h.tight.Store(level)
	if tight := level > 0; tight != (was > 0) {
		if tight {
			h.options.Logger.Warn("sessions hold more than Session.TotalBytes; less is kept for those who come back", "bytes", h.SessionBytes())
		} else {
			h.options.Logger.Info("sessions hold less than Session.TotalBytes again", "bytes", h.SessionBytes())
		}
	}
	h.setKeep(h.metrics.sessions.Load())
}

// expireFrom ends the session unless it had a socket meanwhile.
func (s *Session) expireFrom(since int64) {
	s.state.Lock()
	if s.ended || s.hub.lost.since(s) != since {
		s.state.Unlock()
		return
	}
	s.ended = true
	s.state.Unlock()
	s.tearDown(true, EndExpired)
	s.hub.metrics.expired.Add(1)
}

// SessionBytes returns the memory of what sessions hold: frames, at most once per
// shard, with what they cost beside their bytes, and the slots of queues.
func (h *Hub) SessionBytes() int64 { return h.held.Load() }

// endedStats sums the counts of sessions that ended.
type endedStats struct {
	mu      sync.Mutex
	sum     session.Stats
	parting map[*Session]struct{} // their sockets still take what is queued
}

func (e *endedStats) add(s session.Stats) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sum.Add(s)
}

// part lists a session that ended before its socket; gone follows.
func (e *endedStats) part(s *Session) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.parting == nil {
		e.parting = map[*Session]struct{}{}
	}
	e.parting[s] = struct{}{}
}

func (e *endedStats) gone(s *Session, stats session.Stats) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.parting, s)
	e.sum.Add(stats)
}

// get returns the sum, and the sessions it does not have yet.
func (e *endedStats) get() (session.Stats, []*Session) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.sum, slices.Collect(maps.Keys(e.parting))
}
