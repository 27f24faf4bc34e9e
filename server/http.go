package server

import (
	"net/http"
	"time"
)

// maxHeader bounds the header of a request: a token of the largest usual size and much
// around it.
const maxHeader = 32 << 10

// HTTPServer returns an http.Server for a handler that this server is mounted in. It
// gives up connections that do not complete a request's header within
// HandshakeTimeout, which net/http by itself would keep for ever, and bounds that
// header to 32 KiB. The caller sets Addr and whatever else it wants.
func (s *Server) HTTPServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: s.options.HandshakeTimeout,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    maxHeader,
	}
}
