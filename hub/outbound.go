package hub

import (
	"context"

	"github.com/ignex/nova"
	"github.com/ignex/nova/session"
)

// This file is what package server needs to write a session's queue to a socket.
// Whether something is pending and who writes is decided under one lock: Begin
// takes the write flag, and Next, which alone gives it up, has looked at the
// queue again before. Between them nobody else writes to that socket.

// Begin takes the write flag and copies what is to be written into dst, up to
// its capacity. nil: nothing to write, or somebody else has the flag.
func (s *Session) Begin(c *session.Cursor, dst []byte) []byte {
	s = s.lock()
	defer s.mu.Unlock()
	if c.Writing {
		return nil
	}
	out := s.queue.Fill(c, dst)
	if c.Writing = out != nil; c.Writing {
		frames, _ := s.queue.Unsent()
		s.shard.queued.observe(uint64(frames))
	}
	s.fed()
	return out
}

// wrote notes what a socket took. The caller holds mu.
func (s *Session) wrote(c *session.Cursor, n, of int) {
	before := s.queue.Sent()
	s.queue.Wrote(c, n, of)
	s.shard.flushed.observe(s.queue.Sent() - before)
}

// Wrote says that the socket took n of the of bytes that Begin or Next gave. The
// write flag is kept: Next has to follow when the socket can take more.
func (s *Session) Wrote(c *session.Cursor, n, of int) {
	s = s.lock()
	s.wrote(c, n, of)
	s.fed()
	pressed := s.cross()
	s.mu.Unlock()
	if pressed {
		s.tellPressure()
	}
}

// Next says the same and copies what comes next into dst; of is 0 after Wrote,
// when a socket that was full takes bytes again. nil: there is nothing more and
// the write flag is given up.
func (s *Session) Next(c *session.Cursor, n, of int, dst []byte) []byte {
	s = s.lock()
	if of > 0 {
		s.wrote(c, n, of)
	} else if s.queue.Owns(c) {
		s.queue.Conflate()
	}
	out := s.queue.Fill(c, dst)
	c.Writing = out != nil
	s.fed()
	pressed := s.cross()
	s.mu.Unlock()
	if pressed {
		s.tellPressure()
	}
	return out
}

// Conflate gives up what was superseded while a write that is still under way
// waited for its reader. It comes before the Next or Wrote of that write: these
// freeze the order of all that is queued once it has passed the mark.
func (s *Session) Conflate(c *session.Cursor) {
	s = s.lock()
	if s.queue.Owns(c) {
		s.queue.Conflate()
	}
	s.mu.Unlock()
}

// Ahead queues a control frame in front of data. message is a whole WebSocket
// message.
func (s *Session) Ahead(c *session.Cursor, kind session.Kind, message []byte) {
	s = s.lock()
	c.Ahead(kind, message)
	s.mu.Unlock()
}

// InOrder queues a control frame behind the data queued so far.
func (s *Session) InOrder(c *session.Cursor, message []byte) {
	s = s.lock()
	s.queue.InOrder(c, session.Plain, message)
	s.mu.Unlock()
}

// CloseFrame queues the close frame: in front of data, or behind what is queued.
func (s *Session) CloseFrame(c *session.Cursor, message []byte, after bool) {
	s = s.lock()
	if after {
		s.queue.CloseAfter(c, message)
	} else {
		c.CloseNow(message)
	}
	s.mu.Unlock()
}

// Resume answers a base client that has everything up to number n. false: too
// many resumes wait.
func (s *Session) Resume(c *session.Cursor, n int64) bool {
	s = s.lock()
	defer s.mu.Unlock()
	if n < 0 {
		c.Ahead(session.Plain, resumedMessage(false, 0))
		return true
	}
	if s.queue.Whole(uint64(n)) {
		s.hub.metrics.replayed.Add(s.queue.Written() - uint64(n))
	}
	return s.queue.Resume(c, uint64(n))
}

// Full reports whether reading the socket has to wait. It waits itself while more
// than one bound of entries is on the way to the shard: joins and leaves are among
// them.
func (s *Session) Full(c *session.Cursor) bool {
	_ = s.shard.waitSpace(s.hub.ctx, true) // its error is the end of the hub
	s = s.lock()
	defer s.mu.Unlock()
	return s.queue.Full(c)
}

// Drained reports whether the close frame was written.
func (s *Session) Drained(c *session.Cursor) bool {
	s = s.lock()
	defer s.mu.Unlock()
	return c.Closed()
}

// Queued returns the frames and bytes no socket has taken.
func (s *Session) Queued() (frames, bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queue.Unsent()
}

func (s *Session) flush() {
	if peer := s.socket(); peer != nil {
		peer.Flush()
	}
}

// socket returns the session's socket, nil = it has none.
func (s *Session) socket() Peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peer
}

func (s *Session) lastNumber() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queue.Last()
}

// Snapshot sends the client the retained history of a topic after an offset (0 =
// all), past the authorisation of joins. It creates no topic and moves no
// position; while one of the topic is being written, further ones are ignored.
func (s *Session) Snapshot(c *session.Cursor, topic string, from int64) {
	logged := s.hub.ruleFor(topic).Log
	s.ordered(c, s.hub.options.AuthorizeTopic != nil || logged, func(ctx context.Context) {
		a := &asked{kind: nova.ToTopic, name: topic, from: c, look: true}
		err := s.askFor(ctx, a, func() error { return s.snapshot(a, from, logged) })
		if err != nil && err != errNotOwner && err != errLeft {
			s.hub.metrics.rejectedJoins.Add(1)
		}
	})
}

// snapshot is Snapshot past the authorisation.
func (s *Session) snapshot(a *asked, from int64, logged bool) error {
	if from < 0 || !s.beginSnapshot(a.name) {
		return nil
	}
	r := s.hub.topics.lock(a.name, nil)
	if logged && from == 0 && (r == nil || r.topic.count == 0) {
		if r != nil {
			r.mu.Unlock()
		}
		return s.sendSnapshot(a, s.hub.logSnapshot(a.name, s.id))
	}
	if r == nil {
		s.endSnapshot(a.name, 0)
		return nil
	}
	defer r.mu.Unlock()
	s.hub.metrics.historyBytes.Add(int64(r.topic.expire(s.hub.options.Clock())))
	return s.sendSnapshot(a, r.topic.after(uint64(from), s.id))
}

// sendSnapshot queues the newest of the frames that the queue has room for, without
// positions, unless what was asked has no effect any more.
func (s *Session) sendSnapshot(a *asked, frames []session.Frame) error {
	s.state.Lock()
	defer s.state.Unlock()
	topic, err := a.name, s.stands(a)
	if frames = s.newest(frames); len(frames) == 0 || err != nil {
		s.endSnapshot(topic, 0)
		return err
	}
	id := frames[0].Target
	if s.inRoom(id) {
		id = 0 // whatever takes the client out of it is about these frames too
	} else if !s.rememberSnapshot(topic, id) {
		s.endSnapshot(topic, 0)
		return nil
	}
	for i := range frames {
		frames[i].Ref, frames[i].Offset = 0, 0
	}
	list := batches(frames)
	s.expect(list, 1)
	s.shard.put(item{kind: itemDirect, member: &s.everyone, batches: list, done: func(n uint64) {
		s.expect(list, -1)
		s.endSnapshot(topic, n)
		s.noteLeft(id)
	}})
	return nil
}

// beginSnapshot reports whether no snapshot of the topic is under way.
func (s *Session) beginSnapshot(topic string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, last := range s.snapshots {
		if last <= s.queue.Written() {
			delete(s.snapshots, name)
		}
	}
	if _, busy := s.snapshots[topic]; busy || len(s.snapshots) >= s.hub.options.MaxTopicsPerClient {
		return false
	}
	if s.snapshots == nil {
		s.snapshots = map[string]uint64{}
	}
	s.snapshots[topic] = ^uint64(0)
	return true
}

// endSnapshot notes the number of its last frame, 0 = there was none.
func (s *Session) endSnapshot(topic string, last uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.snapshots[topic]; ok {
		s.snapshots[topic] = last
	}
}
