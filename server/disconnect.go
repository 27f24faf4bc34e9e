package server

import (
	"encoding/json"
	"io"
	"net/http"
	"unicode/utf8"

	"github.com/ignex/nova"
)

// maxDisconnect bounds the body of a disconnect, in bytes.
const maxDisconnect = 4 << 10

// disconnectCode is what clients are closed with when the request does not say: they
// do not come back by themselves.
const disconnectCode = 4403

// disconnectRequest is one request after reading.
type disconnectRequest struct {
	client, user string
	code         int
	reason       string
}

// serveDisconnect answers POST /api/disconnect {"client" | "user", "code"?, "reason"?}
// with {"disconnected": n}: the sessions that were ended, with and without a socket.
func (s *Server) serveDisconnect(w http.ResponseWriter, r *http.Request) {
	bad := needPost(w, r)
	if bad == nil {
		_, bad = needType(r, jsonType)
	}
	if bad != nil {
		answer(w, bad)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxDisconnect))
	if err != nil {
		answer(w, refuse(nova.Invalid, "", "the body cannot be read, or is longer than %d bytes", maxDisconnect))
		return
	}
	q, bad := readDisconnect(body)
	if bad != nil {
		answer(w, bad)
		return
	}
	n, err := s.disconnect(q)
	if err != nil {
		answer(w, refuse(nova.CodeOf(err), "", "%s", messageOf(err)))
		return
	}
	answer(w, struct {
		Disconnected int `json:"disconnected"`
	}{n})
}

func (s *Server) disconnect(q disconnectRequest) (int, error) {
	if q.user != "" {
		return s.hub.DisconnectUser(q.user, q.code, q.reason)
	}
	found, err := s.hub.Disconnect(q.client, q.code, q.reason)
	if err != nil || !found {
		return 0, err
	}
	return 1, nil
}

func readDisconnect(body []byte) (disconnectRequest, *publishError) {
	q := disconnectRequest{code: disconnectCode}
	members, bad := readObject(body, "", "client", "user", "code", "reason")
	if bad != nil {
		return q, bad
	}
	for _, m := range []struct {
		name string
		into *string
	}{{"client", &q.client}, {"user", &q.user}, {"reason", &q.reason}} {
		if *m.into, bad = readName(members, "", m.name); bad != nil {
			return q, bad
		}
	}
	if v, ok := members["code"]; ok {
		if err := json.Unmarshal(v, &q.code); err != nil || q.code == 0 {
			return q, refuse(nova.Invalid, "/code", "write a WebSocket close code")
		}
	}
	if (q.client == "") == (q.user == "") {
		return q, refuse(nova.Invalid, "", `write exactly one of "client" and "user", not empty`)
	}
	if !utf8.ValidString(q.reason) {
		return q, refuse(nova.Invalid, "/reason", "the reason is not UTF-8")
	}
	return q, nil
}
