package server

import (
	"encoding/base64"
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

// What strangers write about themselves before anybody knows them: the subprotocols
// and the headers of proxies.
func FuzzEntering(f *testing.F) {
	f.Add("nova.v2, nova.token.eyJhIjoxfQ", `for=192.0.2.60;proto=http, for="[2001:db8::1]:4711"`, "1.1.1.1, 10.0.0.2", "https://a.example.com")
	f.Add("nova.token., nova.token.!", "for=unknown;;,", " , 10.0.0.1", "null")
	f.Add("nova.v2", `For="_x,y"`, "::ffff:1.2.3.4%eth0", "https://*.example.com")
	f.Add("chat,nova.token.eA==", "", "", "http://[::1]:80")
	p, err := parseProxies([]string{"10.0.0.0/8", "fd00::/8"})
	if err != nil {
		f.Fatal(err)
	}
	s := &Server{options: Options{Origins: []string{"https://*.example.com", "http://localhost:3000"}}}
	f.Fuzz(func(t *testing.T, protocols, standard, usual, origin string) {
		r := &http.Request{Host: "example.com", RemoteAddr: "10.0.0.1:80", Header: http.Header{
			"Sec-Websocket-Protocol": {protocols}, "Forwarded": {standard}, "X-Forwarded-For": {usual}, "Origin": {origin},
		}}
		token, err := upgradeToken(r)
		if token != "" && (err != nil || !strings.Contains(protocols, subprotocolToken+base64.RawURLEncoding.EncodeToString([]byte(token)))) {
			t.Errorf("token %q of %q, %v", token, protocols, err)
		}
		if strings.Contains(string(switching("x", offersProtocol(r), "")), subprotocolToken) {
			t.Error("a token is echoed")
		}
		if addr := p.client(r); !addr.IsValid() || addr.Zone() != "" || addr.Is4In6() {
			t.Errorf("client %v", addr)
		} else if only := (proxies{}); only.client(r) != netip.MustParseAddr("10.0.0.1") {
			t.Error("headers are believed without a proxy")
		}
		if s.originAllowed(r) {
			o := strings.ToLower(origin)
			if !strings.HasSuffix(strings.TrimSuffix(o, ":443"), ".example.com") && o != "http://localhost:3000" || strings.ContainsAny(o, "/?#@\\ ") && !strings.Contains(o, "://") {
				t.Errorf("origin %q is let in", origin)
			}
		}
	})
}
