package server

// SetLimitClock replaces the clock of the rate limits, before the first connection.
func (s *Server) SetLimitClock(clock func() int64) { s.limits.clock = clock }

// Volleys returns the volleys that are free, and whether there can be any.
func (s *Server) Volleys() (free int, some bool) {
	s.volleys.mu.Lock()
	defer s.volleys.mu.Unlock()
	return len(s.volleys.free), !s.volleys.none
}
