package jwtauth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ignex/nova"
)

// maxKeySetSize bounds the answer of KeySetURL.
const maxKeySetSize = 1 << 20

// remote holds the keys of KeySetURL. One goroutine reads them from time to time;
// each reading runs in a goroutine of its own, one at once, and whoever needs its
// outcome waits for the one under way. Intervals are measured with the monotonic
// clock: a step of the wall clock neither stops nor multiplies readings.
type remote struct {
	options *Options
	client  *http.Client
	keys    atomic.Pointer[[]key] // replaced, never changed
	ctx     context.Context
	running sync.WaitGroup

	mu     sync.Mutex
	flight *flight   // the reading under way, nil = none
	began  time.Time // of the last reading
	last   error     // outcome of the last reading
	closed bool
}

// flight is one reading; err is set when done is closed.
type flight struct {
	done chan struct{}
	err  error
}

func startRemote(ctx context.Context, o *Options) *remote {
	r := &remote{options: o, client: limitRedirects(o), ctx: ctx}
	r.keys.Store(&[]key{})
	r.mu.Lock()
	first := r.begin() // before New returns, so that the first tokens wait for it
	r.mu.Unlock()
	if first != nil {
		r.running.Go(func() { r.run(first) })
	}
	return r
}

// limitRedirects copies the client and lets it follow only where keys are trusted.
func limitRedirects(o *Options) *http.Client {
	client := &http.Client{}
	if o.HTTPClient != nil {
		*client = *o.HTTPClient
	} else {
		// Of its own, so that no connection outlives the Authenticator.
		client.Transport = &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10}
	}
	next := client.CheckRedirect
	client.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if !o.mayRead(req.URL) {
			return errors.New("redirected to an address without TLS")
		}
		if next != nil {
			return next(req, via)
		}
		if len(via) >= 5 {
			return errors.New("redirected more than 5 times")
		}
		return nil
	}
	return client
}

// run waits for the first reading, and reads again and again until the context ends.
func (r *remote) run(f *flight) {
	const first, most = time.Second, time.Minute
	<-f.done
	err, delay := f.err, first
	for {
		wait := r.options.RefreshInterval
		if err != nil {
			wait = min(delay, wait)
			delay = min(2*delay, most)
		} else {
			delay = first
		}
		// Spread, so that a cluster's nodes do not ask all at once.
		timer := time.NewTimer(time.Duration(float64(wait) * (0.9 + 0.2*rand.Float64())))
		select {
		case <-r.ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		err = r.refresh(r.ctx, 0)
	}
}

// refresh waits for a reading: the one under way, or a new one if the last began
// at least so long ago, else it returns that one's outcome.
func (r *remote) refresh(ctx context.Context, age time.Duration) error {
	r.mu.Lock()
	f := r.flight
	if f == nil && time.Since(r.began) < age {
		defer r.mu.Unlock()
		return r.last
	}
	if f == nil {
		f = r.begin()
	}
	r.mu.Unlock()
	if f == nil {
		return nova.Errorf(nova.Unavailable, "jwt: %w", ErrClosed)
	}
	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
		return nova.Errorf(nova.CodeOf(ctx.Err()), "jwt: wait for the key set: %w", ctx.Err())
	}
}

// begin starts a reading; nil = closed. The caller holds mu.
func (r *remote) begin() *flight {
	if r.closed || r.ctx.Err() != nil {
		return nil
	}
	f := &flight{done: make(chan struct{})}
	r.flight, r.began = f, time.Now()
	r.running.Go(func() {
		ctx, cancel := context.WithTimeout(r.ctx, r.options.FetchTimeout)
		defer cancel()
		keys, err := r.fetch(ctx)
		if err == nil {
			r.keys.Store(&keys)
		} else {
			f.err = nova.Errorf(nova.Unavailable, "jwt: read the key set: %w", err)
			if r.ctx.Err() == nil {
				r.options.Logger.Warn("key set not read; the keys of the last reading stay in use", "error", err)
			}
		}
		r.mu.Lock()
		r.flight, r.last = nil, f.err
		r.mu.Unlock()
		close(f.done)
	})
	return f
}

// fetch reads the key set once.
func (r *remote) fetch(ctx context.Context) ([]key, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.options.KeySetURL, nil)
	if err != nil {
		return nil, errors.New("the address is malformed")
	}
	req.Header.Set("Accept", "application/jwk-set+json, application/json")
	resp, err := r.client.Do(req)
	if err != nil {
		// The outer error quotes the address, which may hold a password.
		if outer, ok := errors.AsType[*url.Error](err); ok {
			err = outer.Err
		}
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server answered %d", resp.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxKeySetSize+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxKeySetSize {
		return nil, fmt.Errorf("the answer has more than %d bytes", maxKeySetSize)
	}
	keys, err := parseKeySet(text, false, func(n int, id string, err error) error {
		if err != errNotForTokens {
			r.options.Logger.Warn("key of the key set not used", "number", n, "id", clip(id), "error", err)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("the answer is %w", err)
	}
	usable := keys[:0]
	for _, k := range keys {
		if k.narrow(r.options.Algorithms) {
			usable = append(usable, k)
		}
	}
	return usable, nil
}

// wait ends readings and waits for those under way; the context has ended.
func (r *remote) wait(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	done := make(chan struct{})
	go func() { r.running.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
