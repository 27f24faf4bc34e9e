package hub_test

import (
	"reflect"
	"unsafe"

	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/session"
)

// simWriter has the write flag of a socket: it is the flusher of a socket that
// takes less than it is offered. (The server's own writes go to a link, which
// blocks instead.)
type simWriter struct {
	s    *hub.Session
	c    *session.Cursor
	peer hub.Peer
}

// writer takes the write flag's place, when the socket has a session.
func (k *simSock) writer() *simWriter {
	for _, s := range k.hub.SimSessions() {
		if peer, cursor := k.has(s); peer != nil {
			return &simWriter{s, cursor, peer}
		}
	}
	return nil
}

// has returns the server's end of the socket when that is the session's.
func (k *simSock) has(s *hub.Session) (hub.Peer, *session.Cursor) {
	peer, cursor := s.SimPeer()
	if peer == nil || cursor == nil {
		return nil, nil
	}
	// The server's connection keeps its socket to itself.
	socket := reflect.ValueOf(peer).Elem().FieldByName("net")
	if socket.Elem().UnsafePointer() != unsafe.Pointer(k.link) {
		return nil, nil
	}
	return peer, cursor
}

// short offers the socket what is due, and lets it take a part of that.
func (k *simSock) short(b, c int) {
	buf := make([]byte, 0, 1+b%400)
	var out []byte
	if k.steal == nil {
		w := k.writer()
		if w == nil {
			return
		}
		if out = w.s.Begin(w.c, buf); out == nil {
			return
		}
		k.steal = w
	} else if out = k.steal.s.Next(k.steal.c, 0, 0, buf); out == nil {
		k.resume()
		return
	}
	n := 0
	k.change(func() {
		if !k.closed && !k.broken {
			n = max(0, min(c%len(out), k.room-len(k.link.down)))
			k.accept(out[:n], int(k.step.Load()))
		}
	})
	k.steal.s.Wrote(k.steal.c, n, len(out))
}

// resume gives the write flag back: the server writes the rest.
func (k *simSock) resume() {
	w := k.steal
	if w == nil {
		return
	}
	k.steal = nil
	w.s.SimRelease(w.c)
	w.s.Ahead(w.c, session.Plain, ws.AppendFrame(nil, ws.Ping, nil)) // a reader may wait for a write
	w.peer.Flush()
}
