package hub

import (
	"slices"

	"github.com/ignex/nova"
)

// leftRoom is a topic or group that the client left by itself, or a topic that it is not
// in and got a snapshot of: what was queued of it by then is written all the same, unless
// the client may not have it any more. Session.mu guards it.
type leftRoom struct {
	kind  nova.TargetKind
	name  string
	id    uint64 // of the room, which may be gone
	seed  bool   // the client was in it by its identity
	open  int    // leaves and snapshots that the shard has not come to; then
	until uint64 // no frame of it has a higher number
}

// remember notes that the client leaves m by itself. false: it left so many lately
// that what is queued of this one is better withdrawn. The caller holds state.
func (s *Session) remember(m *membership) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetLeft()
	if i := s.leftAt(m.room.id); i >= 0 {
		s.left[i].open++
		s.left[i].seed = m.seed
		return true
	}
	if len(s.left) >= s.hub.options.MaxTopicsPerClient {
		return false
	}
	s.left = append(s.left, leftRoom{kind: m.room.kind, name: m.room.name, id: m.room.id, seed: m.seed, open: 1})
	return true
}

// rememberSnapshot notes that the client is about to get frames of a room it is not in.
// Where too many are noted, the oldest that is written is not written again. false: none
// is. The caller holds state.
func (s *Session) rememberSnapshot(topic string, id uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetLeft()
	if i := s.leftAt(id); i >= 0 {
		s.left[i].open++
		return true
	}
	if len(s.left) >= s.hub.options.MaxTopicsPerClient {
		old := slices.IndexFunc(s.left, func(l leftRoom) bool {
			return l.open == 0 && l.until <= s.queue.Written() && !s.inRoom(l.id)
		})
		if old < 0 {
			return false
		}
		s.putWithdraw(s.left[old].id)
		s.left = slices.Delete(s.left, old, old+1)
	}
	s.left = append(s.left, leftRoom{kind: nova.ToTopic, name: topic, id: id, open: 1})
	return true
}

// inRoom reports whether the client is in the room of that id. The caller holds state.
func (s *Session) inRoom(id uint64) bool {
	return slices.ContainsFunc(s.rooms, func(m *membership) bool { return m.room.id == id })
}

// noteLeft is called by the shard when it has taken the client out of the room of that
// id, or queued a snapshot of it.
func (s *Session) noteLeft(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.leftAt(id); i >= 0 {
		s.left[i].open--
		s.left[i].until = s.queue.Last()
		s.forgetLeft()
	}
}

func (s *Session) leftAt(id uint64) int {
	return slices.IndexFunc(s.left, func(l leftRoom) bool { return l.id == id })
}

// forgetLeft drops what the queue holds nothing of any more.
func (s *Session) forgetLeft() {
	s.left = slices.DeleteFunc(s.left, func(l leftRoom) bool { return l.open == 0 && s.queue.Gone(l.until) })
	if len(s.left) == 0 {
		s.left = nil
	}
}

// revoke takes the client out of a topic or group, with all that is queued of it,
// also of the time before it left by itself. It reports whether it was in it.
func (s *Session) revoke(by *asked, kind nova.TargetKind, name string, cause Cause) bool {
	in := s.leave(by, kind, name, cause)
	r := s.hub.directory(kind).get(name)
	s.state.Lock()
	defer s.state.Unlock()
	if s.stands(by) != nil {
		return in
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []uint64
	if !in && r != nil {
		ids = append(ids, r.id) // snapshots
	}
	for _, l := range s.left {
		if l.kind == kind && l.name == name && !slices.Contains(ids, l.id) {
			ids = append(ids, l.id)
		}
	}
	for _, id := range ids {
		s.putWithdraw(id)
	}
	return in
}

// putWithdraw has the shard withdraw what is queued of the room of that id, which the
// client is not in.
func (s *Session) putWithdraw(id uint64) {
	s.leaving.Add(1)
	s.shard.put(item{kind: itemWithdraw, room: &room{id: id}, member: &membership{session: s, index: -1}})
}

// reachable returns the topics and groups of which something may still be written:
// those the client is in, those it left by itself, and those of snapshots. The caller
// holds state.
func (s *Session) reachable() []leftRoom {
	list := make([]leftRoom, 0, len(s.rooms))
	for _, m := range s.rooms {
		list = append(list, leftRoom{kind: m.room.kind, name: m.room.name, seed: m.seed})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetLeft()
	for _, l := range s.left {
		if !slices.ContainsFunc(list, func(x leftRoom) bool { return x.kind == l.kind && x.name == l.name }) {
			list = append(list, l)
		}
	}
	return list
}
