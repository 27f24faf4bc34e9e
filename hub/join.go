package hub

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/ignex/nova"
	"github.com/ignex/nova/session"
	"github.com/ignex/nova/wire/control"
)

// defaultLimit is the most frames of history one subscription brings.
const defaultLimit = 1024

// joinRequest is a checked SubscribeRequest, or the zero value for a join without
// positions.
type joinRequest struct {
	id     int64
	epoch  string
	offset int64
	limit  int
	seed   bool
	serial uint64 // of the connection whose identity asks, 0 = none does
	cause  Cause
	asked  *asked // nil: nothing can void it
}

// Join implements nova.Session.
func (s *Session) Join(ctx context.Context, topic string) error {
	return s.counted(s.ask(ctx, nil, nova.ToTopic, topic, joinRequest{limit: defaultLimit, cause: CauseAPI}))
}

// counted counts a refused join.
func (s *Session) counted(err error) error {
	if err != nil {
		s.hub.metrics.rejectedJoins.Add(1)
	}
	return err
}

// Leave implements nova.Session: what is queued of the topic is not written any
// more.
func (s *Session) Leave(topic string) {
	s.void(nil, nova.ToTopic, topic)
	s.revokeTopic(nil, topic, CauseAPI, control.TopicUnsubscribed{Topic: topic})
	s.settled()
}

// JoinGroup implements nova.Session.
func (s *Session) JoinGroup(ctx context.Context, group string) error {
	return s.counted(s.enterGroup(ctx, nil, group))
}

// LeaveGroup implements nova.Session, in the way of Leave.
func (s *Session) LeaveGroup(group string) {
	s.void(nil, nova.ToGroup, group)
	if s.revoke(nil, nova.ToGroup, group, CauseAPI) {
		s.tellGroups()
	}
	s.settled()
}

func (s *Session) enterGroup(ctx context.Context, c *session.Cursor, group string) error {
	req := joinRequest{cause: CauseFrame}
	if c == nil {
		req.cause = CauseAPI
	}
	err := s.ask(ctx, c, nova.ToGroup, group, req)
	if err == nil {
		s.tellGroups()
	}
	return err
}

// revokeTopic takes the client out of a topic and tells it.
func (s *Session) revokeTopic(by *asked, topic string, cause Cause, told control.TopicUnsubscribed) {
	if s.revoke(by, nova.ToTopic, topic, cause) && s.positions() {
		s.sendNumbered(told.AppendFrame(nil))
	}
}

// settled waits until what was withdrawn is out of the queue.
func (s *Session) settled() { s.shard.barrier(s.hub.ctx) }

// authorize checks the name and asks the hook.
func (s *Session) authorize(ctx context.Context, kind nova.TargetKind, name string) (err error) {
	what, hook := "topic", s.hub.options.AuthorizeTopic
	if kind == nova.ToGroup {
		what, hook = "group", s.hub.options.AuthorizeGroup
	}
	if err := s.hub.options.checkName(what, name); err != nil {
		return err
	}
	if hook == nil {
		return nil
	}
	defer func() {
		if p := recover(); p != nil {
			err = s.denied(what, name, fmt.Errorf("panic: %v", p))
		}
	}()
	if err := hook(ctx, s.client, name); err != nil {
		return s.denied(what, name, err)
	}
	return nil
}

// denied keeps a coded error; of others only the log learns the cause.
func (s *Session) denied(what, name string, err error) error {
	if coded, ok := asCoded(err); ok {
		return coded
	}
	s.hub.sparse.Write(s.hub.options.Logger, slog.LevelInfo, "join refused", what, what, name, "client", s.id, "error", err)
	return nova.Errorf(nova.Denied, "%s %q is not allowed", what, name)
}

func (h *Hub) directory(kind nova.TargetKind) *directory {
	switch kind {
	case nova.ToTopic:
		return &h.topics
	case nova.ToGroup:
		return &h.groups
	default:
		return &h.users
	}
}

// join makes the session a member, in one step with what it gets of the history.
func (s *Session) join(kind nova.TargetKind, name string, req joinRequest) error {
	if s.hub.options.watched() {
		defer s.kick()
	}
	dir := s.hub.directory(kind)
	create := func(*room) {}
	if kind == nova.ToTopic {
		create = s.hub.makeTopic
	}
	if err := s.mayJoin(dir.get(name), kind, req.asked); err != nil {
		return err // before the room is made
	}
	r := dir.lock(name, create)
	defer r.mu.Unlock()
	if kind == nova.ToTopic && !s.joined(r) {
		if err := r.topic.full(r); err != nil {
			return err
		}
	}
	m := &membership{session: s, room: r, index: -1, seed: req.seed}
	if err := s.addRoom(m, kind, req); err != nil {
		if r.members == 0 && (kind != nova.ToTopic || r.topic.head == 0 && r.topic.unused()) {
			dir.drop(r)
		}
		return err
	}
	if m.session == nil { // it was in already
		if kind == nova.ToTopic && s.positions() {
			s.present(r, req)
		}
		return nil
	}
	if kind != nova.ToTopic {
		s.enter(m)
		return nil
	}
	s.enterTopic(m, req)
	s.hub.checkTotals()
	return nil
}

// mayJoin checks the limits without a lock on the room.
func (s *Session) mayJoin(r *room, kind nova.TargetKind, a *asked) error {
	s.state.Lock()
	defer s.state.Unlock()
	if err := s.stands(a); err != nil {
		return err
	}
	if r != nil && s.find(r) >= 0 {
		return nil
	}
	return s.checkRoom(kind)
}

// checkRoom says why the session can join no room more. The caller holds state.
func (s *Session) checkRoom(kind nova.TargetKind) error {
	if s.ended || !s.admitted {
		return nova.Errorf(nova.NotFound, "client %q is not connected", s.id)
	}
	n := 0
	for _, m := range s.rooms {
		if m.room.kind == kind {
			n++
		}
	}
	if kind != nova.ToUser && n >= s.hub.options.MaxTopicsPerClient {
		return nova.Errorf(nova.Exhausted, "client %q is in %d topics or groups already, the limit", s.id, n)
	}
	return nil
}

// addRoom notes the membership, or clears m.session when there is one. The
// caller holds the room's lock.
func (s *Session) addRoom(m *membership, kind nova.TargetKind, req joinRequest) error {
	s.state.Lock()
	defer s.state.Unlock()
	if err := s.stands(req.asked); err != nil {
		return err
	}
	if s.find(m.room) >= 0 {
		m.session = nil
		return nil
	}
	if err := s.checkRoom(kind); err != nil {
		return err
	}
	s.rooms = append(s.rooms, m)
	s.noteMove(s.hub.options.OnJoin, m.room, req.cause)
	return nil
}

// leave ends a membership; by is who asks for it, nil = the application. Only for
// the client itself what is queued is written all the same.
func (s *Session) leave(by *asked, kind nova.TargetKind, name string, cause Cause) bool {
	if s.hub.options.watched() {
		defer s.kick()
	}
	r := s.hub.directory(kind).lock(name, nil)
	if r == nil {
		return false
	}
	defer r.mu.Unlock()
	s.state.Lock()
	i := s.find(r)
	if i < 0 || s.stands(by) != nil {
		s.state.Unlock()
		return false
	}
	m := s.rooms[i]
	last := len(s.rooms) - 1
	s.rooms[i], s.rooms[last] = s.rooms[last], nil
	s.rooms = s.rooms[:last]
	s.noteMove(s.hub.options.OnLeave, r, cause)
	kindOf := itemLeft
	if cause != CauseFrame || !s.remember(m) {
		kindOf = itemWithdraw
		s.leaving.Add(1) // whoever finds the membership gone sees this too
	}
	s.state.Unlock()
	s.exit(m, kindOf)
	return true
}

// subscribedFrame encodes nova.subscribed.
func subscribedFrame(t *topic, name string, id int64, position uint64, recovered bool, replayed int) session.Frame {
	m := control.TopicSubscribed{
		ID: id, Topic: name, Epoch: t.epoch, Offset: int64(position),
		Recovered: recovered, Replayed: int64(replayed),
	}
	frame, err := m.AppendFrame(nil)
	if err != nil {
		panic(err) // names are bounded, so it fits
	}
	return session.NewFrame(nil, frame)
}

// positions reports whether the client wants topic positions.
func (s *Session) positions() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.caps&CapTopics != 0
}

// sendNumbered queues a frame of the protocol at its place in the stream.
func (s *Session) sendNumbered(frame []byte, err error) {
	if err == nil {
		s.shard.put(item{kind: itemDirect, member: &s.everyone, frame: session.NewFrame(nil, frame)})
	}
}
