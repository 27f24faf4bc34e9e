package server

import (
	"encoding/json"
	"net/http"
	"time"
)

// Routes returns everything but the upgrade: /health, /healthz and /readyz for
// all, /metrics for administrators.
func (s *Server) Routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", s.health)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { writeText(w, http.StatusOK, "ok\n") })
	mux.HandleFunc("GET /readyz", s.ready)
	mux.HandleFunc("GET /metrics", s.Admin(s.serveMetrics))
	return mux
}

// Admin lets only administrators through: with AdminToken as a bearer token, or
// with AuthorizeAdmin's consent. With neither set the route does not exist.
func (s *Server) Admin(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		o := &s.options
		switch {
		case o.AdminToken == "" && o.AuthorizeAdmin == nil:
			http.NotFound(w, r)
		case o.AdminToken != "" && equal(bearer(r), o.AdminToken):
			next(w, r)
		case o.AuthorizeAdmin != nil && o.AuthorizeAdmin(r) == nil:
			next(w, r)
		default:
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "the admin token is missing or not valid", http.StatusUnauthorized)
		}
	}
}

func (s *Server) isDraining() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.draining
}

func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	status := "ok"
	if s.isDraining() {
		status = "draining"
	}
	w.Header().Set("Content-Type", "application/json")
	s.mu.Lock()
	clients := len(s.conns)
	s.mu.Unlock()
	json.NewEncoder(w).Encode(struct {
		Status   string `json:"status"`
		Clients  int    `json:"clients"`
		UptimeMs int64  `json:"uptimeMs"`
	}{status, clients, time.Since(s.started).Milliseconds()})
}

func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	if s.isDraining() {
		writeText(w, http.StatusServiceUnavailable, "draining\n")
		return
	}
	writeText(w, http.StatusOK, "ok\n")
}

func writeText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	w.Write([]byte(text))
}
