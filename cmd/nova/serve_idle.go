package main

import (
	"path"
	"slices"
	"strings"
)

// checkPath refuses a path that no request would have as it stands, and one that is
// used for something else.
func checkPath(p string) error {
	clean := path.Clean(p)
	if strings.HasSuffix(p, "/") && p != "/" {
		clean += "/"
	}
	if !strings.HasPrefix(p, "/") || p != clean || strings.ContainsFunc(p, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune("{}?#%", r) }) {
		return usagef("path %q is no path of a URL; write one such as /ws", p)
	}
	if p == "/" || strings.HasPrefix(p, "/api/") || reserved[p] {
		return usagef("path %q is used already; choose another, such as /ws", p)
	}
	return nil
}

// checkIdle refuses settings that would do nothing, since another is missing: who gives
// one counts on it.
func (o *serveOptions) checkIdle() error {
	r, users := &o.server.RateLimit, o.jwt.given()
	for _, need := range []struct {
		keys []string
		met  bool
		what string
	}{
		{[]string{"rate-limit.policy"}, r.MessagesPerSecond > 0 || r.PerUser > 0 || r.PerIP > 0, "a limit; set rate-limit.messages, rate-limit.per-user or rate-limit.per-ip"},
		{[]string{"max-connections-per-user", "rate-limit.per-user"}, users, "users; set jwt"},
		{[]string{"max-unauthenticated", "max-unauthenticated-per-ip"}, o.server.LateAuth > 0, "late-auth; set it"},
		{[]string{"expiry-grace"}, users, "jwt; set it"},
		{[]string{"compression.min-size"}, o.server.Compression.Level > 0, "compression.level; set it"},
		{[]string{"filelog.sync", "filelog.sync-every", "filelog.max-bytes", "filelog.max-age", "filelog.wait"}, o.log.dir != "", "filelog.dir; set it"},
	} {
		for _, setting := range o.set.All() {
			if !need.met && setting.Changed() && slices.Contains(need.keys, setting.Key) {
				return usagef("%s does nothing without %s", setting.Key, need.what)
			}
		}
	}
	for key, patterns := range map[string][]string{"access.topics": o.access.topics, "access.groups": o.access.groups} {
		if !users && slices.ContainsFunc(patterns, func(p string) bool { return strings.Contains(p, userPart) }) {
			return usagef("%s has %s, but nothing tells users apart; set jwt", key, userPart)
		}
	}
	return nil
}

// logsNothing reports whether there is a log of topics, and no rule that uses it.
func (o *serveOptions) logsNothing() bool {
	for i := range o.topics {
		if o.topics[i].Log {
			return false
		}
	}
	return o.log.dir != ""
}
