package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/ignex/nova/hub"
)

// Options configure a server. The zero value works.
type Options struct {
	// Authenticate decides who a connection is. An error or a panic denies it.
	// Default: everyone, anonymous.
	Authenticate func(ctx context.Context, c Credentials) (Identity, error)
	// Token is a bearer token that every upgrade must carry, compared in constant
	// time. With Authenticate set too, both must pass. Default none.
	Token string
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
	// SessionOptions.MaxSessions of its own keeps at most twice as many sessions.
	MaxConnections int
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
	Logger     *slog.Logger  // default silent
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

// Credentials are what an upgrade brings along.
type Credentials struct {
	Request *http.Request
	Token   string // of the Authorization header, "" = none
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
	if o.Heartbeat == 0 {
		o.Heartbeat = 25 * time.Second
	}
	if o.AcceptRate == 0 {
		o.AcceptRate = 1000
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
