package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/server"
)

// Without an admin token the administrative routes do not exist, over a real socket from
// this very machine, whatever a client of the WebSocket may bring; what probes need does.
func TestAdminRoutesAreClosedByDefault(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{Token: "clients"})
	for _, c := range []struct{ method, path string }{
		{"GET", "/clients"}, {"GET", "/metrics"}, {"GET", "/schema"}, {"GET", "/debug/nova"}, {"GET", "/debug/pprof/"},
		{"POST", "/api/disconnect"}, {"POST", "/api/publish"}, {"GET", "/api/openapi.json"}, {"GET", "//clients"}, {"GET", "/clients/"},
		{"GET", "/%63lients"}, {"GET", "/health/../clients"},
	} {
		for _, token := range []string{"", "clients", " "} {
			req, err := http.NewRequest(c.method, r.web.URL+c.path, strings.NewReader(`{"id":"x"}`))
			if err != nil {
				t.Fatal(err)
			}
			if token != "" {
				req.Header.Set("Authorization", "Bearer "+token)
			}
			req.Header.Set("Content-Type", "application/json")
			res, err := r.web.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if res.StatusCode != http.StatusNotFound {
				t.Errorf("%s %s with %q: %s", c.method, c.path, token, res.Status)
			}
		}
	}
	for _, path := range []string{"/health", "/healthz", "/readyz"} {
		if status, body := r.get(path, ""); status != 200 {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}
