package server

import (
	"log/slog"
	"slices"
	"strings"
)

const schemaCap = "schema/"

// compareSchema counts a client whose schema is another version than the server's.
// The two go on together (docs/evolution.md).
func (c *conn) compareSchema(caps []string) {
	own := schemaCap + c.server.hub.Schema().Fingerprint()
	i := slices.IndexFunc(caps, func(name string) bool { return strings.HasPrefix(name, schemaCap) })
	if i < 0 || slices.Contains(caps, own) {
		return
	}
	c.server.metrics.otherSchema.Add(1)
	theirs := strings.TrimPrefix(caps[i], schemaCap)
	if len(theirs) > 16 {
		theirs = theirs[:16] // no fingerprint is longer
	}
	c.server.sparse.Write(c.server.options.Logger, slog.LevelInfo, "client with another schema", "",
		"client", c.session().ID(), "fingerprint", theirs, "own", own[len(schemaCap):])
}
