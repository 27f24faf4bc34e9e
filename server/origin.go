package server

import (
	"fmt"
	"net/http"
	"strings"
)

// checkOrigin says what is wrong with an entry of Options.Origins.
func checkOrigin(pattern string) error {
	if pattern == "*" {
		return nil
	}
	scheme, host, ok := strings.Cut(pattern, "://")
	if !ok || scheme == "" || host == "" || strings.ContainsAny(host, "/?#@\\ ") {
		return fmt.Errorf("server: Options.Origins has %q; write scheme://host or scheme://*.host, with :port where it is not the usual one", pattern)
	}
	if strings.Contains(scheme+strings.TrimPrefix(host, "*."), "*") {
		return fmt.Errorf("server: Options.Origins has %q; a * may only stand for the first labels of the host", pattern)
	}
	return nil
}

// originAllowed reports whether a browser page may connect. Requests without an
// Origin header do not come from browsers.
func (s *Server) originAllowed(r *http.Request) bool {
	lines := r.Header["Origin"]
	if len(lines) == 0 {
		return true
	}
	origin := plainOrigin(lines[0])
	scheme, host, ok := strings.Cut(origin, "://")
	if len(lines) > 1 || !ok { // "null" above all
		return false
	}
	if len(s.options.Origins) == 0 {
		return host != "" && origin == plainOrigin(scheme+"://"+r.Host)
	}
	for _, pattern := range s.options.Origins {
		if pattern == "*" || matchOrigin(plainOrigin(pattern), origin) {
			return true
		}
	}
	return false
}

// plainOrigin is an origin as browsers write it: in lower case, without the port that
// goes without saying.
func plainOrigin(origin string) string {
	origin = strings.ToLower(origin)
	for scheme, port := range map[string]string{"http://": ":80", "https://": ":443"} {
		if strings.HasPrefix(origin, scheme) {
			return strings.TrimSuffix(origin, port)
		}
	}
	return origin
}

// matchOrigin compares two plain origins, of which the first may begin its host with
// "*.", for one label or more.
func matchOrigin(pattern, origin string) bool {
	before, after, wild := strings.Cut(pattern, "*")
	if !wild {
		return pattern == origin
	}
	if len(origin) <= len(before)+len(after) || !strings.HasPrefix(origin, before) || !strings.HasSuffix(origin, after) {
		return false
	}
	for label := range strings.SplitSeq(origin[len(before):len(origin)-len(after)], ".") {
		if label == "" || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return true
}
