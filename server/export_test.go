package server

// SetLimitClock replaces the clock of the rate limits, before the first connection.
func (s *Server) SetLimitClock(clock func() int64) { s.limits.clock = clock }
