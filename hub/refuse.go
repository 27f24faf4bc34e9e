package hub

import (
	"context"

	"github.com/ignex/nova/session"
	"github.com/ignex/nova/wire/control"
)

// RefuseTopic answers a subscribe with err instead of doing it, in its turn.
func (s *Session) RefuseTopic(c *session.Cursor, r SubscribeRequest, err error) {
	s.ordered(c, s.hub.slowTopics(), func(context.Context) {
		if s.Owned(c) {
			s.reject(control.TopicRejected{ID: r.ID, Topic: r.Topic}, err)
		}
	})
}

// RefuseGroup is RefuseTopic for the wish to join a group.
func (s *Session) RefuseGroup(c *session.Cursor, group string, err error) {
	s.ordered(c, s.hub.slowGroups(), func(context.Context) {
		if s.Owned(c) {
			s.reject(control.TopicRejected{Group: group}, err)
		}
	})
}
