package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/wire"
)

// PublishOptions changes [PublishHandler]. The zero value serves requests from
// this machine only.
type PublishOptions struct {
	// Token is the bearer token a request must bring. Default: none; then only
	// requests from a loopback address that no proxy forwarded are served.
	Token string
	// Authorize decides instead of Token when set. Its error is the answer; one
	// without a code is denied.
	Authorize func(*http.Request) error
	// MaxRequest bounds one JSON body or one NDJSON line, in bytes. Default 1 MiB.
	MaxRequest int
	// Logger gets the cause of errors that are answered as internal. Default silent.
	Logger *slog.Logger
}

// Bounds of what the handler remembers of idempotency keys (docs/protocol.md,
// "HTTP API").
const (
	maxIdempotencyKey = 64
	idempotencyTime   = 2 * time.Minute
	idempotencyKeys   = 65_536
)

// PublishHandler serves POST /api/publish: typed events from JSON. The body is
// one request {"event", "target"?, "data", "idempotencyKey"?}, or, with content
// type application/x-ndjson, one a line. The answer is {"members", "offset"} or
// {"code", "message", "pointer"} with the code's HTTP status; for NDJSON one such
// line each, in order, while the body is still being sent.
func PublishHandler(hub nova.Hub, layout *wire.Layout, opts PublishOptions) http.Handler {
	if opts.MaxRequest <= 0 {
		opts.MaxRequest = 1 << 20
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return &publisher{hub: hub, layout: layout, opts: opts, keys: map[string]*firstResult{}}
}

// publisher is safe for concurrent use.
type publisher struct {
	hub    nova.Hub
	layout *wire.Layout
	opts   PublishOptions

	mu    sync.Mutex // guards keys and order
	keys  map[string]*firstResult
	order []*firstResult // as first seen
}

// firstResult is what a repeated idempotency key is answered with.
type firstResult struct {
	key    string
	since  time.Time
	done   chan struct{} // closed when result is final
	result nova.Result
	ok     bool
}

// publishError is the body of a refusal.
type publishError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Pointer string `json:"pointer"` // RFC 6901, into the request

	status int
}

type publishResult struct {
	Members  int    `json:"members"`
	Offset   uint64 `json:"offset"`
	Repeated bool   `json:"repeated,omitempty"`
}

func refuse(code nova.Code, pointer, format string, args ...any) *publishError {
	return &publishError{Code: code.String(), Message: fmt.Sprintf(format, args...), Pointer: pointer, status: code.HTTPStatus()}
}

func (p *publisher) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	bad := needPost(w, r)
	if bad == nil {
		bad = p.authorize(r)
	}
	kind := jsonType
	if bad == nil {
		kind, bad = needType(r, jsonType, linesType)
	}
	switch {
	case bad != nil:
		answer(w, bad)
	case kind == linesType:
		p.lines(w, r)
	default:
		p.single(w, r)
	}
}

func answer(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if bad, ok := body.(*publishError); ok {
		w.WriteHeader(bad.status)
	}
	_ = json.NewEncoder(w).Encode(body) // the client is gone: nobody to tell
}

func (p *publisher) authorize(r *http.Request) *publishError {
	switch {
	case p.opts.Authorize != nil:
		if err := p.opts.Authorize(r); err != nil {
			code := nova.CodeOf(err)
			if code == nova.Unknown {
				code = nova.Denied
			}
			return refuse(code, "", "%s", messageOf(err))
		}
	case p.opts.Token != "":
		if !equal(bearer(r), p.opts.Token) {
			return refuse(nova.Unauthenticated, "", "missing or wrong token; send Authorization: Bearer TOKEN")
		}
	case !fromLoopback(r):
		return refuse(nova.Denied, "", "this server has no token and takes publishes from its own machine only")
	}
	return nil
}

// fromLoopback reports whether the request was made on this machine, for this
// machine: not passed on by a proxy, and not by a page whose host name was
// rebound to a loopback address.
func fromLoopback(r *http.Request) bool {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !peer.Addr().Unmap().IsLoopback() {
		return false
	}
	if r.Header.Get("Forwarded") != "" || r.Header.Get("X-Forwarded-For") != "" {
		return false
	}
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || err == nil && addr.IsLoopback()
}

func (p *publisher) single(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(p.opts.MaxRequest)))
	var tooBig *http.MaxBytesError
	switch {
	case errors.As(err, &tooBig):
		answer(w, refuse(nova.Invalid, "", "the body is longer than %d bytes; send less, or application/x-ndjson with one request a line", p.opts.MaxRequest))
		return
	case err != nil:
		answer(w, refuse(nova.Invalid, "", "the body cannot be read: %v", err))
		return
	}
	result, bad := p.publish(r.Context(), body)
	if bad != nil {
		answer(w, bad)
		return
	}
	answer(w, result)
}

// lines answers each line as it comes and flushes when no more is buffered.
func (p *publisher) lines(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	// HTTP/1.1 would otherwise read the rest of the body before the first answer.
	// Where it is refused (HTTP/2, tests) both directions run anyway.
	_ = control.EnableFullDuplex()
	in := lineReader{in: bufio.NewReaderSize(r.Body, 32<<10), max: p.opts.MaxRequest}
	line, err := in.next()
	if err != nil && err != io.EOF && !errors.Is(err, errLongLine) {
		answer(w, refuse(nova.Invalid, "", "the body cannot be read: %v", err))
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("Cache-Control", "no-store")
	out := json.NewEncoder(w)
	for ; err != io.EOF; line, err = in.next() {
		var reply any
		switch {
		case errors.Is(err, errLongLine):
			reply = refuse(nova.Invalid, "", "the line is longer than %d bytes", p.opts.MaxRequest)
		case err != nil:
			// The status is sent; a last line says why there are no more.
			_ = out.Encode(refuse(nova.Invalid, "", "the body cannot be read: %v", err))
			return
		default:
			if len(bytes.TrimSpace(line)) == 0 {
				continue
			}
			result, bad := p.publish(r.Context(), line)
			if reply = result; bad != nil {
				reply = bad
			}
		}
		if out.Encode(reply) != nil {
			return
		}
		if in.in.Buffered() == 0 && control.Flush() != nil {
			return
		}
	}
}

var errLongLine = errors.New("line too long")

// lineReader reads lines of bounded length.
type lineReader struct {
	in   *bufio.Reader
	max  int
	line []byte
}

// next returns the next line, valid until the next call. After errLongLine, which
// stands for one whole line, reading can go on; io.EOF comes alone.
func (l *lineReader) next() ([]byte, error) {
	l.line = l.line[:0]
	long := false
	for {
		part, err := l.in.ReadSlice('\n')
		if long = long || len(l.line)+len(part) > l.max+1; !long {
			l.line = append(l.line, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err != nil && (err != io.EOF || len(l.line) == 0 && !long):
			return nil, err
		case long:
			return nil, errLongLine
		}
		return l.line, nil
	}
}

// publish checks and publishes one request.
func (p *publisher) publish(ctx context.Context, body []byte) (publishResult, *publishError) {
	q, bad := readRequest(body)
	if bad != nil {
		return publishResult{}, bad
	}
	event, err := p.layout.FindEvent(q.event)
	if err != nil {
		return publishResult{}, refuse(nova.NotFound, "/event", "%s", err)
	}
	frame, err := p.layout.AppendFrameJSON(nil, event, q.data)
	if err != nil {
		var at *wire.JSONError
		if errors.As(err, &at) {
			return publishResult{}, refuse(nova.Invalid, "/data"+at.Pointer, "%s", at.Message)
		}
		return publishResult{}, refuse(nova.Invalid, "/data", "%s", err)
	}
	publication := nova.Publication{Event: event, Target: q.target, Frame: frame, Durable: true, API: true,
		Unsafe: p.layout.CheckInt64(event.Table, frame[wire.HeaderLen:])}
	if q.key == "" {
		return p.hand(ctx, publication)
	}
	return p.once(ctx, q.key, publication)
}

// hand gives a publication to the hub.
func (p *publisher) hand(ctx context.Context, publication nova.Publication) (publishResult, *publishError) {
	result, err := p.hub.PublishFrame(ctx, publication)
	if err == nil {
		return publishResult{Members: result.Members, Offset: result.Offset}, nil
	}
	code := nova.CodeOf(err)
	if code == nova.Unknown || code == nova.Internal {
		p.opts.Logger.Error("publish over HTTP", "event", publication.Event.Name, "error", err)
		return publishResult{}, refuse(nova.Internal, "", "internal error")
	}
	return publishResult{}, refuse(code, "", "%s", messageOf(err))
}

func messageOf(err error) string {
	var coded *nova.Error
	if errors.As(err, &coded) {
		return coded.Message
	}
	return err.Error()
}

// once publishes for the first request with a key; the others get its result.
// A failed publish leaves no trace: the next request with the key tries again.
func (p *publisher) once(ctx context.Context, key string, publication nova.Publication) (publishResult, *publishError) {
	for {
		entry, mine := p.claim(key)
		if mine {
			result, bad := p.hand(ctx, publication)
			p.settle(entry, result, bad == nil)
			return result, bad
		}
		select {
		case <-entry.done:
		case <-ctx.Done():
			return publishResult{}, refuse(nova.CodeOf(ctx.Err()), "", "waiting for the first request with this idempotency key: %v", ctx.Err())
		}
		if entry.ok {
			return publishResult{Members: entry.result.Members, Offset: entry.result.Offset, Repeated: true}, nil
		}
	}
}

// claim returns the entry of a key and whether the caller made it.
func (p *publisher) claim(key string) (*firstResult, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	for len(p.order) > 0 && (len(p.order) >= idempotencyKeys || now.Sub(p.order[0].since) > idempotencyTime) {
		if p.keys[p.order[0].key] == p.order[0] {
			delete(p.keys, p.order[0].key)
		}
		p.order[0] = nil
		p.order = p.order[1:]
	}
	if entry := p.keys[key]; entry != nil {
		return entry, false
	}
	entry := &firstResult{key: key, since: now, done: make(chan struct{})}
	p.keys[key] = entry
	p.order = append(p.order, entry)
	return entry, true
}

func (p *publisher) settle(entry *firstResult, result publishResult, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	entry.result, entry.ok = nova.Result{Members: result.Members, Offset: result.Offset}, ok
	if !ok && p.keys[entry.key] == entry {
		delete(p.keys, entry.key)
	}
	close(entry.done)
}
