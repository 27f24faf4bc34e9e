package hub

import (
	"slices"

	"github.com/ignex/nova"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/session"
	"github.com/ignex/nova/wire/control"
)

// controlFrame is what generated control tables have.
type controlFrame interface {
	AppendFrame(dst []byte) ([]byte, error)
}

// message encodes a control table as one WebSocket message.
func message(dst []byte, m controlFrame) []byte {
	frame, err := m.AppendFrame(nil)
	if err != nil {
		panic(err) // scalars and bounded names always fit
	}
	return ws.AppendFrame(dst, ws.Binary, frame)
}

// resumedMessage encodes the answer to a resume.
func resumedMessage(ok bool, from uint64) []byte {
	return message(nil, &control.Resumed{Ok: ok, From: int64(from)})
}

// appendGap encodes the declaration of a hole.
func appendGap(dst []byte, from, to uint64, reason session.Reason) []byte {
	return message(dst, &control.Gap{From: int64(from), To: int64(to), Reason: int64(reason)})
}

// tellGroups tells a client with session/1 the groups it is in now. Lists wait in
// the order they were true.
func (s *Session) tellGroups() {
	s.state.Lock()
	defer s.state.Unlock()
	if s.ended {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.owner.Load()
	if s.caps&CapSession == 0 || s.peer == nil || c == nil {
		return // the next socket is told
	}
	s.queue.InOrder(c, session.Groups, message(nil, &control.Groups{Groups: s.namesLocked(nova.ToGroup)}))
	s.shard.put(item{kind: itemFlush, member: &s.everyone})
}

// namesLocked returns the names of the rooms of a kind. The caller holds state.
func (s *Session) namesLocked(kind nova.TargetKind) []string {
	names := []string{}
	for _, m := range s.rooms {
		if m.room.kind == kind {
			names = append(names, m.room.name)
		}
	}
	slices.Sort(names)
	return names
}
