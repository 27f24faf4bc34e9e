package hub

import "time"

// This file is about what a list of clients shows of each.

// Located is what a Peer may have besides: the address its client is reached at.
type Located interface {
	// RemoteIP returns the address of the client without its port, "" = unknown.
	RemoteIP() string
}

// tenth is the grain in which sessions note when they began: it lets four bytes
// last for thirteen years.
const tenth = 100 * time.Millisecond

func (h *Hub) tenths() uint32 { return uint32(h.now() / int64(tenth)) }

// ConnectedAt implements nova.Session.
func (s *Session) ConnectedAt() time.Time {
	return s.hub.began.Add(time.Duration(s.since) * tenth).Round(0)
}

// Connected implements nova.Session.
func (s *Session) Connected() bool { return s.current() != nil }

// RemoteIP implements nova.Session.
func (s *Session) RemoteIP() string {
	if l, ok := s.current().(Located); ok {
		return l.RemoteIP()
	}
	return ""
}

// current returns the socket, or nil.
func (s *Session) current() Peer {
	s = s.lock()
	defer s.mu.Unlock()
	return s.peer
}
