package hub

import (
	"sync"
	"time"

	"github.com/ignex/nova"
)

// marks keep in mind who was disconnected, as long as a session of before that
// moment may still come up: of a connection that was let in and not yet admitted.
// Those that connect later are no concern of theirs: whether they may is decided by
// authentication.
type marks struct {
	mu    sync.Mutex
	users map[string]mark
	ids   map[string]mark
}

// mark ends every session whose connection is not newer than serial.
type mark struct {
	serial uint64
	until  int64 // by the hub's now
	code   int
	reason string
}

// markFor is the least time a mark stands.
const markFor = time.Minute

func (m *marks) set(list *map[string]mark, name string, k mark) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if *list == nil {
		*list = map[string]mark{}
	}
	(*list)[name] = k
}

// expire forgets the marks whose time is over.
func (m *marks) expire(now int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, list := range []map[string]mark{m.users, m.ids} {
		for name, k := range list {
			if now >= k.until {
				delete(list, name)
			}
		}
	}
}

// on returns the mark that a session of that id, user and serial must not come up
// against.
func (m *marks) on(id, user string, serial uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, ok := m.ids[id]
	if !ok || serial > k.serial {
		if k, ok = m.users[user]; !ok || user == "" || serial > k.serial {
			return nil
		}
	}
	return &DisconnectedError{Code: k.code, Reason: k.reason}
}

// DisconnectedError says that the client of a connection was disconnected before it
// was admitted, and what the connection is to be closed with.
type DisconnectedError struct {
	Code   int
	Reason string
}

// Error names the close code and the reason.
func (e *DisconnectedError) Error() string { return "disconnected: " + e.Reason }

// reasonDisconnected is what a client reads that is told nothing else.
const reasonDisconnected = "closed by server"

// Disconnect ends the session of a client, with or without a socket, and closes the
// socket with a WebSocket close code, 0 = 1000: with this one clients of nova do not
// come back by themselves. A connection of that id that is not admitted yet ends
// likewise, one that is made later does not. It reports whether there was a session.
// Errors carry the Code Invalid: a close code that cannot be sent.
func (h *Hub) Disconnect(id string, code int, reason string) (bool, error) {
	k, err := h.newMark(code, reason)
	if err != nil {
		return false, err
	}
	h.marks.set(&h.marks.ids, id, k)
	s := h.session(id)
	if s == nil {
		return false, nil
	}
	s.Disconnect(k.code, k.reason)
	h.options.Logger.Info("client disconnected by order", "client", id, "code", k.code)
	return true, nil
}

// DisconnectUser is Disconnect for all sessions of a user, and returns their number.
func (h *Hub) DisconnectUser(user string, code int, reason string) (int, error) {
	if user == "" {
		return 0, nova.Errorf(nova.Invalid, "disconnect: the user has no name")
	}
	k, err := h.newMark(code, reason)
	if err != nil {
		return 0, err
	}
	h.marks.set(&h.marks.users, user, k)
	list := h.ClientsOf(user)
	for _, c := range list {
		c.Disconnect(k.code, k.reason)
	}
	h.options.Logger.Info("user disconnected by order", "user", user, "sessions", len(list), "code", k.code)
	return len(list), nil
}

// newMark is about everyone who has connected until now.
func (h *Hub) newMark(code int, reason string) (mark, error) {
	if code == 0 {
		code = 1000
	}
	if reason == "" {
		reason = reasonDisconnected
	}
	switch {
	case code == 1000, code == 1001, code == 1008, code >= 1011 && code <= 1013, code >= 3000 && code <= 4999:
	default:
		return mark{}, nova.Errorf(nova.Invalid, "disconnect: close code %d cannot be sent; use 1000, 1001, 1008, 1011 to 1013 or 3000 to 4999", code)
	}
	const most = 123 // RFC 6455, section 5.5
	if len(reason) > most {
		return mark{}, nova.Errorf(nova.Invalid, "disconnect: the reason has %d bytes, a close frame takes %d", len(reason), most)
	}
	lives := max(5*h.options.Session.TTL, markFor) // a session at the longest: see expire
	return mark{serial: h.turn.Load(), until: h.now() + int64(lives), code: code, reason: reason}, nil
}
