package hub

// This file is about connections whose session is another one than they began with:
// that of an earlier connection, or one for another user.

// lock locks the session that s has become, and returns it.
func (s *Session) lock() *Session {
	for {
		s.mu.Lock()
		moved := s.moved.Load()
		if moved == nil {
			return s
		}
		s.mu.Unlock()
		s = moved
	}
}

// lockState is lock for state: a change of user cannot come in between.
func (s *Session) lockState() *Session {
	for {
		s.state.Lock()
		moved := s.moved.Load()
		if moved == nil {
			return s
		}
		s.state.Unlock()
		s = moved
	}
}

// Now returns the session that s has become for its connection, mostly itself.
func (s *Session) Now() *Session {
	for {
		moved := s.moved.Load()
		if moved == nil {
			return s
		}
		s = moved
	}
}
