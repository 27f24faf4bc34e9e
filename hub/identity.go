package hub

import (
	"context"
	"slices"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/session"
)

// Identity is who a connection is. Its zero value is anonymous: a random id, no
// user.
type Identity struct {
	ClientID string // pinned: a newer connection with it replaces the older one
	UserID   string
	Groups   []string // joined from the start, as far as AuthorizeGroup allows
	Topics   []string
	// Meta is what the application wants to know of the client; see nova.Client.Meta.
	// It is not copied: do not change it afterwards.
	Meta map[string]any
	// ExpiresAt is when the identity ends. A connection that has not brought a newer
	// token by then, and some grace, is closed with 4401. Zero = never.
	ExpiresAt time.Time
	// Version, when equal to that of the connection before, says that nothing the
	// client may do has changed: its topics and groups are not authorised again.
	Version string
}

// Identify makes the session that of identity. It is for a connection that was opened
// before it was known whose it is, and that is not admitted yet. AuthorizeGroup runs
// here. Errors carry a Code: Invalid (a name in identity), FailedPrecondition (admitted).
func (s *Session) Identify(ctx context.Context, identity Identity) error {
	if err := s.hub.options.checkIdentity(&identity); err != nil {
		return err
	}
	s.state.Lock()
	late := s.admitted || s.ended
	if !late {
		if identity.ClientID != "" {
			s.id, s.pinned = identity.ClientID, true
		}
		s.user, s.version = identity.UserID, identity.Version
	}
	s.state.Unlock()
	if late {
		return nova.Errorf(nova.FailedPrecondition, "client %q is admitted already", s.id)
	}
	s.client.SetMeta(identity.Meta)
	seeds := s.seedsOf(ctx, &identity)
	s.state.Lock()
	s.seeds = seeds
	s.state.Unlock()
	return nil
}

// Renew gives an admitted session what a newer identity says: groups, topics, meta,
// and a user if it had none. c is the socket that brought it. As with a new connection
// the groups and topics of the identity before are left unless the new one names them,
// and all others are authorised again, unless Version is the same. Errors carry a
// Code: Denied (another user or pinned client id), Invalid (a name in identity),
// Cancelled (another socket has the session).
func (s *Session) Renew(ctx context.Context, c *session.Cursor, identity Identity) error {
	if err := s.hub.options.checkIdentity(&identity); err != nil {
		return err
	}
	s = s.lockState()
	user, serial, mine := s.user, s.serial, s.owner.Load() == c
	s.state.Unlock()
	switch {
	case !mine:
		return errNotOwner
	case user != "" && user != identity.UserID:
		return nova.Errorf(nova.Denied, "the user of a connection cannot change")
	case identity.ClientID != "" && identity.ClientID != s.id:
		return nova.Errorf(nova.Denied, "the client id of a connection cannot change")
	}
	if user != identity.UserID {
		if _, err := s.SetUser(identity.UserID); err != nil {
			return err
		}
	}
	s.client.SetMeta(identity.Meta)
	s.reseed(s.seedsOf(ctx, &identity), identity.Version, serial)
	s.state.Lock()
	if s.serial == serial {
		s.version = identity.Version
	}
	s.state.Unlock()
	s.tellGroups()
	return nil
}

// Takes returns the connection that that of s, once admitted, takes the place of, nil
// when there is none: the one that has the session of this string, or its pinned id.
func (s *Session) Takes(text string) Peer {
	for _, old := range []*Session{s.hub.sessionOf(text), s.hub.session(s.id)} {
		if !s.succeeds(old) {
			continue
		}
		old = old.lock()
		peer := old.peer
		old.mu.Unlock()
		if peer != nil {
			return peer
		}
	}
	return nil
}

func (o *Options) checkIdentity(identity *Identity) error {
	for _, n := range []struct{ what, name string }{{"client", identity.ClientID}, {"user", identity.UserID}} {
		if n.name == "" {
			continue
		}
		if err := o.checkName(n.what, n.name); err != nil {
			return err
		}
	}
	return nil
}

// seedsOf returns the topics of an identity, and its groups as far as they are
// allowed; nil when there are none.
func (s *Session) seedsOf(ctx context.Context, identity *Identity) *Identity {
	if len(identity.Groups) == 0 && len(identity.Topics) == 0 {
		return nil
	}
	seeds := &Identity{Topics: identity.Topics}
	for _, group := range identity.Groups {
		if s.counted(s.authorize(ctx, nova.ToGroup, group)) == nil && !slices.Contains(seeds.Groups, group) {
			seeds.Groups = append(seeds.Groups, group)
		}
	}
	return seeds
}
