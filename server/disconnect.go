package server

import (
	"encoding/json"
	"io"
	"mime"
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
	if bad := needJSON(w, r); bad != nil {
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

// needJSON refuses what is no POST of JSON. Naming the type keeps other sites' pages
// out: without it a browser sends a cross-origin POST unasked.
func needJSON(w http.ResponseWriter, r *http.Request) *publishError {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		bad := refuse(nova.Invalid, "", "method %s; use POST", r.Method)
		bad.status = http.StatusMethodNotAllowed
		return bad
	}
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
		return refuse(nova.Invalid, "", "content type %q; send application/json", kind)
	}
	return nil
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
