package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"time"

	"github.com/ignex/nova/hub"
)

// Options configure a server. The zero value works.
type Options struct {
	// Authenticate decides who a connection is. An error or a panic denies it.
	// Default: everyone, anonymous.
	// Its context ends after HandshakeTimeout. What a client learns depends on the
	// error's code: Denied that it may not (403, 4403), Unavailable that it may try
	// again later (503, 1013), any other that its token is no good (401, 4401). The
	// message of a Denied or Unauthenticated *nova.Error without a cause is sent along.
	Authenticate func(ctx context.Context, c Credentials) (Identity, error)
	// Token is a bearer token that every connection must bring, compared in constant
	// time; CheckToken decides about it instead, with the errors of Authenticate. Of
	// Token, CheckToken and Authenticate all that are set must pass. Default none.
	Token      string
	CheckToken func(ctx context.Context, token string) error
	// LateAuth lets clients connect without a token and bring it by frame within that
	// time. Until then they are told nothing and may do nothing else. Default 0 = off.
	LateAuth time.Duration
	// MaxUnauthenticated and MaxUnauthenticatedPerIP bound the connections that have not
	// yet brought their token; defaults 1,000 and 10.
	MaxUnauthenticated      int
	MaxUnauthenticatedPerIP int
	// ExpiryGrace is the time between Identity.ExpiresAt and the close of a connection
	// that was not renewed. Default 15 s, negative = none.
	ExpiryGrace time.Duration
	// AdminToken opens the administrative routes. Without it, and without
	// AuthorizeAdmin, they answer 404. Default none.
	AdminToken string
	// AuthorizeAdmin decides about a request that brings no valid AdminToken.
	// Default: denied.
	AuthorizeAdmin func(r *http.Request) error
	// Origins are the browser origins allowed to connect, exact or as patterns
	// such as https://*.example.com; "*" allows all. Default: the same host only.
	Origins []string

	// DuplicateID says what becomes of a connection whose pinned client id another
	// connection of this server has. Default DuplicateReplace.
	DuplicateID DuplicateID

	// MaxConnections bounds the connections, default 0 = unlimited. A hub without a
	// SessionOptions.MaxSessions of its own keeps at most twice as many sessions. A nova
	// client that takes a session over, or replaces another connection, gets the place of
	// that one; to say so a quarter more, 2 to 256, may connect for a moment.
	MaxConnections int
	// MaxConnectionsPerIP and MaxConnectionsPerUser bound those of one address (of IPv6:
	// of one network of 64 bits) and of one user, as authentication names it, likewise.
	// Default 0 = unlimited.
	MaxConnectionsPerIP   int
	MaxConnectionsPerUser int
	// TrustedProxies are the proxies, as addresses or networks, or "unix" for whoever
	// connects over a Unix socket, whose Forwarded or X-Forwarded-For tells the address
	// of a client. Default none: the address of the socket counts.
	TrustedProxies []string
	AcceptRate     float64 // upgrades per second; default 1,000, negative = unlimited
	AcceptBurst    int     // default 2,000
	MaxMessageSize int     // bytes of one message; default 64 KiB
	// MaxPartialBytes bounds the messages that have come in part, of all connections.
	// The one that goes beyond it is closed with 1013, as is one whose message takes
	// longer than 30 s. Default 64 MiB.
	MaxPartialBytes int64
	RateLimit       RateLimit // of what clients send; default no limit
	// MaxUndecodable is the number of malformed frames after which a connection is
	// closed; default 16, negative = unlimited.
	MaxUndecodable   int
	HandshakeTimeout time.Duration // for the hello and the attach of nova clients, hooks not counted; default 10 s
	// Heartbeat is the silence after which a WebSocket ping is sent; after two
	// that brought nothing the connection is dead. Default 25 s, negative = off.
	Heartbeat  time.Duration
	WriteStall time.Duration // no byte accepted while some are unsent; default 30 s
	// NoURing writes to each socket with a system call of its own, also where Linux has
	// io_uring, which otherwise takes 64 at a time. Where it is forbidden, as in most
	// containers, that is so without this option.
	NoURing bool
	// Compression is off by default.
	Compression Compression
	Logger      *slog.Logger // default silent
	// Clock is what Identity.ExpiresAt is compared with. Default time.Now.
	Clock func() time.Time

	proxies proxies
}

// DuplicateID is what becomes of a second live connection with one pinned id.
type DuplicateID uint8

// The choices.
const (
	DuplicateReplace DuplicateID = iota // it replaces the older one
	// DuplicateReject turns it away: 409, and for nova clients 1013 with the advice to
	// come back. A connection whose network died counts until its loss is noticed.
	DuplicateReject
)

// Credentials are what a connection brings along.
type Credentials struct {
	// Request is the upgrade. Of a token that comes by frame it is a copy without body
	// and tokens.
	Request *http.Request
	// Token is that of the Authorization header, of the subprotocol or of nova.auth;
	// "" = none.
	Token string
	// Current is who the connection is so far, nil when it is nobody yet. A new token may
	// change everything but the user and a pinned client id; a connection without a user
	// may get one.
	Current *Identity
}

// Identity is who a connection is.
type Identity = hub.Identity

func (o *Options) setDefaults() error {
	for _, d := range []struct {
		p    *time.Duration
		def  time.Duration
		name string
	}{
		{&o.HandshakeTimeout, 10 * time.Second, "HandshakeTimeout"},
		{&o.WriteStall, 30 * time.Second, "WriteStall"},
	} {
		if *d.p == 0 {
			*d.p = d.def
		}
		if *d.p < 0 {
			return fmt.Errorf("server: Options.%s is %v; it must be positive", d.name, *d.p)
		}
	}
	if err := o.enterDefaults(); err != nil {
		return err
	}
	if o.Heartbeat == 0 {
		o.Heartbeat = 25 * time.Second
	}
	if o.Heartbeat > 0 && o.Heartbeat < time.Millisecond {
		return fmt.Errorf("server: Options.Heartbeat is %v; it must be at least 1ms, or negative for none", o.Heartbeat)
	}
	if o.AcceptRate == 0 {
		o.AcceptRate = 1000
	}
	if math.IsNaN(o.AcceptRate) {
		return errors.New("server: Options.AcceptRate is not a number")
	}
	if o.AcceptBurst == 0 {
		o.AcceptBurst = 2000
	}
	if o.MaxMessageSize == 0 {
		o.MaxMessageSize = 64 << 10
	}
	if o.MaxPartialBytes == 0 {
		o.MaxPartialBytes = 64 << 20
	}
	if o.MaxPartialBytes < int64(o.MaxMessageSize) {
		return fmt.Errorf("server: Options.MaxPartialBytes is %d; it must be at least MaxMessageSize, which is %d",
			o.MaxPartialBytes, o.MaxMessageSize)
	}
	if o.MaxUndecodable == 0 {
		o.MaxUndecodable = 16
	}
	if o.MaxConnections < 0 || o.AcceptBurst < 0 || o.MaxMessageSize < 0 {
		return errors.New("server: Options.MaxConnections, AcceptBurst and MaxMessageSize must not be negative")
	}
	if err := o.Compression.setDefaults(); err != nil {
		return err
	}
	if err := o.RateLimit.setDefaults(); err != nil {
		return err
	}
	if o.DuplicateID > DuplicateReject {
		return fmt.Errorf("server: Options.DuplicateID %d is unknown", o.DuplicateID)
	}
	for _, pattern := range o.Origins {
		if err := checkOrigin(pattern); err != nil {
			return err
		}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}
