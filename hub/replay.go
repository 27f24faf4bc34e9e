package hub

import (
	"math"

	"github.com/ignex/nova/session"
)

// enterTopic makes the session a member at once, in one step with the history it
// asked for, if that fits its queue; else it catches up. The caller holds the
// topic's lock.
func (s *Session) enterTopic(m *membership, req joinRequest) {
	r := m.room
	t := r.topic
	s.hub.metrics.historyBytes.Add(int64(t.expire(s.hub.options.Clock())))
	if t.log != nil && !t.log.answering() {
		s.startCatchUp(&catchUp{m: m, req: req})
		s.hub.wantLog(r, s)
		return
	}
	if s.catchesUp() {
		s.startCatchUp(&catchUp{m: m, req: req}) // behind the others, which need the room
		return
	}
	asked := s.wish(req, t)
	if t.needsLog(asked) {
		s.startCatchUp(&catchUp{m: m, req: req})
		return
	}
	if list, ok := s.replay(t, r.name, asked); ok {
		s.enter(m, list...)
		return
	}
	c := &catchUp{m: m, req: req}
	c.introduce()
	s.startCatchUp(c)
}

// catchesUp reports whether a topic of the session is catching up.
func (s *Session) catchesUp() bool {
	s.hub.catching.mu.Lock()
	defer s.hub.catching.mu.Unlock()
	return s.chase != nil && len(s.chase.list) > 0
}

// wish is what a join means for this client: without positions it gets all that is
// retained.
func (s *Session) wish(req joinRequest, t *topic) joinRequest {
	if s.positions() {
		return req
	}
	if t.log != nil {
		return joinRequest{limit: defaultLimit}
	}
	return joinRequest{limit: math.MaxInt}
}

// replay returns what a newcomer gets before the live frames. false: it does not
// fit into the queue at once. The caller holds the topic's lock.
func (s *Session) replay(t *topic, name string, req joinRequest) ([]*session.Batch, bool) {
	frameRoom, byteRoom := s.room()
	if !s.positions() {
		if t.bytes <= byteRoom && t.count+len(t.latest) <= frameRoom && t.count+len(t.latest) <= req.limit {
			return t.all(s.id), true
		}
		frames, _ := t.from(req, s.id)
		return batches(frames), fits(frames, frameRoom, byteRoom)
	}
	frames, recovered := t.from(req, s.id)
	if !fits(frames, frameRoom, byteRoom) {
		return nil, false
	}
	told := subscribedFrame(t, name, req.id, t.position(req, frames, recovered), recovered, len(frames))
	return append([]*session.Batch{session.NewBatch([]session.Frame{told})}, batches(frames)...), true
}

func fits(list []session.Frame, frames, bytes int) bool {
	for i := range list {
		bytes -= list[i].Size()
	}
	return len(list) <= frames && bytes >= 0
}

// position is the place before the first of the frames that answer a cursor.
func (t *topic) position(req joinRequest, frames []session.Frame, recovered bool) uint64 {
	switch {
	case recovered:
		return uint64(req.offset)
	case len(frames) > 0:
		return frames[0].Offset - 1
	}
	return t.head
}

// room returns the frames and bytes that the queue can take without dropping.
func (s *Session) room() (frames, bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	frames, bytes = s.queue.Room()
	return max(frames-s.coming.frames, 0), max(bytes-s.coming.bytes, 0)
}

// newest returns the last of the frames, as many as the queue has room for.
func (s *Session) newest(list []session.Frame) []session.Frame {
	frames, bytes := s.room()
	first := len(list)
	for first > 0 && len(list)-first < frames && list[first-1].Size() <= bytes {
		first--
		bytes -= list[first].Size()
	}
	return list[first:]
}

// load is what batches add to a queue.
type load struct{ frames, bytes int }

// expect counts the data of batches that are on the way to the queue, or with −1
// have come: several joins at once must not each take the same room.
func (s *Session) expect(batches []*session.Batch, sign int) {
	var l load
	for _, b := range batches {
		for i := range b.Len() {
			if f := b.Frame(i); f.Event != nil {
				l.frames += sign
				l.bytes += sign * f.Size()
			}
		}
	}
	if l.frames == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.coming.frames += l.frames
	s.coming.bytes += l.bytes
	s.fed()
}

// from returns the frames a cursor asks for, and whether they are all that came
// after it.
func (t *topic) from(req joinRequest, client string) (frames []session.Frame, recovered bool) {
	if req.offset < 0 {
		return nil, false
	}
	after, known := t.cursor(req)
	recovered = known && t.lost <= after // it has the rest, even with a hole
	frames = t.after(after, client)
	if len(frames) > req.limit {
		frames, recovered = frames[len(frames)-req.limit:], false
	}
	return frames, recovered
}

// cursor returns the offset that the asker has everything up to, and whether it
// is one of this epoch.
func (t *topic) cursor(req joinRequest) (after uint64, known bool) {
	if req.epoch != "" && req.epoch == t.epoch && req.offset >= 0 && uint64(req.offset) <= t.head {
		return uint64(req.offset), true
	}
	return 0, false
}

// present answers a subscribe for a topic the session is in: no replay.
func (s *Session) present(r *room, req joinRequest) {
	position := r.topic.head
	if c := s.catchUpIn(r); c != nil {
		if !c.told {
			if len(c.ids) < maxIDs {
				c.ids = append(c.ids, req.id)
			}
			return
		}
		if c.epoch != r.topic.epoch {
			c.newEpoch() // its next turn has not come
		}
		position = c.next
	}
	told := subscribedFrame(r.topic, r.name, req.id, position, false, 0)
	s.shard.put(item{kind: itemDirect, member: &s.everyone, frame: told})
}
