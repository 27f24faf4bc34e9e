package server

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

// Which address a request is taken to come from. It is an internal test: what counts
// per address is tested from outside, and needs few of these rows.
func TestClientAddress(t *testing.T) {
	p, err := parseProxies([]string{"10.0.0.0/8", "192.0.2.7", "2001:db8:1::/48", "::ffff:172.16.0.0/108", "::ffff:192.0.2.8", "unix"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, remote, standard, usual, want string
	}{
		{"no proxy", "203.0.113.5:1", "", "", "203.0.113.5"},
		{"untrusted peer lies", "203.0.113.5:1", "for=1.1.1.1", "1.1.1.1", "203.0.113.5"},
		{"one hop", "10.0.0.1:1", "", "198.51.100.9", "198.51.100.9"},
		{"rightmost untrusted", "10.0.0.1:1", "", "1.1.1.1, 198.51.100.9", "198.51.100.9"},
		{"chain of proxies", "10.0.0.1:1", "", "1.1.1.1, 198.51.100.9, 192.0.2.7, 10.9.9.9", "198.51.100.9"},
		{"several lines", "10.0.0.1:1", "", "1.1.1.1\n198.51.100.9,10.0.0.2", "198.51.100.9"},
		{"all trusted", "10.0.0.1:1", "", "10.0.0.3,10.0.0.2", "10.0.0.3"},
		{"rubbish", "10.0.0.1:1", "", "1.1.1.1, x", "10.0.0.1"},
		{"rubbish behind a proxy", "10.0.0.1:1", "", "1.1.1.1, unknown, 10.0.0.2", "10.0.0.2"},
		{"empty", "10.0.0.1:1", "", ",", "10.0.0.1"},
		{"with a port", "10.0.0.1:1", "", "198.51.100.9:4711", "198.51.100.9"},
		{"standard", "10.0.0.1:1", `for=192.0.2.60;proto=http;by=203.0.113.43`, "", "192.0.2.60"},
		{"standard, IPv6", "[2001:db8:1::1]:1", `proto=https; For="[2001:db8:cafe::17]:4711"`, "", "2001:db8:cafe::17"},
		{"standard, chain", "10.0.0.1:1", `for=1.1.1.1, for=198.51.100.9, for=10.0.0.2`, "", "198.51.100.9"},
		{"standard, hidden", "10.0.0.1:1", `for=1.1.1.1, for=_secret`, "", "10.0.0.1"},
		{"standard, unknown", "10.0.0.1:1", `for=unknown`, "", "10.0.0.1"},
		{"standard, no for", "10.0.0.1:1", `for=1.1.1.1, proto=http`, "", "10.0.0.1"},
		{"both agree", "10.0.0.1:1", `for=198.51.100.9`, "198.51.100.9", "198.51.100.9"},
		{"both, one is the client's", "10.0.0.1:1", `for=1.1.1.1`, "198.51.100.9", "10.0.0.1"},
		{"mapped", "[::ffff:10.0.0.1]:1", "", "::ffff:198.51.100.9", "198.51.100.9"},
		{"mapped network", "172.20.0.1:1", "", "198.51.100.9", "198.51.100.9"},
		{"mapped address", "192.0.2.8:1", "", "198.51.100.9", "198.51.100.9"},
		{"unix socket", "@", "", "198.51.100.9", "198.51.100.9"},
		{"unix socket alone", "@", "", "", ""},
	} {
		r := &http.Request{RemoteAddr: c.remote, Header: http.Header{}}
		if c.standard != "" {
			r.Header.Set("Forwarded", c.standard)
		}
		for _, line := range strings.FieldsFunc(c.usual, func(r rune) bool { return r == 0x0a }) {
			r.Header.Add("X-Forwarded-For", line)
		}
		want, _ := netip.ParseAddr(c.want)
		if got := p.client(r); got != want {
			t.Errorf("%s: %v, want %v", c.name, got, want)
		}
	}
	var none proxies
	r := &http.Request{RemoteAddr: "@", Header: http.Header{"X-Forwarded-For": {"1.1.1.1"}}}
	if got := none.client(r); got.IsValid() {
		t.Errorf("without proxies %v is believed", got)
	}
	for addr, want := range map[string]string{"198.51.100.9": "198.51.100.9", "2001:db8:1:2:3::4": "2001:db8:1:2::"} {
		if got := counted(netip.MustParseAddr(addr)); got.String() != want {
			t.Errorf("%s counts as %v", addr, got)
		}
	}
}
