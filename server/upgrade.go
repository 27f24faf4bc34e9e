package server

import (
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ignex/nova/internal/ws"
)

// refusal is why a connection is not accepted: as an HTTP status, and as a close
// code for clients that announced themselves with ?nova=2, because browsers show
// nothing of an HTTP refusal.
type refusal struct {
	status int
	code   int // 0 = always HTTP
	text   string
	told   bool // the log has it already, with more than the client learns
}

// Error makes a refusal something that checks can return.
func (r *refusal) Error() string { return r.text }

var (
	refuseDraining = &refusal{http.StatusServiceUnavailable, 1013, "server is shutting down", false}
	refuseFull     = &refusal{http.StatusServiceUnavailable, 1013, "too many connections", false}
	refuseRate     = &refusal{http.StatusServiceUnavailable, 0, "too many new connections", false}
	refuseOrigin   = &refusal{http.StatusForbidden, 0, "origin not allowed", false}
	refuseFullIP   = &refusal{http.StatusServiceUnavailable, 1013, "too many connections from this address", false}
	refuseFullUser = &refusal{http.StatusServiceUnavailable, 1013, "too many connections of this user", false}
	refuseLate     = &refusal{http.StatusServiceUnavailable, 1013, "too many connections that are not authenticated", false}
	refuseName     = &refusal{http.StatusForbidden, 4403, "the identity has a name that cannot be used", false}
	refuseToken    = &refusal{http.StatusUnauthorized, 4401, "token missing or not valid", false}
	// 1013: a client whose network died has to get in again once that is noticed.
	refuseDuplicate = &refusal{http.StatusConflict, 1013, "client id is in use", false}
)

// ServeHTTP upgrades a request to a connection.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor > 1 {
		http.Error(w, "WebSocket needs HTTP/1.1 here", http.StatusHTTPVersionNotSupported)
		return
	}
	if !s.enter() {
		s.refuse(w, r, refuseDraining)
		return
	}
	e := &entry{}
	started := false
	defer func() {
		if !started {
			s.places.leave(e)
			s.leave()
		}
	}()
	if no := s.gates(r, e); no != nil {
		s.places.leave(e) // before it is told, which takes a while
		s.refuse(w, r, no)
		return
	}
	key, err := checkUpgrade(r)
	if err != nil {
		if errors.Is(err, errOldVersion) {
			w.Header().Set("Sec-WebSocket-Version", "13")
		}
		s.metrics.refused.Add(1)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if !s.claim(e.pinned) {
		s.places.leave(e)
		s.refuse(w, r, refuseDuplicate)
		return
	}
	if started = s.start(w, r, e, key); !started {
		s.yield(e.pinned)
	}
}

// gates runs the checks in their order: rate and limits, origin, token and
// authentication. e takes what they find.
func (s *Server) gates(r *http.Request, e *entry) *refusal {
	o := &s.options
	if s.accept != (quota{}) && !s.upgrade.take(s.accept, int64(time.Since(s.started))) {
		return refuseRate
	}
	e.address = o.proxies.client(r)
	if no := s.places.take(o, e, r.URL.Query().Get("nova") == "2"); no != nil {
		return no
	}
	if !s.originAllowed(r) {
		return refuseOrigin
	}
	if !o.authenticates() {
		return nil
	}
	token, err := upgradeToken(r)
	if err != nil {
		return refuseToken
	}
	if token == "" && o.LateAuth > 0 {
		e.waiting.Store(true)
		return s.places.takeLate(o, e)
	}
	identity, err := s.identify(r.Context(), Credentials{Request: r, Token: token})
	if err != nil {
		return refusalOf(err, token)
	}
	e.authenticated(s, identity)
	return nil
}

// refuse answers an upgrade that is not accepted.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, no *refusal) {
	s.metrics.refused.Add(1)
	if !no.told {
		s.sparse.Write(s.options.Logger, slog.LevelWarn, "connection refused", no.text, "reason", no.text, "remote", r.RemoteAddr)
	}
	if no.status == http.StatusServiceUnavailable {
		s.hub.NoteRefusal()
	}
	if no.code != 0 && r.URL.Query().Get("nova") == "2" {
		if key, err := checkUpgrade(r); err == nil {
			s.refuseUpgraded(w, switching(key, offersProtocol(r), ""), no)
			return
		}
	}
	if no.status == http.StatusServiceUnavailable {
		after := refuseRetry
		if no == refuseRate {
			after = s.turns.next(s.options.AcceptRate, time.Now())
		}
		w.Header().Set("Retry-After", strconv.Itoa(int(after.Seconds())))
	}
	http.Error(w, no.text, no.status)
}

// refuseUpgraded accepts the handshake only to say why not.
func (s *Server) refuseUpgraded(w http.ResponseWriter, out []byte, no *refusal) {
	nc, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, no.text, no.status)
		return
	}
	defer nc.Close()
	defer s.linger(nc)()
	nc.SetDeadline(time.Now().Add(refuseTime))
	if no.code == 1013 {
		out = append(out, goaway(no.text, refuseRetry)...)
	}
	out = ws.AppendClose(out, no.code, no.text)
	if _, err := nc.Write(out); err != nil {
		return
	}
	// Wait for the peer's close: closing with its bytes unread would reset the
	// connection, and the reason with it.
	if t, ok := nc.(*net.TCPConn); ok {
		t.CloseWrite()
	}
	buf := make([]byte, 512)
	for read := 0; read < 1<<16; {
		n, err := nc.Read(buf)
		if err != nil {
			return
		}
		read += n
	}
}

// refuseRetry is when a client that was turned away may come again.
const refuseRetry = 5 * time.Second

// refuseTime bounds how long a refused client may take to go.
const refuseTime = 2 * time.Second

var errOldVersion = errors.New("bad upgrade: Sec-WebSocket-Version must be 13")

// checkUpgrade returns the key of a valid handshake (RFC 6455, section 4.2.1).
func checkUpgrade(r *http.Request) (key string, err error) {
	switch {
	case r.Method != http.MethodGet:
		return "", fmt.Errorf("bad upgrade: method %s, want GET", r.Method)
	case !hasToken(r.Header, "Connection", "upgrade") || !hasToken(r.Header, "Upgrade", "websocket"):
		return "", errors.New("bad upgrade: this address speaks WebSocket only (Connection: Upgrade, Upgrade: websocket)")
	case r.Header.Get("Sec-WebSocket-Version") != "13":
		return "", errOldVersion
	}
	key = r.Header.Get("Sec-WebSocket-Key")
	if raw, err := base64.StdEncoding.DecodeString(key); err != nil || len(raw) != 16 {
		return "", errors.New("bad upgrade: Sec-WebSocket-Key is not 16 bytes in base64")
	}
	return key, nil
}

func hasToken(h http.Header, name, token string) bool {
	for _, line := range h.Values(name) {
		for part := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(part), token) {
				return true
			}
		}
	}
	return false
}

// switching returns the 101 response for a key. protocol: the client offered ours;
// whatever else it offered, a token above all, is not repeated. extensions are those
// agreed on, "" = none.
func switching(key string, protocol bool, extensions string) []byte {
	chosen := ""
	if protocol {
		chosen = "Sec-WebSocket-Protocol: " + subprotocol + "\r\n"
	}
	if extensions != "" {
		chosen += "Sec-WebSocket-Extensions: " + extensions + "\r\n"
	}
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	return []byte("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
		chosen + "Sec-WebSocket-Accept: " + base64.StdEncoding.EncodeToString(sum[:]) + "\r\n\r\n")
}
