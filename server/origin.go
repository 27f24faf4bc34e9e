package server

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// checkOrigin says what is wrong with an entry of Options.Origins.
func checkOrigin(pattern string) error {
	if pattern == "*" {
		return nil
	}
	scheme, host, ok := strings.Cut(pattern, "://")
	if !ok || scheme == "" || host == "" || strings.Contains(host, "/") {
		return fmt.Errorf("server: Options.Origins has %q; write scheme://host or scheme://*.host", pattern)
	}
	if strings.Contains(strings.TrimPrefix(host, "*."), "*") {
		return fmt.Errorf("server: Options.Origins has %q; a * may only stand for the first labels of the host", pattern)
	}
	return nil
}

// originAllowed reports whether a browser page may connect. Requests without an
// Origin header do not come from browsers.
func (s *Server) originAllowed(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	if len(s.options.Origins) == 0 {
		u, err := url.Parse(origin)
		return err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host)
	}
	for _, pattern := range s.options.Origins {
		if matchOrigin(pattern, origin) {
			return true
		}
	}
	return false
}

func matchOrigin(pattern, origin string) bool {
	if pattern == "*" {
		return origin != "null"
	}
	pattern, origin = strings.ToLower(pattern), strings.ToLower(origin)
	before, after, wild := strings.Cut(pattern, "*")
	if !wild {
		return pattern == origin
	}
	return len(origin) > len(before)+len(after) &&
		strings.HasPrefix(origin, before) && strings.HasSuffix(origin, after) &&
		!strings.ContainsAny(origin[len(before):len(origin)-len(after)], "/:@")
}
