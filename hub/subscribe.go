package hub

import (
	"context"

	"github.com/ignex/nova"
	"github.com/ignex/nova/session"
	"github.com/ignex/nova/wire/control"
)

// This file is what clients ask for themselves.

// SubscribeRequest is a client's wish to follow a topic. With Positioned set it
// came as nova.subscribe and is answered with nova.subscribed or nova.rejected.
type SubscribeRequest struct {
	Topic      string
	Positioned bool
	ID         int64
	Epoch      string
	Offset     int64 // −1 = live only, n = after n, 0 without epoch = all retained
	Limit      int64 // most frames to replay, 0 = 1024

	seed   bool   // of the identity, not of a frame
	serial uint64 // of the connection whose identity or attach asks, 0 = none
}

// Subscribe joins a topic for the client itself, in the order of its frames.
// Refusals are counted, and told to clients with positions. c is the socket that
// asked: once another has the session, nothing comes of it. So it is with all that
// a client asks for here.
func (s *Session) Subscribe(c *session.Cursor, r SubscribeRequest) {
	s.ordered(c, s.hub.slowTopics(), func(ctx context.Context) { s.subscribe(ctx, c, r) })
}

// subscribe is Subscribe without waiting for a turn; c is nil when no socket asks.
func (s *Session) subscribe(ctx context.Context, c *session.Cursor, r SubscribeRequest) {
	req := joinRequest{limit: defaultLimit, seed: r.seed, serial: r.serial, cause: CauseFrame}
	if r.seed {
		req.cause = CauseSeed
	}
	if r.Positioned {
		req.id, req.epoch, req.offset = r.ID, r.Epoch, r.Offset
		if r.Limit > 0 {
			req.limit = int(min(r.Limit, 1<<20))
		}
	}
	err := s.ask(ctx, c, nova.ToTopic, r.Topic, req)
	if err != nil && err != errNotOwner {
		s.reject(control.TopicRejected{ID: req.id, Topic: r.Topic}, err)
	}
}

// slowTopics reports whether the topics of clients are to be joined and left in
// the order of tasks, off the goroutine that reads.
func (h *Hub) slowTopics() bool { return h.options.AuthorizeTopic != nil || h.options.watched() }

func (h *Hub) slowGroups() bool { return h.options.AuthorizeGroup != nil || h.options.watched() }

// Unsubscribe leaves a topic for the client itself.
func (s *Session) Unsubscribe(c *session.Cursor, topic string) {
	s.void(c, nova.ToTopic, topic)
	s.ordered(c, s.hub.slowTopics(), func(context.Context) { s.leave(&asked{from: c}, nova.ToTopic, topic, CauseFrame) })
}

// EnterGroup joins a group for the client itself.
func (s *Session) EnterGroup(c *session.Cursor, group string) {
	s.ordered(c, s.hub.slowGroups(), func(ctx context.Context) {
		err := s.enterGroup(ctx, c, group)
		if err != nil && err != errNotOwner {
			s.reject(control.TopicRejected{Group: group}, err)
		}
	})
}

// ExitGroup leaves a group for the client itself.
func (s *Session) ExitGroup(c *session.Cursor, group string) {
	s.void(c, nova.ToGroup, group)
	s.ordered(c, s.hub.slowGroups(), func(context.Context) {
		if s.leave(&asked{from: c}, nova.ToGroup, group, CauseFrame) {
			s.tellGroups()
		}
	})
}

// reject counts a refused join and tells clients with positions.
func (s *Session) reject(m control.TopicRejected, err error) {
	s.hub.metrics.rejectedJoins.Add(1)
	if !s.positions() {
		return
	}
	coded, ok := asCoded(err)
	if !ok {
		coded = nova.Errorf(nova.Internal, "internal error")
	}
	m.Code, m.Message = int64(coded.Code), coded.Message
	s.sendNumbered(m.AppendFrame(nil))
}
