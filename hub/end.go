package hub

import (
	"cmp"
	"context"
	"log/slog"

	"github.com/ignex/nova/session"
)

// End ends the session: memberships, queue, hooks. A newer session with the same
// id is not touched. Calling it again is harmless.
func (s *Session) End() { s.end(true, EndDisconnect) }

// end ends the session; discard gives up what no socket has taken.
func (s *Session) end(discard bool, reason EndReason) {
	s.state.Lock()
	if s.ended {
		s.state.Unlock()
		return
	}
	s.ended = true
	s.state.Unlock()
	s.tearDown(discard, reason)
}

// replace ends a session whose client has another one now, on the connection of
// that serial. One that a later connection has taken over stays.
func (s *Session) replace(serial uint64) {
	s.state.Lock()
	if s.ended || s.serial > serial {
		s.state.Unlock()
		return
	}
	s.ended = true
	reason := cmp.Or(s.doomed, EndReplaced)
	s.state.Unlock()
	s.closePeer(1000, reasonReplaced)
	s.tearDown(true, reason)
}

// tearDown does what follows once ended is set.
func (s *Session) tearDown(discard bool, reason EndReason) {
	h := s.hub
	h.lost.remove(s)
	s.state.Lock()
	listed, rooms := s.listed, s.rooms
	s.rooms = nil
	for _, m := range rooms {
		s.noteMove(h.options.OnLeave, m.room, CauseEnd)
	}
	s.state.Unlock()
	if listed {
		s.leaveAll(rooms)
		h.clientsMu.Lock()
		if h.clients[s.id] == s {
			delete(h.clients, s.id)
		}
		if h.strings[s.hash] == s {
			delete(h.strings, s.hash)
		}
		h.clientsMu.Unlock()
		h.setKeep(h.metrics.sessions.Add(-1))
	}
	s.mu.Lock()
	if discard {
		before := s.queue.Stats().Discarded
		s.queue.End()
		if reason == EndExpired {
			h.metrics.expiredFrames.Add(s.queue.Stats().Discarded - before)
		}
		s.peer = nil
		s.owner.Store(nil)
	}
	s.snapshots, s.left = nil, nil
	h.spacing.wake(s)
	if s.parting = s.peer != nil; s.parting {
		h.ended.part(s)
	} else {
		h.ended.add(s.queue.Stats())
	}
	s.mu.Unlock()
	if reason == EndSlow { // not here: this may be the loop of a shard
		h.start(func() {
			h.sparse.Write(h.options.Logger, slog.LevelWarn, "slow client ended: what must arrive did not fit into its queue", "", "client", s.id, "user", s.User())
		})
	}
	s.cutCalls(nil)
	hook := h.options.OnDisconnect
	if !listed {
		hook = nil
	}
	if hook == nil && s.inbox.Load() == nil {
		s.client.Clear()
		return
	}
	s.enqueue(entry{hook: true, last: true, run: func(ctx context.Context) {
		defer s.client.Clear()
		if hook != nil {
			hook(ctx, s.client, reason)
		}
	}})
}

func (s *Session) leaveAll(rooms []*membership) {
	for _, m := range append(rooms, &s.everyone) {
		m.room.mu.Lock()
		s.exit(m, itemLeave)
		m.room.mu.Unlock()
	}
}

// Disconnect implements nova.Session: the session ends. What was published before
// goes out before the close frame, when the code is not about a fault of the client,
// and is given up without a socket.
func (s *Session) Disconnect(code int, reason string) {
	s = s.lockState()
	s.doomed = cmp.Or(s.doomed, EndDisconnect)
	s.state.Unlock()
	s.settled() // what was published before is queued
	live := s.closePeer(code, reason)
	s.end(!live, EndDisconnect)
}

// Closing says that the socket of c is about to close with code, before a close
// frame is queued: from then on nobody gets a session that ends with it.
func (s *Session) Closing(c *session.Cursor, code int, byClient bool) {
	if survives(code, byClient) || code == 1000 && !byClient {
		return // of a socket that was replaced, when 1000 is ours
	}
	s = s.lockState()
	defer s.state.Unlock()
	if s.owner.Load() == c {
		s.doomed = cmp.Or(s.doomed, lostReason(code, byClient, 0, false))
	}
}

// closePeer closes the socket; false when there is none.
func (s *Session) closePeer(code int, reason string) bool {
	s = s.lock()
	peer := s.peer
	s.mu.Unlock()
	if peer == nil {
		return false
	}
	peer.Close(code, reason)
	return true
}

// giveUp is what becomes of a session whose queue broke.
func (s *Session) giveUp(live bool) {
	if !live || !s.closePeer(1013, "slow consumer") {
		s.end(true, EndSlow)
	}
}
