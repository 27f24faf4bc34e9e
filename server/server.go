package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/internal/sparse"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/wire/control"
)

// Server is the http.Handler that upgrades requests to connections of one hub.
// Mount it where clients connect, usually at /ws, and Routes beside it. All
// methods may be called from any goroutine.
type Server struct {
	hub     *hub.Hub
	options Options
	hello   []byte // the first message to every client
	started time.Time
	accept  quota  // of upgrades
	upgrade shared // what is left of it
	turns   turns
	limits  *limits // of what clients send; nil = none
	metrics counters
	volleys volleys
	sparse  sparse.Log

	partial atomic.Int64 // bytes of unfinished messages
	open    atomic.Int64 // connections and upgrades under way
	tick    atomic.Int64 // milliseconds since started, as the sweeper saw them last

	mu       sync.Mutex
	conns    map[*conn]struct{}
	pinned   map[string]struct{} // ids that are taken, with DuplicateReject
	draining bool
	closed   bool                  // no connection is added any more
	stopped  bool                  // no goroutine is started any more
	idle     chan struct{}         // closed when draining and no connection is left
	refused  map[net.Conn]struct{} // they are being told why

	places places
	hooks  context.Context // of authentication by frame; ends when connections are cut off
	unhook context.CancelFunc

	stop context.CancelFunc
	wg   sync.WaitGroup // sweeper, readers, flushers
}

// New makes a server for a hub, which it does not close. The error says which
// option is wrong.
func New(h *hub.Hub, options Options) (*Server, error) {
	if h == nil {
		return nil, errors.New("server: New needs a hub")
	}
	if err := options.setDefaults(); err != nil {
		return nil, err
	}
	if options.Compression.Level > 0 {
		if err := h.CompressWith(options.Compression.Level, options.Compression.MinSize); err != nil {
			return nil, err
		}
	}
	caps := []string{capTopics, capCalls, schemaCap + h.Schema().Fingerprint()}
	if options.authenticates() {
		caps = append(caps, capAuth)
	}
	if h.Sessions() {
		caps = append([]string{capSession}, caps...)
	}
	if offersBatch(h, &options) {
		caps = append(caps, capBatch)
	}
	hello := control.Hello{Version: 2, Caps: caps}
	frame, err := hello.AppendFrame(nil)
	if err != nil {
		return nil, err
	}
	s := &Server{
		hub:     h,
		options: options,
		hello:   ws.AppendFrame(nil, ws.Binary, frame),
		started: time.Now(),
		conns:   map[*conn]struct{}{},
		pinned:  map[string]struct{}{},
	}
	if n := options.MaxConnections; n > 0 {
		h.DefaultMaxSessions(2 * n)
	}
	s.volleys.logger, s.volleys.sentBytes, s.volleys.none = options.Logger, &s.metrics.sentBytes, options.NoURing
	s.accept = newQuota(options.AcceptRate, options.AcceptBurst)
	s.upgrade.tokens.fill(s.accept, 0)
	s.limits = newLimits(options.RateLimit)
	s.hooks, s.unhook = context.WithCancel(context.Background())
	ctx, cancel := context.WithCancel(context.Background())
	s.stop = cancel
	s.wg.Go(func() { s.sweep(ctx) })
	return s, nil
}

// Hub returns the hub the server serves.
func (s *Server) Hub() *hub.Hub { return s.hub }

// The capabilities: acknowledged subscriptions with positions, sessions that outlive
// sockets, typed calls, and tokens that come by frame.
const (
	capTopics  = "topics/1"
	capSession = "session/1"
	capCalls   = "calls/1"
	capAuth    = "auth/1"
)

// now is the time in server ticks. No change of the clock moves it.
func (s *Server) now() int64 { return time.Since(s.started).Milliseconds() }

// enter counts an upgrade in; false while draining.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining {
		return false
	}
	s.open.Add(1)
	return true
}

func (s *Server) leave() { s.open.Add(-1) }

// claim takes a pinned id for one connection, with DuplicateReject; false when it
// is taken. yield gives it back.
func (s *Server) claim(id string) bool {
	if id == "" || s.options.DuplicateID != DuplicateReject {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, taken := s.pinned[id]; taken {
		return false
	}
	s.pinned[id] = struct{}{}
	return true
}

func (s *Server) yield(id string) {
	if id == "" || s.options.DuplicateID != DuplicateReject {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pinned, id)
}

// start makes the connection of an accepted upgrade and leaves it to its own
// goroutine. It returns false when there is none.
func (s *Server) start(w http.ResponseWriter, r *http.Request, e *entry, key string) bool {
	session, err := s.hub.Open(r.Context(), e.identity, max(s.options.MaxUndecodable, 0))
	if err != nil {
		s.sparse.Write(s.options.Logger, slog.LevelWarn, "connection refused by the hub", nova.CodeOf(err).String(), "remote", r.RemoteAddr, "error", err)
		s.places.leave(e)
		no := refuseDraining
		if nova.CodeOf(err) == nova.Invalid {
			no = refuseName
		}
		s.refuse(w, r, no)
		return false
	}
	deflate := s.options.Compression.agree(r)
	out := append(switching(key, offersProtocol(r), deflate), s.hello...)
	if !e.waiting.Load() {
		out = append(out, welcome(session)...)
	}
	if s.isDraining() { // its hooks took a while
		s.places.leave(e)
		s.refuse(w, r, refuseDraining)
		return false
	}
	nc, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "this HTTP server cannot hand over its connection", http.StatusInternalServerError)
		return false
	}
	var early []byte // what the client sent without waiting for the answer
	if n := rw.Reader.Buffered(); n > 0 {
		early, _ = rw.Reader.Peek(n)
		early = append([]byte(nil), early...)
	}
	c := newConn(s, session, nc, r.URL.Query().Get("nova") == "2", deflate != "", s.keep(e, r))
	nc.SetWriteDeadline(time.Now().Add(s.options.HandshakeTimeout))
	if _, err := nc.Write(out); err != nil {
		nc.Close()
		return false
	}
	nc.SetWriteDeadline(time.Time{})
	if !s.add(c) {
		c.cut()
		return false
	}
	if s.isDraining() {
		c.Close(1012, "service restart")
	}
	go c.read(early)
	return true
}

// add lists the connection, until finish; false when all are cut off already.
func (s *Server) add(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.metrics.accepted.Add(1)
	s.conns[c] = struct{}{}
	s.wg.Add(1)
	return true
}

// remove ends the listing of a connection.
func (s *Server) remove(c *conn) {
	if c.entry != nil { // whoever sees it gone finds its place free
		s.yield(c.entry.pinned)
		s.places.leave(c.entry)
	}
	s.mu.Lock()
	delete(s.conns, c)
	if len(s.conns) == 0 && s.idle != nil {
		close(s.idle)
		s.idle = nil
	}
	s.mu.Unlock()
	s.leave()
}

// welcome encodes who a client is.
func welcome(session *hub.Session) []byte {
	m := control.Welcome{ClientID: session.ID(), Groups: session.Groups()}
	return encode(&m)
}

// encode makes a message of a control table. What cannot be sent is not the
// client's: names are bounded.
func encode(m interface {
	AppendFrame(dst []byte) ([]byte, error)
}) []byte {
	frame, err := m.AppendFrame(nil)
	if err != nil {
		panic(err)
	}
	return ws.AppendFrame(nil, ws.Binary, frame)
}

func (s *Server) list() []*conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	conns := make([]*conn, 0, len(s.conns))
	for c := range s.conns {
		conns = append(conns, c)
	}
	return conns
}

// spawn starts a goroutine that Close waits for; false when that is over.
func (s *Server) spawn(fn func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return false
	}
	s.wg.Go(fn)
	return true
}
