package server

import (
	"encoding/json"
	"net/http"
	"time"
)

// Routes returns everything but the upgrade: /health, /healthz and /readyz for
// all; /clients, /metrics and /schema for administrators (see Admin), which answer GET
// and HEAD only, and /api/disconnect, which takes a POST.
func (s *Server) Routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/health", reading(s.health))
	mux.HandleFunc("/healthz", reading(func(w http.ResponseWriter, _ *http.Request) { writeStatus(w, http.StatusOK, "ok") }))
	mux.HandleFunc("/readyz", reading(s.ready))
	mux.HandleFunc("/clients", s.Admin(reading(s.serveClients)))
	mux.HandleFunc("/metrics", s.Admin(reading(s.serveMetrics)))
	mux.HandleFunc("/schema", s.Admin(reading(s.serveSchema)))
	mux.HandleFunc("/api/disconnect", s.Admin(s.serveDisconnect))
	return mux
}

func (s *Server) isDraining() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.draining
}

// health is for load balancers and people: counters only, no secrets.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	clients, status := len(s.conns), "ok"
	if s.draining {
		status = "draining"
	}
	s.mu.Unlock()
	writeJSON(w, http.StatusOK, struct {
		Status   string `json:"status"`
		Clients  int    `json:"clients"`
		UptimeMs int64  `json:"uptimeMs"`
	}{status, clients, time.Since(s.started).Milliseconds()})
}

// ready says whether new clients should be sent here.
func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	if s.isDraining() {
		writeStatus(w, http.StatusServiceUnavailable, "draining")
		return
	}
	if s.hub.Closed() {
		writeStatus(w, http.StatusServiceUnavailable, "closed")
		return
	}
	writeStatus(w, http.StatusOK, "ok")
}

func (s *Server) serveSchema(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, s.hub.Schema().Layout())
}

func writeStatus(w http.ResponseWriter, status int, text string) {
	writeJSON(w, status, struct {
		Status string `json:"status"`
	}{text})
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client is gone: nobody to tell
}
