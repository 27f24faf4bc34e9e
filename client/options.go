package client

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/ignex/nova"
)

// Options changes a connection. The zero value works.
type Options struct {
	// Schema names the events that frames are resolved to and tells the server
	// its fingerprint. Without it only events that handlers, iterators and sends
	// bring along are known. Default none.
	Schema *nova.Schema
	// Token returns the bearer token. It is called before the first attempt, and
	// again when the one there is has expired or was refused, after two attempts in a
	// row that ended before the first frame, and on a server that says when a token
	// expires (auth/1) before it does: then the new one is sent by frame, and the
	// connection goes on. An error counts as a failed attempt, or goes to OnError. It
	// has to return when ctx ends. Default no token.
	Token func(ctx context.Context) (string, error)
	// TokenInBand sends the token by frame once the socket is up, instead of in a
	// header, which proxies may log. The server has to allow that (LateAuth of package
	// server). Default false.
	TokenInBand bool
	// Header is added to the upgrade request. Default none.
	Header http.Header

	// Reconnect says how to come back after a loss.
	Reconnect Reconnect
	// Heartbeat is the time between two ping events; any frame counts as life.
	// Negative turns it off. Default what the server says, else 15 s.
	Heartbeat time.Duration
	// HeartbeatMisses is the number of heartbeats without any sign of life after
	// which the connection counts as lost. Default 2.
	HeartbeatMisses int
	// Queue bounds what waits to be sent.
	Queue Queue
	// Gate bounds what waits for a missing frame of a server without sessions;
	// others say at once what is missing.
	Gate Gate
	// MaxMessageSize is the longest message accepted, in bytes. Default 16 MiB.
	MaxMessageSize int
	// Compression offers permessage-deflate (RFC 7692): events come compressed from
	// servers that have it on, and messages of 512 bytes and more go compressed to
	// them. No window is kept between messages. Default false.
	Compression bool
	// HandshakeTimeout bounds one attempt, from dialling to the server's
	// admission. Default 10 s.
	HandshakeTimeout time.Duration
	// WriteStall is how long one write may make no end. Default 30 s.
	WriteStall time.Duration

	// OnStatus, OnError, OnGap and OnRecovered are registered before the first
	// attempt; see the methods of Conn. Default none.
	OnStatus    func(Status)
	OnError     func(error)
	OnGap       func(Gap)
	OnRecovered func(bool)

	// NetDial replaces the dialling of TCP. Default net.Dialer.
	NetDial func(ctx context.Context, network, addr string) (net.Conn, error)
	// TLS is used for wss URLs. Default the system's roots.
	TLS *tls.Config
	// Logger takes what nobody can be told by a return value. Default silent.
	Logger *slog.Logger
}

// Reconnect is exponential backoff with full jitter: the wait is random between
// 0 and the window, which doubles from Initial up to Max. That is so after refused
// upgrades, too; after two losses in a row before the first frame a new token is asked
// for.
type Reconnect struct {
	Initial time.Duration // first window; default 250 ms
	Max     time.Duration // last window; default 30 s
	Stable  time.Duration // a connection that lasted this long starts over; default 10 s
	Off     bool          // true: a lost connection is closed for good; default false
}

// Queue bounds the frames that SendFrame accepted and that were not acknowledged,
// or, of a server without sessions, not written.
type Queue struct {
	MaxFrames int           // default 1,024
	MaxBytes  int           // default 1 MiB
	MaxAge    time.Duration // older frames that were never written are dropped and reported to OnError; default 30 s
}

// Gate bounds the frames held back because one before them is missing.
type Gate struct {
	MaxPending int           // frames; default 1,024
	Timeout    time.Duration // then the rest is delivered and OnGap called; default 5 s
}

const (
	defaultHeartbeat  = 15 * time.Second
	defaultMaxMessage = 16 << 20
)

// withDefaults fills in what is zero and refuses what cannot work.
func (o Options) withDefaults() (Options, error) {
	for _, d := range []struct {
		name string
		at   *time.Duration
		def  time.Duration
	}{
		{"Reconnect.Initial", &o.Reconnect.Initial, 250 * time.Millisecond},
		{"Reconnect.Max", &o.Reconnect.Max, 30 * time.Second},
		{"Reconnect.Stable", &o.Reconnect.Stable, 10 * time.Second},
		{"Queue.MaxAge", &o.Queue.MaxAge, 30 * time.Second},
		{"Gate.Timeout", &o.Gate.Timeout, 5 * time.Second},
		{"HandshakeTimeout", &o.HandshakeTimeout, 10 * time.Second},
		{"WriteStall", &o.WriteStall, 30 * time.Second},
	} {
		if *d.at < 0 {
			return o, nova.Errorf(nova.Invalid, "client option %s is negative: %v", d.name, *d.at)
		}
		if *d.at == 0 {
			*d.at = d.def
		}
	}
	for _, n := range []struct {
		name string
		at   *int
		def  int
	}{
		{"HeartbeatMisses", &o.HeartbeatMisses, 2},
		{"Queue.MaxFrames", &o.Queue.MaxFrames, 1024},
		{"Queue.MaxBytes", &o.Queue.MaxBytes, 1 << 20},
		{"Gate.MaxPending", &o.Gate.MaxPending, 1024},
		{"MaxMessageSize", &o.MaxMessageSize, defaultMaxMessage},
	} {
		if *n.at < 0 {
			return o, nova.Errorf(nova.Invalid, "client option %s is negative: %d", n.name, *n.at)
		}
		if *n.at == 0 {
			*n.at = n.def
		}
	}
	if o.Heartbeat == 0 {
		o.Heartbeat = defaultHeartbeat
	}
	o.Reconnect.Max = max(o.Reconnect.Max, o.Reconnect.Initial)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

// endpoint checks the address and asks for refusals after the upgrade, which
// carry a close code (docs/protocol.md, "Connection").
func endpoint(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", nova.Errorf(nova.Invalid, "bad URL: %w", err)
	}
	switch u.Scheme = strings.ToLower(u.Scheme); u.Scheme {
	case "ws", "wss":
	case "http":
		u.Scheme = "ws"
	case "https":
		u.Scheme = "wss"
	default:
		return "", nova.Errorf(nova.Invalid, "bad URL %q: want ws:// or wss://, as in ws://localhost:3000/ws", address)
	}
	if u.Host == "" {
		return "", nova.Errorf(nova.Invalid, "bad URL %q: no host", address)
	}
	u.Fragment = ""
	if query := u.Query(); !query.Has("nova") {
		if u.RawQuery != "" {
			u.RawQuery += "&"
		}
		u.RawQuery += "nova=2"
	}
	return u.String(), nil
}

// checkName refuses topics and groups that the protocol has no room for.
func checkName(what, name string) error {
	if name == "" || len(name) > 255 {
		return nova.Errorf(nova.Invalid, "%s name has %d bytes, want 1 to 255", what, len(name))
	}
	for i, r := range name {
		if r < 0x20 || r >= 0x7f && r < 0xa0 || r == 0xfffd && !strings.HasPrefix(name[i:], "\uFFFD") {
			return nova.Errorf(nova.Invalid, "%s name %q has a control character or bad UTF-8 at byte %d", what, name, i)
		}
	}
	return nil
}
