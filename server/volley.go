package server

import (
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/internal/uring"
)

// The bounds of one volley.
const (
	volleySends = 64
	volleyLeast = 8         // sockets; fewer are as cheap one by one
	volleyBytes = 256 << 10 // of all sends
	volleyRoom  = 16 << 10  // for one socket; where less is left, the others go first
)

// volley writes to many sockets with one system call, where the system has io_uring.
// One is borrowed from the server for the duration of FlushAll.
type volley struct {
	sentBytes *atomic.Uint64 // of the server

	ring  *uring.Ring
	bytes *[volleyBytes]byte // borrowed as well
	used  int
	sends []uring.Send
	conns []*conn // of sends
}

var volleyBuffers = sync.Pool{New: func() any { return new([volleyBytes]byte) }}

// volleys are those nobody has.
type volleys struct {
	logger    *slog.Logger
	sentBytes *atomic.Uint64

	mu   sync.Mutex
	free []*volley
	none bool // there is no io_uring here, or nobody wants it, or the server is closed
}

// get returns nil where there are none.
func (l *volleys) get() *volley {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.none {
		return nil
	}
	if n := len(l.free); n > 0 {
		v := l.free[n-1]
		l.free = l.free[:n-1]
		return v
	}
	ring, err := uring.New(volleySends)
	if err != nil {
		l.none = true
		l.logger.Info("each write is a system call of its own", "error", err)
		return nil
	}
	return &volley{ring: ring, sentBytes: l.sentBytes}
}

func (l *volleys) put(v *volley) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.none {
		v.ring.Close()
		return
	}
	l.free = append(l.free, v)
}

// close ends them; those that are borrowed end when they come back.
func (l *volleys) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.none = true
	for _, v := range l.free {
		v.ring.Close()
	}
	l.free = nil
}

// FlushAll implements hub.Peer. With many sockets it then gives way to other threads of
// the processor: where clients run on the same machine they read what was written, and
// the scheduler would let them wait for a slice of some milliseconds.
func (c *conn) FlushAll(peers []hub.Peer) {
	if len(peers) < volleyLeast {
		hub.FlushEach(peers)
		return
	}
	if v := c.server.volleys.get(); v != nil {
		v.flush(peers)
		c.server.volleys.put(v)
	} else {
		hub.FlushEach(peers)
	}
	giveWay()
}

func (v *volley) flush(peers []hub.Peer) {
	v.bytes = volleyBuffers.Get().(*[volleyBytes]byte)
	for _, p := range peers {
		if c, ok := p.(*conn); ok && c.raw != nil && &c.server.metrics.sentBytes == v.sentBytes {
			v.add(c)
		} else {
			p.Flush()
		}
	}
	v.fire()
	volleyBuffers.Put(v.bytes)
	v.bytes = nil
}

// add takes what c has to write into the volley.
func (v *volley) add(c *conn) {
	if len(v.sends) == volleySends || volleyBytes-v.used < volleyRoom {
		v.fire()
	}
	if !c.fd.use() {
		return
	}
	room := v.bytes[v.used:v.used:min(v.used+writeSize, volleyBytes)]
	b := c.session().Begin(&c.cursor, room)
	if b == nil || c.cursor.Shared() != nil { // the payload lies elsewhere
		c.write(room, b)
		c.unuse()
		return
	}
	v.used += len(b)
	v.sends = append(v.sends, uring.Send{FD: c.fd.number, Data: b})
	v.conns = append(v.conns, c)
}

// fire sends. What comes after it on a socket, which is rare, is written by itself.
func (v *volley) fire() {
	v.ring.Send(v.sends)
	room, total := v.bytes[:0:writeSize], 0
	for i, c := range v.conns {
		n, of := v.sends[i].N, len(v.sends[i].Data)
		if n > 0 {
			c.moved()
			total += n
		}
		if c.sent(n, of, v.sends[i].Err) {
			c.write(room, c.session().Next(&c.cursor, n, of, room))
		}
		c.unuse()
	}
	v.sentBytes.Add(uint64(total)) // once: loops on other processors count too
	clear(v.sends)
	clear(v.conns)
	v.sends, v.conns, v.used = v.sends[:0], v.conns[:0], 0
}
