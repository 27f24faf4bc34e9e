package server

import (
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/session"
)

// conn is one connection. Its memory is what an idle client costs: keep it small.
type conn struct {
	// What every write touches comes first, near together.
	server   *Server
	current  atomic.Pointer[hub.Session]
	raw      syscall.RawConn // nil: reads and writes block (TLS and others)
	fd       descriptor      // of raw
	progress atomic.Int64    // server ticks: when the socket took bytes last
	gate     atomic.Pointer[chan struct{}]
	cursor   session.Cursor // guarded by the session

	net    net.Conn
	reader *rawReader // nil likewise
	parser ws.Parser
	burst  *hub.Burst // events of the read being taken, nil = none; the reader's

	caps  atomic.Uint32
	phase atomic.Int32 // of the admission; changes under admission
	seen  atomic.Int64 // server ticks: when bytes came last
	timer *time.Timer  // of admission; the reader's

	closing  atomic.Bool // a close frame is queued, by either side
	code     atomic.Int32
	byClient atomic.Bool  // the client closed
	dead     atomic.Bool  // the socket is closed
	flushing atomic.Int32 // flushers: they wait for the socket, or are about to end
	paused   atomic.Bool  // the reader waits for the hub or the writer

	entry     *entry     // how it came in, nil = there is nothing to know
	admission sync.Mutex // held while the connection is admitted
	rare      *rare      // nil = nothing of it; the reader's
	secure    bool       // TLS, and fd is the socket below
	nova      bool       // the client announced itself with ?nova=2
	deaf      bool       // a violation ended the parsing; the reader's
	missed    uint8      // pings without an answer; the sweeper's
	room      uint16     // bytes that the socket below TLS has room for; see ready
}

// rare is what few connections have, or for a short time. It keeps conn within 512
// bytes, a size class of the allocator.
type rare struct {
	limiter *limiter // of what the client sends; nil = no limits
	overdue *overdue // of an unfinished message that the reader waits for
}

func newConn(s *Server, session *hub.Session, nc net.Conn, nova, deflate bool, e *entry) *conn {
	c := &conn{server: s, net: nc, nova: nova, entry: e}
	c.current.Store(session)
	c.parser = ws.NewParser(true, s.options.MaxMessageSize)
	c.seen.Store(s.tick.Load())
	c.progress.Store(s.tick.Load())
	if c.cursor.Deflate = deflate; deflate {
		c.parser.AllowCompressed()
	}
	c.setUpSocket()
	session.Attach(c, &c.cursor)
	return c
}

// session returns the session the connection has now.
func (c *conn) session() *hub.Session {
	s := c.current.Load()
	if now := s.Now(); now != s {
		c.current.CompareAndSwap(s, now)
		return now
	}
	return s
}

// Caps implements hub.Peer.
func (c *conn) Caps() hub.Caps { return hub.Caps(c.caps.Load()) }

// Near implements hub.Peer: one load from each of the lines.
func (c *conn) Near() {
	c.progress.Load()
	c.cursor.Near()
}

// closeTime is how long a connection may take for the closing handshake.
const closeTime = 5 * time.Second

// Close implements hub.Peer: it queues a close frame, behind the data for ends
// that are not the client's fault, and leaves the rest to reader and flusher.
func (c *conn) Close(code int, reason string) {
	after := code == 1000 || code == 1001 || code == 1012
	c.close(code, reason, after)
}

func (c *conn) close(code int, reason string, after bool) {
	if !c.closing.CompareAndSwap(false, true) {
		return
	}
	c.code.Store(int32(code))
	c.server.metrics.closed(code)
	c.server.places.stop(c.entry)
	c.net.SetDeadline(time.Now().Add(closeTime))
	c.session().Closing(&c.cursor, code, false)
	c.session().CloseFrame(&c.cursor, ws.AppendClose(nil, code, reason), after)
	c.Flush()
	c.wake() // a reader that waits for its rate limit
}

// cut closes the socket. Reader and flusher notice and end.
func (c *conn) cut() {
	c.dead.Store(true)
	if c.fd.end() {
		c.net.Close()
	}
	c.session().Cut(&c.cursor)
	c.wake()
}

// unuse is the end of what fd.use began.
func (c *conn) unuse() {
	if c.fd.unuse() {
		c.net.Close()
	}
}

// wake lets a waiting reader look again.
func (c *conn) wake() {
	if gate := c.gate.Load(); gate != nil {
		select {
		case *gate <- struct{}{}:
		default:
		}
	}
}

// waitUntil parks the reader until ok or the connection is dead.
func (c *conn) waitUntil(ok func() bool) {
	if ok() {
		return
	}
	gate := make(chan struct{}, 1)
	c.gate.Store(&gate)
	for !ok() && !c.dead.Load() {
		<-gate
	}
	c.gate.Store(nil)
}
