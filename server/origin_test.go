package server_test

import (
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
)

func TestOrigins(t *testing.T) {
	const same = "\x00" // the host that is connected to
	type row struct {
		origin string
		in     bool
	}
	for _, c := range []struct {
		allowed []string
		rows    []row
	}{
		{nil, []row{
			{"", true}, {"http://" + same, true}, {"HTTP://" + same, true},
			{"null", false}, {"http://evil.org", false}, {"http://evil.org/" + same, false},
			{"http://" + same + ".evil.org", false}, {"http://x" + same, false}, {"http://127.0.0.1", false},
			{"http://user@" + same, false}, {"//" + same, false}, {same, false}, {"http://", false},
		}},
		{[]string{"https://app.example.com", "http://localhost:3000", "http://[::1]:8080"}, []row{
			{"", true}, {"https://app.example.com", true}, {"HTTPS://App.Example.COM", true}, {"https://app.example.com:443", true},
			{"http://localhost:3000", true}, {"http://[::1]:8080", true},
			{"http://" + same, false}, // the list replaces the default
			{"http://app.example.com", false}, {"https://app.example.com:8443", false}, {"https://app.example.com:4430", false},
			{"http://localhost", false}, {"http://localhost:30000", false}, {"https://localhost:3000", false},
			{"https://app.example.com.evil.org", false}, {"https://evilapp.example.com", false}, {"https://x.app.example.com", false},
			{"https://app.example.com/", false}, {"https://app.example.com@evil.org", false}, {"null", false}, {"", true},
		}},
		{[]string{"https://*.example.com"}, []row{
			{"https://a.example.com", true}, {"https://a.b.example.com", true}, {"https://A.EXAMPLE.com", true}, {"https://a.example.com:443", true},
			{"https://xn--bcher-kva.example.com", true},
			{"https://example.com", false}, {"https://.example.com", false}, {"https://a..example.com", false},
			{"http://a.example.com", false}, {"https://a.example.com:8443", false}, {"https://aexample.com", false},
			{"https://a.example.com.evil.org", false}, {"https://evil.org/.example.com", false}, {"https://evil.org?.example.com", false},
			{"https://evil.org#.example.com", false}, {"https://evil.org\\.example.com", false}, {"https://evil.org:1.example.com", false},
			{"https://u@.example.com", false}, {"null", false},
		}},
		{[]string{"https://*.example.com:8443"}, []row{
			{"https://a.example.com:8443", true}, {"https://a.example.com", false}, {"https://a.example.com:443", false},
		}},
		{[]string{"*"}, []row{{"https://anyone.org", true}, {"null", false}, {"", true}}},
		{[]string{"capacitor://localhost"}, []row{{"capacitor://localhost", true}, {"http://localhost", false}}},
	} {
		r := newRig(t, hub.Options{}, server.Options{Origins: c.allowed})
		host := r.web.Listener.Addr().String()
		for _, row := range c.rows {
			header := ""
			if row.origin != "" {
				header = "Origin: " + strings.ReplaceAll(row.origin, same, host) + "\r\n"
			}
			p, res := r.tryDial("?nova=2", header)
			if in := p != nil; in != row.in {
				t.Errorf("Origins %q, origin %q: let in %v", c.allowed, row.origin, in)
			}
			if p == nil && res.StatusCode != http.StatusForbidden {
				t.Errorf("Origins %q, origin %q: %s", c.allowed, row.origin, res.Status)
			}
		}
	}
	r := newRig(t, hub.Options{}, server.Options{})
	if p, _ := r.tryDial("", "Origin: http://"+r.web.Listener.Addr().String()+"\r\nOrigin: http://evil.org\r\n"); p != nil {
		t.Error("two origins were let in")
	}
}

func TestBadOptionsOfEntering(t *testing.T) {
	h, err := hub.New(hub.Options{Schema: market.Schema})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close(t.Context())
	for name, o := range map[string]server.Options{
		"no scheme":            {Origins: []string{"example.com"}},
		"null":                 {Origins: []string{"null"}},
		"path":                 {Origins: []string{"https://example.com/"}},
		"star inside":          {Origins: []string{"https://a.*.com"}},
		"any scheme":           {Origins: []string{"*://example.com"}},
		"proxy name":           {TrustedProxies: []string{"proxy.local"}},
		"late for nobody":      {LateAuth: 1},
		"late is negative":     {LateAuth: -1, Token: "x"},
		"per IP":               {MaxConnectionsPerIP: -1},
		"per user":             {MaxConnectionsPerUser: -1},
		"unauthenticated":      {MaxUnauthenticated: -1},
		"unauthenticated (IP)": {MaxUnauthenticatedPerIP: -1},
		"accept rate":          {AcceptRate: math.NaN()},
		"heartbeat":            {Heartbeat: time.Microsecond},
	} {
		if srv, err := server.New(h, o); err == nil {
			srv.Close()
			t.Errorf("%s: accepted", name)
		}
	}
}
