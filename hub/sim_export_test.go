package hub

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/ignex/nova"
	"github.com/ignex/nova/session"
)

// What the simulator needs to step a hub by hand and to look into it.

// SimHold stops a shard behind all that it has to do now, until release.
func (h *Hub) SimHold(shard int) (release func()) {
	sh := h.shards[shard%len(h.shards)]
	held := make(chan struct{})
	sh.put(item{kind: itemBarrier, done: func(uint64) { <-held }})
	return sync.OnceFunc(func() { close(held) })
}

// SimSessions returns the findable sessions, the oldest first.
func (h *Hub) SimSessions() []*Session {
	list := h.sessions()
	serials := make(map[*Session]uint64, len(list))
	for _, s := range list {
		s.state.Lock()
		serials[s] = s.serial
		s.state.Unlock()
	}
	slices.SortFunc(list, func(a, b *Session) int { return cmp.Compare(serials[a], serials[b]) })
	return list
}

// SimLook lets look see the session's queue under its lock.
func (s *Session) SimLook(look func(q *session.Queue)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	look(&s.queue)
}

// SimFind returns the session of a session string.
func (h *Hub) SimFind(text string) *Session { return h.sessionOf(text) }

// SimMember reports whether the session is a target of t now.
func (s *Session) SimMember(t nova.Target) bool {
	switch t.Kind {
	case nova.ToBroadcast:
		return true
	case nova.ToClient:
		return s.id == t.Name
	case nova.ToUser:
		return s.user == t.Name
	}
	return slices.Contains(s.names(t.Kind), t.Name)
}

// SimCatching reports whether the session is in the topic, and not live yet.
func (s *Session) SimCatching(topic string) bool {
	r := s.hub.topics.lock(topic, nil)
	if r == nil {
		return false
	}
	defer r.mu.Unlock()
	s.state.Lock()
	defer s.state.Unlock()
	i := s.find(r)
	return i >= 0 && s.rooms[i].catch != nil
}

// SimKept reports whether the session could go on from number n, if the socket
// takes what is being written.
func (s *Session) SimKept(n uint64) bool {
	s.state.Lock()
	ended := s.ended
	s.state.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.owner.Load()
	return !ended && (s.queue.Kept(n) || c != nil && c.Flying())
}

// SimPosition returns the epoch and head of a topic, "" when there is none.
func (h *Hub) SimPosition(topic string) (epoch string, head uint64) {
	r := h.topics.lock(topic, nil)
	if r == nil {
		return "", 0
	}
	defer r.mu.Unlock()
	return r.topic.epoch, r.topic.head
}

// SimAppending reports whether frames are on their way into a log.
func (h *Hub) SimAppending() bool { return h.logging.bytes.Load() > 0 }

// SimIdle returns the topics without members and the sessions without a socket,
// as far as there are more of their kind than the totals allow.
func (h *Hub) SimIdle() (list []string) {
	for _, r := range h.topics.all() {
		r.mu.Lock()
		pending := r.topic.log != nil && r.topic.log.busy // frames that were accepted, or a place to be learnt
		if r.members == 0 && r.topic.joining == 0 && !pending && h.overTotals() {
			list = append(list, "topic "+r.topic.epoch)
		}
		r.mu.Unlock()
	}
	over := h.SessionBytes() > int64(h.options.Session.TotalBytes) || int64(h.Len()) > h.most.Load()
	for _, s := range h.sessions() {
		if over && h.lost.since(s) != 0 {
			list = append(list, "session "+s.id)
		}
	}
	return list
}

// SimPeer returns the socket that has the session with its cursor, or nil.
func (s *Session) SimPeer() (Peer, *session.Cursor) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peer, s.owner.Load()
}

// SimRelease gives the write flag up.
func (s *Session) SimRelease(c *session.Cursor) {
	s = s.lock()
	defer s.mu.Unlock()
	c.Writing = false
}

// SimIndexes compares every index with the sessions. The shards must be idle.
func (h *Hub) SimIndexes() error {
	sessions := h.SimSessions()
	h.passLocks(sessions)
	defer h.passLocks(sessions)
	lost := 0
	for _, s := range sessions {
		if s.ended || !s.listed {
			return fmt.Errorf("session %s is found, ended %v, listed %v", s.id, s.ended, s.listed)
		}
		if h.everyone.shards[s.shard.index].list[s.everyone.index].of != &s.everyone {
			return fmt.Errorf("session %s is not in everyone", s.id)
		}
		if s.lostAt != 0 {
			lost++
		}
		if (s.lostAt != 0) != (s.peer == nil) {
			return fmt.Errorf("session %s: lost %v, a socket %v", s.id, s.lostAt != 0, s.peer != nil)
		}
		for _, m := range s.rooms {
			if m.catch == nil && (m.room.gone || m.index < 0 || m.room.shards[s.shard.index].list[m.index].of != m) {
				return fmt.Errorf("session %s is in %s, which does not have it", s.id, m.room.name)
			}
		}
	}
	if n := h.lost.len(); n != lost {
		return fmt.Errorf("%d sessions without a socket, the list has %d", lost, n)
	}
	if h.everyone.members != len(sessions) || h.Len() != len(sessions) {
		return fmt.Errorf("%d sessions, everyone has %d, Len is %d", len(sessions), h.everyone.members, h.Len())
	}
	for hash, s := range h.strings {
		if s.hash != hash || !slices.Contains(sessions, s) {
			return fmt.Errorf("a string of session %s, which is not there", s.id)
		}
	}
	if err := h.simHistory(); err != nil {
		return err
	}
	for _, d := range []*directory{&h.topics, &h.groups, &h.users} {
		for _, r := range d.all() {
			n, loops, joining := 0, 0, 0
			for _, s := range sessions {
				if i := s.find(r); i >= 0 && s.rooms[i].catch != nil {
					joining++
				} else if i >= 0 {
					n++
				}
			}
			for i := range r.shards {
				loops += len(r.shards[i].list)
			}
			if n != r.members || n != loops || n == 0 && d.kind != nova.ToTopic || r.topic != nil && joining != r.topic.joining {
				return fmt.Errorf("%s: %d members, counted %d, in the loops %d", r.name, n, r.members, loops)
			}
		}
	}
	return nil
}

// simHistory holds the bounds of histories and counts them again.
func (h *Hub) simHistory() error {
	sum := 0
	for _, r := range h.topics.all() {
		t, bytes := r.topic, 0
		weight := slotCost * cap(t.ring)
		for i := range t.count {
			f := t.at(i)
			bytes, weight = bytes+f.Size(), weight+f.Weight()
		}
		for key, f := range t.latest {
			bytes, weight = bytes+f.Size(), weight+f.Weight()+len(key)+keyCost
		}
		if bytes != t.bytes || weight != t.weight || t.count > t.rule.Size || len(t.latest) > maxLatest {
			return fmt.Errorf("%s: %d bytes, counted %d, in %d frames and %d keys", r.name, t.bytes, bytes, t.count, len(t.latest))
		}
		sum += weight
	}
	if got := h.metrics.historyBytes.Load(); got != int64(sum) {
		return fmt.Errorf("histories have %d bytes, counted %d", got, sum)
	}
	return nil
}

// SimRef names topic and epoch in trailers.
func SimRef(epoch, topic string) uint64 { return topicRef(epoch, topic) }

// passLocks takes every lock once: idle as everything is, what follows is ordered
// behind what came before for the race detector too.
func (h *Hub) passLocks(sessions []*Session) {
	locks := []sync.Locker{&h.clientsMu, &h.lost.mu, &h.everyone.mu}
	for _, sh := range h.shards {
		locks = append(locks, &sh.mu)
	}
	for _, d := range []*directory{&h.topics, &h.groups, &h.users} {
		for _, r := range d.all() {
			locks = append(locks, &r.mu)
		}
	}
	for _, s := range sessions {
		locks = append(locks, &s.state, &s.mu)
	}
	for _, l := range locks {
		func() {
			l.Lock()
			defer l.Unlock()
		}()
	}
}

// SimParting returns the sessions that ended with a socket that takes what is queued.
func (h *Hub) SimParting() []*Session {
	_, list := h.ended.get()
	return list
}

// SimInbox returns the bytes on the way to the shards.
func (h *Hub) SimInbox() (n int64) {
	for _, sh := range h.shards {
		n += sh.bytes.Load()
	}
	return n
}

// SimInboxBound sets their bound, before anything is on the way.
func (h *Hub) SimInboxBound(n int) { h.inboxBytes = n }
