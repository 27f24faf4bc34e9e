// Package client is the Go client: it holds one WebSocket connection to a nova
// server, brings it back when it is lost, and hands frames to typed handlers
// and iterators. Typed use goes through the descriptors of generated code:
//
//	conn, err := client.Dial(ctx, "ws://localhost:3000/ws", client.Options{Schema: market.Schema})
//	sub, err := conn.Subscribe(ctx, "equities")
//	for quote, err := range market.QuoteEvent.All(ctx, sub) { … }
package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/session"
	"github.com/ignex/nova/wire"
	"github.com/ignex/nova/wire/control"
)

// Conn is a client's connection, over as many sockets as it takes. All methods
// may be called from any goroutine, before Connect too.
//
// Handlers, iterators and callbacks: handlers of one Conn run in order, one at a
// time, on the goroutine that reads; a slow one slows the connection, a failing
// or panicking one harms nobody else and is reported to OnError. Status, gap and
// recovered callbacks run there too; error callbacks may come from any goroutine.
type Conn struct {
	url     string
	options Options
	ownBeat bool // the heartbeat is the user's, not the server's
	queue   *queue
	router  router
	answers answers
	counts  counts

	onStatus    callbacks[Status]
	onError     callbacks[error]
	onGap       callbacks[Gap]
	onRecovered callbacks[bool]

	ctx     context.Context // of handlers; ends with Close
	cancel  context.CancelFunc
	closing chan struct{} // closed by Close
	done    chan struct{} // closed when all goroutines have ended
	helpers sync.WaitGroup

	// Of the goroutine that reads.
	gate    session.BaseGate    // towards servers without sessions
	numbers session.SessionGate // and towards those with
	session string              // the server's word for this session, "" = none

	mu       sync.Mutex
	status   Status
	tried    *outcome // of the first attempt, and of the first after a pause
	started  bool
	ended    bool // Close was called
	pause    *pause
	abort    context.CancelFunc // of the attempt under way, before it has a socket
	bearer   bearer
	socket   *socket
	clientID string
	ready    bool            // the socket takes control frames
	topicsOn bool            // and both sides want acknowledged subscriptions
	resumes  bool            // the server may hold a session for us
	groups   []string        // as the server last named them
	joined   map[string]bool // groups to be in
	topics   topicSet
	left     leftSet
}

// counts are the counters behind Stats.
type counts struct {
	connects, received, undecodable, unknown, duplicates, missing, superseded, stray, handlerErrors, expired, unconfirmed atomic.Uint64
}

var _ nova.Conn = (*Conn)(nil)

// errClosed is the cause of everything that Close ends.
var errClosed = nova.Errorf(nova.Unavailable, "the client is closed")

// New checks address and options and returns an idle connection. address is
// ws:// or wss://; http:// and https:// mean the same. Errors have code Invalid.
func New(address string, options Options) (*Conn, error) {
	ownBeat := options.Heartbeat != 0
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	target, err := endpoint(address)
	if err != nil {
		return nil, err
	}
	c := &Conn{
		url:     target,
		options: options,
		ownBeat: ownBeat,
		queue:   newQueue(options.Queue),
		gate:    session.BaseGate{MaxFrames: options.Gate.MaxPending, MaxBytes: options.MaxMessageSize},
		closing: make(chan struct{}),
		done:    make(chan struct{}),
		tried:   newOutcome(),
		pause:   newPause(),
		joined:  map[string]bool{},
		left:    newLeftSet(),
	}
	c.ctx, c.cancel = context.WithCancel(context.WithValue(context.Background(), insideKey{}, c))
	c.topics.init()
	c.router.init(options.Schema)
	c.onStatus.add(options.OnStatus)
	c.onError.add(options.OnError)
	c.onGap.add(options.OnGap)
	c.onRecovered.add(options.OnRecovered)
	return c, nil
}

// Dial is New and Connect. When the first attempt fails it closes the connection
// and returns the error; a program that wants to go on trying uses New.
func Dial(ctx context.Context, address string, options Options) (*Conn, error) {
	c, err := New(address, options)
	if err != nil {
		return nil, err
	}
	if err := c.Connect(ctx); err != nil {
		return nil, errors.Join(err, c.Close(context.WithoutCancel(ctx)))
	}
	return c, nil
}

// Connect starts the connection, unless it was started, ends a pause, and waits
// for the outcome of the first attempt: nil once the server has admitted this
// client. After an error the connection goes on trying, until its status is Closed,
// whose cause is the error then. ctx bounds the wait only. Errors carry a Code:
// Unavailable, Unauthenticated, Denied, FailedPrecondition, or that of ctx.
func (c *Conn) Connect(ctx context.Context) error {
	c.mu.Lock()
	if err := c.usableLocked(); err != nil {
		c.mu.Unlock()
		return err
	}
	if !c.started {
		c.started = true
		go c.run()
	}
	c.resumeLocked()
	tried := c.tried
	c.mu.Unlock()
	select {
	case <-tried.done:
		return tried.err
	case <-ctx.Done():
		return fmt.Errorf("connect to %s: %w", c.url, ctx.Err())
	}
}

// insideKey marks the context of handlers, which carries their Conn.
type insideKey struct{}

// Close sends what is queued, closes the socket with 1000 and waits for the
// server's answer, at most 5 s or until ctx ends, then cuts the connection. It
// returns nil when the goroutines of the connection have ended, and the error
// of ctx when ctx ended before. With the context of a handler it does not wait,
// as it would wait for that handler; callbacks, which have no context, must not
// call it. It may be called again and from several goroutines.
func (c *Conn) Close(ctx context.Context) error {
	c.mu.Lock()
	first := !c.ended
	c.ended = true
	idle := !c.started
	c.started = true
	c.mu.Unlock()
	if first {
		close(c.closing)
		c.cancel()
		c.endSubscriptions(errClosed)
		c.queue.endCalls(errClosed)
	}
	if idle {
		c.queue.end(errClosed)
		c.setStatus(Status{State: Closed})
		close(c.done)
	}
	if ctx.Value(insideKey{}) == c {
		return nil
	}
	patience := time.NewTimer(closeWait)
	defer patience.Stop()
	for {
		select {
		case <-c.done:
			return nil
		case <-patience.C:
			c.cut()
		case <-ctx.Done():
			c.cut()
			return fmt.Errorf("close client: %w", ctx.Err())
		}
	}
}

// cut closes the socket without the ceremony.
func (c *Conn) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.socket != nil {
		c.socket.conn.Close()
	}
}

// endSubscriptions ends all of them, once no new one can be made.
func (c *Conn) endSubscriptions(cause error) {
	c.mu.Lock()
	var subs []*Subscription
	for _, t := range c.topics.byName {
		subs = append(subs, t.subs...)
	}
	c.mu.Unlock()
	for _, s := range subs {
		s.end(cause)
	}
}

// Status returns the present state and its cause.
func (c *Conn) Status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.status
}

// ClientID returns the id the server gave this client, "" before the first welcome.
func (c *Conn) ClientID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.clientID
}

// Groups returns the groups the server last named, sorted.
func (c *Conn) Groups() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(slices.Values(c.groups))
}

// Stats returns the counters.
func (c *Conn) Stats() Stats {
	return Stats{
		Connects: c.counts.connects.Load(), Received: c.counts.received.Load(),
		Undecodable: c.counts.undecodable.Load(), Unknown: c.counts.unknown.Load(),
		Duplicates: c.counts.duplicates.Load(), Missing: c.counts.missing.Load(),
		Superseded: c.counts.superseded.Load(),
		Stray:      c.counts.stray.Load(), HandlerErrors: c.counts.handlerErrors.Load(),
		Expired: c.counts.expired.Load(), Unconfirmed: c.counts.unconfirmed.Load(),
	}
}

// OnStatus calls fn on every change of status. off ends it.
func (c *Conn) OnStatus(fn func(Status)) (off func()) { return c.onStatus.add(fn) }

// OnError calls fn with what no call can return: failed attempts, undecodable
// frames, failing handlers, rejected subscriptions, expired sends, sends that turn
// out larger than the server takes, and sends of which nobody can tell whether they were handled. off ends it.
func (c *Conn) OnError(fn func(error)) (off func()) { return c.onError.add(fn) }

// OnGap calls fn when frames are known not to come, superseded ones excepted.
// off ends it.
func (c *Conn) OnGap(fn func(Gap)) (off func()) { return c.onGap.add(fn) }

// OnRecovered calls fn after a reconnect: true when everything missed will come
// or be told of by OnGap, false when something may be lost. off ends it.
func (c *Conn) OnRecovered(fn func(bool)) (off func()) { return c.onRecovered.add(fn) }

// SendFrame queues one unnumbered frame for the server; see nova.Conn. While the
// connection is lost frames wait for the next one, at most Queue.MaxAge. A
// server with sessions handles each frame once and in order, over any number of
// reconnects; when the session is lost, those that it may or may not have
// handled are reported to OnError with code UnknownOutcome. See Flush and
// Confirmed for how to wait. To a server without sessions a frame handed to a
// socket that is then lost is not sent again.
func (c *Conn) SendFrame(ctx context.Context, event *wire.Event, frame []byte) error {
	_, err := c.enqueue(ctx, event, frame, false)
	return err
}

// usable returns the error of everything done after the end.
func (c *Conn) usable() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.usableLocked()
}

func (c *Conn) usableLocked() error {
	switch {
	case c.ended:
		return errClosed
	case c.status.State == Closed:
		return c.status.Err
	}
	return nil
}

// JoinGroup asks for membership of a server-side group, now and after every
// reconnect, until LeaveGroup. A refusal is reported to OnError. Errors carry a
// Code: Invalid (bad name), Unavailable (closed).
func (c *Conn) JoinGroup(_ context.Context, group string) error {
	return c.group(group, true, &control.JoinGroup{Group: group})
}

// LeaveGroup ends a membership that JoinGroup asked for, with its errors.
func (c *Conn) LeaveGroup(_ context.Context, group string) error {
	return c.group(group, false, &control.LeaveGroup{Group: group})
}

func (c *Conn) group(name string, join bool, m frameAppender) error {
	if err := checkName("group", name); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.usableLocked(); err != nil {
		return err
	}
	if join {
		c.joined[name] = true
	} else {
		delete(c.joined, name)
	}
	if c.resumes {
		c.left.group(name, !join)
	}
	c.control(m)
	return nil
}

// Snapshot asks for the retained history of a topic strictly after an offset (0
// = all of it). The frames come to handlers like any others. Errors carry a
// Code: Invalid (bad name), Unavailable (not connected).
func (c *Conn) Snapshot(_ context.Context, topic string, after uint64) error {
	if err := checkName("topic", topic); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended || c.status.State != Connected {
		return nova.Errorf(nova.Unavailable, "snapshot of %q: not connected", topic)
	}
	c.control(&control.SnapshotRequest{Topic: topic, FromSeq: int64(min(after, wire.MaxSafe))})
	return nil
}

// joinFrames returns the frames that restore the groups. c.mu is held.
func (c *Conn) joinFrames() []frameAppender {
	var frames []frameAppender
	for _, name := range slices.Sorted(maps.Keys(c.joined)) {
		frames = append(frames, &control.JoinGroup{Group: name})
	}
	return frames
}

func (c *Conn) setStatus(s Status) {
	c.mu.Lock()
	changed := c.status.State != s.State || c.status.Err != s.Err
	c.status = s
	c.mu.Unlock()
	if changed {
		c.onStatus.call(s, c.panicked("status callback"))
	}
}

func (c *Conn) report(err error) {
	c.options.Logger.Warn("nova client", "url", c.url, "error", err)
	c.onError.call(err, func(p any) { c.options.Logger.Error("nova client: error callback panicked", "panic", p) })
}

func (c *Conn) panicked(what string) func(any) {
	return func(p any) { c.report(nova.Errorf(nova.Internal, "%s panicked: %v", what, p)) }
}

func (c *Conn) reportExpired(expired []item) {
	for _, it := range expired {
		c.counts.expired.Add(1)
		if !it.answered {
			c.report(nova.Errorf(nova.DeadlineExceeded, "event %s waited more than %v to be sent and was dropped", it.event, c.options.Queue.MaxAge))
		}
	}
}

func (c *Conn) reportLost(lost []item) {
	for _, it := range lost {
		c.counts.unconfirmed.Add(1)
		if !it.answered {
			c.report(errMaybe(it))
		}
	}
}
