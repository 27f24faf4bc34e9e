package hub

import (
	"context"

	"github.com/ignex/nova"
	"github.com/ignex/nova/session"
)

// asked is a join or a snapshot whose authorisation is under way, or in whose name
// somebody leaves. What came after it may have made it void: the client left, or another
// socket has the session.
type asked struct {
	kind   nova.TargetKind
	name   string
	from   *session.Cursor // the socket that asked, nil = none did
	serial uint64          // of the connection whose identity asks, 0 = none does
	look   bool            // for a snapshot: a client that leaves has asked for it all the same
	void   bool            // under the session's state
	again  bool            // the identity changed meanwhile: it is to be authorised once more; likewise
}

var (
	errNotOwner = nova.Errorf(nova.Cancelled, "the connection was replaced")
	errAgain    = nova.Errorf(nova.Unavailable, "the identity changed while the authorisation was under way")
	errLeft     = nova.Errorf(nova.Cancelled, "left while the authorisation was under way")
)

// ask joins a topic or group past the authorisation, unless it is void by then.
func (s *Session) ask(ctx context.Context, c *session.Cursor, kind nova.TargetKind, name string, req joinRequest) error {
	req.asked = &asked{kind: kind, name: name, from: c, serial: req.serial}
	return s.askFor(ctx, req.asked, func() error { return s.join(kind, name, req) })
}

// askFor does what a asks for past the authorisation, unless it is void by then. do
// returns what stands returns.
func (s *Session) askFor(ctx context.Context, a *asked, do func() error) error {
	s.state.Lock()
	if err := s.stands(a); err != nil {
		s.state.Unlock()
		return err
	}
	s.asked = append(s.asked, a)
	s.state.Unlock()
	defer s.answered(a)
	for {
		err := s.authorize(ctx, a.kind, a.name)
		s.state.Lock()
		stands := s.stands(a)
		a.again = false
		s.state.Unlock()
		switch {
		case stands == errAgain:
			continue
		case err != nil && stands == errNotOwner:
			return errNotOwner // the new socket did not ask
		case err == nil:
			err = do()
		}
		if err != errAgain {
			return err
		}
	}
}

func (s *Session) answered(a *asked) {
	s.state.Lock()
	defer s.state.Unlock()
	for i, x := range s.asked {
		if x == a {
			last := len(s.asked) - 1
			s.asked[i], s.asked[last] = s.asked[last], nil
			s.asked = s.asked[:last]
		}
	}
	if len(s.asked) == 0 {
		s.asked = nil
	}
}

// stands reports why what was asked has no effect any more. The caller holds state.
func (s *Session) stands(a *asked) error {
	switch {
	case a == nil:
		return nil
	case a.from != nil && s.owner.Load() != a.from, a.serial != 0 && s.serial != a.serial:
		return errNotOwner
	case a.void:
		return errLeft
	case a.again:
		return errAgain
	}
	return nil
}

// still reports whether the session is there and would do what was asked.
func (s *Session) still(a *asked) bool {
	s.state.Lock()
	defer s.state.Unlock()
	return !s.ended && s.stands(a) == nil
}

// void makes the joins of a name that wait for their authorisation come to
// nothing: it was left. c is the socket that left it, nil = the application.
func (s *Session) void(c *session.Cursor, kind nova.TargetKind, name string) {
	s.state.Lock()
	defer s.state.Unlock()
	if c != nil && s.owner.Load() != c {
		return
	}
	for _, a := range s.asked {
		if a.kind == kind && a.name == name && (c == nil || !a.look) {
			a.void = true
		}
	}
}
