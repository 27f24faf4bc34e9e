package server

import (
	"cmp"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/ignex/nova/wire/control"
)

// entry is how a connection came in, and what it has to give back when it goes.
// Connections of servers without limits and authentication have none.
type entry struct {
	pinned  string     // client id given by authentication
	address netip.Addr // of the client, as far as trusted proxies tell

	// What it holds; under places.mu.
	place, late bool
	robbed      bool     // its place has the connection that took its session over
	asks        *refusal // why it has no place; it may say which session it comes back for. Also the reader's
	user        string   // whose place it takes, "" = nobody's

	// Of a server that authenticates.
	request  *http.Request          // the upgrade, for renewals
	identity Identity               // as authenticated last; the reader's
	expires  atomic.Pointer[expiry] // nil = never
	waiting  atomic.Bool            // not authenticated yet
	hello    *control.Hello         // the client's, kept while waiting; the reader's
	inBand   bool                   // auth/1 is on; the reader's
	failures int                    // renewals refused in a row; the reader's
}

// keep returns the entry of the connection that an upgrade becomes, nil when nothing
// needs it.
func (s *Server) keep(e *entry, r *http.Request) *entry {
	o := &s.options
	if o.authenticates() {
		e.request = withoutTokens(r)
		return e
	}
	if o.MaxConnections > 0 || o.MaxConnectionsPerIP > 0 || len(o.TrustedProxies) > 0 {
		return e
	}
	return nil
}

// authenticated notes who the connection is. It returns how long that holds, 0 = for
// ever.
func (e *entry) authenticated(s *Server, identity Identity) (left time.Duration) {
	e.identity, e.pinned = identity, cmp.Or(identity.ClientID, e.pinned)
	at, left := s.expiryOf(&identity)
	e.expires.Store(&at)
	return left
}

// left is how long the authentication still holds, 0 = for ever.
func (e *entry) left(s *Server) time.Duration {
	_, left := s.expiryOf(&e.identity)
	return left
}

// RemoteIP implements hub.Located: it returns the address of the client, as far as
// trusted proxies tell.
func (c *conn) RemoteIP() string {
	if c.entry != nil && c.entry.address.IsValid() {
		return c.entry.address.String()
	}
	addr := c.net.RemoteAddr().String()
	if ip := parseHost(addr); ip.IsValid() {
		return ip.String()
	}
	return addr
}
