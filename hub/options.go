package hub

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/ignex/nova"
	"github.com/ignex/nova/session"
	"github.com/ignex/nova/topiclog"
	"github.com/ignex/nova/wire"
)

// Options configure a hub. Only Schema is required.
type Options struct {
	// Schema is the set of events the hub carries. Required.
	Schema *nova.Schema
	// Inbound names events that clients may send, besides those that the schema
	// marks inbound and those that have a handler. Default none.
	Inbound []string

	// AuthorizeTopic and AuthorizeGroup gate every join: frames of clients, the
	// API, identities and snapshots. They may be slow. Default: all are allowed.
	AuthorizeTopic func(ctx context.Context, client *nova.Client, topic string) error
	AuthorizeGroup func(ctx context.Context, client *nova.Client, group string) error
	// AuthorizePublish gates every inbound event that clients may send at all, and every
	// call. It may be slow: it runs in the order of the client's events, beside them for
	// a call, and holds up nobody else. What it refuses, an error or a panic, is counted
	// and dropped; the client is not told. Whoever calls is: the code and message of an
	// *nova.Error, else Denied. Of a call event has the name, and the table of the
	// request. Default: all are allowed.
	AuthorizePublish func(ctx context.Context, client *nova.Client, event *wire.Event) error
	// Validate names inbound events and calls, "*" for all, whose values or requests have
	// to pass the Validate method of their generated type, where it has one, before
	// handlers get them. What fails is counted and dropped; a call is answered with
	// Invalid and the place of the value. Default none.
	Validate []string
	// CheckInbound judges the payload of an inbound event, or the request of a call,
	// before it is decoded, for rules that no schema has; otherwise it is like
	// AuthorizePublish, and runs after it when there is a handler. Callers are told
	// Invalid when its error has no code. payload is valid during the call only. Default
	// none.
	CheckInbound func(ctx context.Context, client *nova.Client, event *wire.Event, payload []byte) error

	// OnConnect runs when a client was admitted, before its first event; OnDisconnect
	// once when its session ended, and why. OnLost runs when a session that goes on lost its
	// socket, with the close code, and OnRestored when it has one again. Default none.
	OnConnect    func(ctx context.Context, client *nova.Client)
	OnLost       func(ctx context.Context, client *nova.Client, code int)
	OnRestored   func(ctx context.Context, client *nova.Client)
	OnDisconnect func(ctx context.Context, client *nova.Client, reason EndReason)
	// OnJoin and OnLeave run when a client has entered or left a topic or group, in
	// the order of its moves; at its end it leaves all before OnDisconnect. Default
	// none.
	OnJoin  func(ctx context.Context, client *nova.Client, move Move)
	OnLeave func(ctx context.Context, client *nova.Client, move Move)

	// OnPressure runs when the unsent part of a session's queue rises above three
	// quarters of a Backpressure bound (high), and when it falls below one quarter of
	// both again: once each, in turns. Of a queue that swings faster than the hook
	// runs, whole swings are left out. Default none.
	OnPressure func(ctx context.Context, client *nova.Client, high bool)

	MaxTopicsPerClient int // topics and groups one client may be in, each; default 128
	MaxNameLength      int // bytes of topic, group, user and client names; default 255

	Backpressure Backpressure
	Session      SessionOptions
	History      History
	// Topics are rules for topics by name; the first that matches counts. Default
	// none: all topics are as History says, in memory.
	Topics []TopicRule
	// Log keeps the topics whose rule says Log. The hub does not close it. Default
	// none.
	Log topiclog.Log
	// LogWait is how long a frame waits for the log before the topic's LogPolicy
	// applies; default 2 s.
	LogWait time.Duration

	// Int64Guard says what becomes of a publish with a plain int64 that a browser
	// cannot hold exactly; default GuardWarn.
	Int64Guard Guard

	Trace TraceOptions // of the newest events, for people to look at

	Shards int              // loops that serve sessions; default GOMAXPROCS
	Logger *slog.Logger     // default silent
	Tracer nova.Tracer      // default none
	Clock  func() time.Time // for the age of topics and sessions; default time.Now
}

// Backpressure bounds what one session has queued and not yet written.
type Backpressure struct {
	MaxFrames int            // default 1024
	MaxBytes  int            // also the largest frame that can be published; default 1 MiB
	Policy    session.Policy // default session.DropOldest
}

// SessionOptions bound what outlives a socket: the session itself, and what is
// kept of the written frames for resume.
type SessionOptions struct {
	Off bool // no delivery numbers, no resume; default on
	// TTL is how long a session lives without a socket, if its client can come back
	// to it: with session/1 or a pinned id. Default 60 s, negative = not at all.
	TTL       time.Duration
	MaxFrames int // per session; default 16,384
	MaxBytes  int // per session; default 1 MiB
	// TotalBytes bounds the memory of the frames and slots of all sessions, each frame
	// with what it costs beside its bytes (docs/limits.md). A frame counts at most
	// once per shard, however many sessions hold it. Over it the sessions longest
	// without a socket end first, then less is kept for the others, in the end nothing:
	// what is not yet written has the bound of Backpressure. Default 256 MiB.
	TotalBytes int
	// MaxSessions bounds the sessions with and without a socket; over it those
	// longest without one end. Default 200,000, or what Hub.DefaultMaxSessions says.
	MaxSessions int
}

// History bounds what topics keep.
type History struct {
	Size int           // frames per topic; default 64, negative = none
	Idle time.Duration // a topic without members and publishes is forgotten; default 10 min
	// TotalBytes bounds the memory over all topics, each frame with what it costs beside
	// its bytes (docs/limits.md). The longest idle go first, then the largest give up
	// the older half of what they keep. Default 256 MiB.
	TotalBytes int
	MaxTopics  int // likewise; default 100,000
}

// Guard is a reaction to int64 values that browsers cannot hold.
type Guard uint8

// The reactions.
const (
	GuardWarn Guard = iota // publish, log once per event and field
	GuardRefuse
	GuardOff
)

// inboxBytes bounds the memory of what waits between publishers and the shards.
const inboxBytes = 64 << 20

func (o *Options) setDefaults() error {
	if o.Schema == nil {
		return errors.New("hub: Options.Schema is missing: pass the Schema of the generated package")
	}
	layout := o.Schema.Layout()
	for _, name := range o.Inbound {
		if layout.EventByName(name) == nil {
			return fmt.Errorf("hub: Options.Inbound names %q, which schema %s does not have", name, o.Schema.Name())
		}
	}
	for _, name := range o.Validate {
		call := slices.ContainsFunc(layout.Calls, func(c wire.Call) bool { return c.Name == name })
		if name != everyEvent && !call && layout.EventByName(name) == nil {
			return fmt.Errorf("hub: Options.Validate names %q, which schema %s does not have; \"*\" is for all", name, o.Schema.Name())
		}
	}
	for _, v := range []struct {
		p    *int
		def  int
		name string
	}{
		{&o.MaxTopicsPerClient, 128, "MaxTopicsPerClient"},
		{&o.MaxNameLength, 255, "MaxNameLength"},
		{&o.Backpressure.MaxFrames, 1024, "Backpressure.MaxFrames"},
		{&o.Backpressure.MaxBytes, 1 << 20, "Backpressure.MaxBytes"},
		{&o.Session.MaxFrames, 16384, "Session.MaxFrames"},
		{&o.Session.MaxBytes, 1 << 20, "Session.MaxBytes"},
		{&o.Session.TotalBytes, 256 << 20, "Session.TotalBytes"},
		{&o.Session.MaxSessions, 0, "Session.MaxSessions"},
		{&o.History.TotalBytes, 256 << 20, "History.TotalBytes"},
		{&o.History.MaxTopics, 100_000, "History.MaxTopics"},
		{&o.Shards, runtime.GOMAXPROCS(0), "Shards"},
	} {
		if *v.p == 0 {
			*v.p = v.def
		}
		if *v.p < 0 {
			return fmt.Errorf("hub: Options.%s is %d; it must be positive", v.name, *v.p)
		}
	}
	if o.Session.TTL == 0 {
		o.Session.TTL = time.Minute
	}
	if o.Session.Off {
		o.Session.TTL = -1
	}
	if o.History.Size == 0 {
		o.History.Size = 64
	}
	o.History.Size = max(o.History.Size, 0)
	if o.History.Idle == 0 {
		o.History.Idle = 10 * time.Minute
	}
	if o.Backpressure.Policy > session.Disconnect {
		return fmt.Errorf("hub: Options.Backpressure.Policy %d is unknown", o.Backpressure.Policy)
	}
	if o.Int64Guard > GuardOff {
		return fmt.Errorf("hub: Options.Int64Guard %d is unknown", o.Int64Guard)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	return nil
}

// checkName tells why a name cannot be used, or returns nil.
func (o *Options) checkName(what, name string) error {
	if name == "" {
		return nova.Errorf(nova.Invalid, "%s name is empty", what)
	}
	if len(name) > o.MaxNameLength {
		return nova.Errorf(nova.Invalid, "%s name has %d bytes, the limit is %d", what, len(name), o.MaxNameLength)
	}
	if !utf8.ValidString(name) {
		return nova.Errorf(nova.Invalid, "%s name %q is not UTF-8", what, name)
	}
	for _, r := range name {
		if r < 0x20 || r >= 0x7f && r < 0xa0 {
			return nova.Errorf(nova.Invalid, "%s name %q has a control character", what, name)
		}
	}
	return nil
}
