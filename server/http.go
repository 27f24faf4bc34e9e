package server

import (
	"io"
	"net/http"
	"time"
)

// maxHeader bounds the header of a request: a token of the largest usual size and much
// around it.
const maxHeader = 32 << 10

// HTTPServer returns an http.Server for a handler that this server is mounted in. It
// gives up connections that do not complete a request's header within
// HandshakeTimeout, which net/http by itself would keep for ever, and bounds that
// header to 32 KiB. As long it waits for a body that no handler reads, and for the
// end of an answer to be taken; what a handler itself reads and writes may last. The
// caller sets Addr and whatever else it wants.
func (s *Server) HTTPServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler:           &impatient{handler, s.options.HandshakeTimeout},
		ReadHeaderTimeout: s.options.HandshakeTimeout,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    maxHeader,
	}
}

// impatient bounds what net/http does around a handler: it reads what is left of a
// body before it answers, and waits for ever on both.
type impatient struct {
	next     http.Handler
	patience time.Duration
}

// ServeHTTP implements http.Handler.
func (i *impatient) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w) // where it refuses deadlines there is no socket either
	_ = control.SetWriteDeadline(time.Time{})
	body := r.ContentLength != 0
	if body {
		_ = control.SetReadDeadline(time.Now().Add(i.patience))
		r.Body = &wantedBody{ReadCloser: r.Body, control: control}
	}
	i.next.ServeHTTP(w, r)
	if hasToken(r.Header, "Connection", "upgrade") {
		return // the connection may be another's by now
	}
	now := time.Now()
	if body {
		_ = control.SetReadDeadline(now.Add(i.patience))
	}
	_ = control.SetWriteDeadline(now.Add(2 * i.patience)) // the answer waits for the body
}

// wantedBody is a body that takes its time once a handler reads it.
type wantedBody struct {
	io.ReadCloser
	control *http.ResponseController
	wanted  bool
}

func (b *wantedBody) Read(p []byte) (int, error) {
	if !b.wanted {
		b.wanted = true
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return b.ReadCloser.Read(p)
}
