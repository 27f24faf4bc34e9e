package client_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/client"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/wire"
)

// within bounds a test's waits.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func receive[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-within(t).Done():
		t.Fatal("nothing came")
		panic("unreachable")
	}
}

type handle = func(context.Context, *nova.Client, *market.GetQuoteRequest) (*market.Quote, error)

func (r *real) handle(t *testing.T, fn handle) {
	t.Helper()
	if _, err := market.GetQuoteCall.Handle(r.hub, fn); err != nil {
		t.Fatal(err)
	}
}

func get(ctx context.Context, to nova.Caller, symbol string) (*market.Quote, error) {
	return market.GetQuoteCall.Do(ctx, to, &market.GetQuoteRequest{Symbol: symbol})
}

// lockedText is a log of several goroutines.
type lockedText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedText) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func TestCall(t *testing.T) {
	var logged lockedText
	var denied atomic.Bool
	r := newReal(t, false, hub.Options{
		Logger: slog.New(slog.NewTextHandler(&logged, nil)),
		AuthorizePublish: func(_ context.Context, _ *nova.Client, e *wire.Event) error {
			if denied.Load() && e.Name == "getQuote" {
				return errors.New("it is a secret why")
			}
			return nil
		},
	}, server.Options{})
	c := r.dial(t, client.Options{})
	if _, err := get(within(t), c, "AAPL"); nova.CodeOf(err) != nova.Unimplemented || !strings.Contains(err.Error(), "getQuote") {
		t.Errorf("without a handler: %v", err)
	}
	r.handle(t, func(ctx context.Context, from *nova.Client, in *market.GetQuoteRequest) (*market.Quote, error) {
		if until, ok := ctx.Deadline(); !ok || time.Until(until) > 20*time.Second {
			t.Errorf("deadline %v, %v", until, ok)
		}
		switch in.Symbol {
		case "missing":
			return nil, nova.Errorf(nova.NotFound, "no symbol %q", in.Symbol)
		case "broken":
			return nil, errors.New("the database is at 10.0.0.7")
		case "panic":
			panic("at the disco")
		case "nothing":
			return nil, nil
		case "nested":
			return nil, nova.Errorf(nova.UnknownOutcome, "elsewhere")
		}
		return &market.Quote{Symbol: from.ID() + nova.TraceOf(ctx), Bid: 1.5}, nil
	})
	const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	q, err := get(nova.WithTrace(within(t), trace), c, "AAPL")
	if err != nil || q.Bid != 1.5 || q.Symbol != c.ClientID()+trace {
		t.Fatalf("%+v, %v", q, err)
	}
	for symbol, want := range map[string]string{
		"missing": `not_found: no symbol "missing"`,
		"broken":  "internal: internal error",
		"panic":   "internal: internal error",
		"nothing": "internal: internal error",
		"nested":  "internal: internal error",
	} {
		if _, err := get(within(t), c, symbol); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", symbol, err, want)
		}
	}
	denied.Store(true)
	if _, err := get(within(t), c, "AAPL"); err == nil || err.Error() != "denied: not allowed to call getQuote" {
		t.Errorf("not allowed: %v", err)
	}
	// Of errors that come within a second the log has the first; a panic is one of its own.
	if log := logged.String(); !strings.Contains(log, "at the disco") ||
		!strings.Contains(log, "10.0.0.7") && !strings.Contains(log, "the value is nil") && !strings.Contains(log, "elsewhere") {
		t.Errorf("the log does not name the causes:\n%s", log)
	}
	calls := r.hub.Metrics().Calls
	if calls[nova.OK] != 1 || calls[nova.Internal] != 4 || calls[nova.NotFound] != 1 || calls[nova.Denied] != 1 || calls[nova.Unimplemented] != 1 {
		t.Errorf("counted %v", calls)
	}
}

// A handler calls the client that called it, over the same connection, also when that
// client has sent more events than its inbox holds before it answers.
func TestCallBackFromHandler(t *testing.T) {
	r := newReal(t, false, hub.Options{}, server.Options{})
	r.handle(t, func(ctx context.Context, from *nova.Client, in *market.GetQuoteRequest) (*market.Quote, error) {
		return get(ctx, from, in.Symbol+" "+nova.TraceOf(ctx))
	})
	results := make(chan error, 1)
	market.ChatEvent.On(r.hub, func(ctx context.Context, from *nova.Client, in *market.Chat) error {
		if in.Text == "call me" {
			_, err := get(ctx, from, "event")
			results <- err
		}
		return nil
	})
	c := r.dial(t, client.Options{Queue: client.Queue{MaxFrames: 2000}})
	_, err := market.GetQuoteCall.On(c, func(ctx context.Context, in *market.GetQuoteRequest) (*market.Quote, error) {
		if in.Symbol == "event" {
			for n := range 600 {
				if err := market.ChatEvent.Send(ctx, c, &market.Chat{Text: fmt.Sprint(n)}); err != nil {
					return nil, err
				}
			}
		}
		return &market.Quote{Symbol: in.Symbol}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	q, err := get(nova.WithTrace(within(t), "trace"), c, "again")
	if err != nil || q.Symbol != "again trace" {
		t.Errorf("%+v, %v", q, err)
	}
	if err := market.ChatEvent.Send(t.Context(), c, &market.Chat{Text: "call me"}); err != nil {
		t.Fatal(err)
	}
	if err := receive(t, results); err != nil {
		t.Error(err)
	}
	if _, err := get(within(t), r.hub.Client(c.ClientID()), "x"); err != nil {
		t.Error(err)
	}
	if _, err := get(within(t), r.hub.Client("nobody"), "x"); nova.CodeOf(err) != nova.NotFound {
		t.Errorf("nobody: %v", err)
	}
}

// The deadline and the cancellation of a call reach the handler, both ways.
func TestCallCancel(t *testing.T) {
	r := newReal(t, false, hub.Options{}, server.Options{})
	ended := make(chan error, 1)
	begun := make(chan *nova.Client, 1)
	wait := func(ctx context.Context, from *nova.Client, in *market.GetQuoteRequest) (*market.Quote, error) {
		begun <- from
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, ctx.Err()
	}
	r.handle(t, wait)
	c := r.dial(t, client.Options{})
	if _, err := market.GetQuoteCall.On(c, func(ctx context.Context, in *market.GetQuoteRequest) (*market.Quote, error) {
		return wait(ctx, nil, in)
	}); err != nil {
		t.Fatal(err)
	}
	for _, to := range []nova.Caller{c, r.hub.Client(c.ClientID())} {
		ctx, cancel := context.WithCancel(within(t))
		failed := make(chan error, 1)
		go func() {
			_, err := get(ctx, to, "x")
			failed <- err
		}()
		receive(t, begun)
		cancel()
		if err := receive(t, failed); nova.CodeOf(err) != nova.Cancelled || !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
		if err := receive(t, ended); !errors.Is(err, context.Canceled) {
			t.Errorf("the handler's context: %v", err)
		}
		ctx, cancel = context.WithTimeout(within(t), 20*time.Millisecond)
		if _, err := get(ctx, to, "x"); nova.CodeOf(err) != nova.DeadlineExceeded {
			t.Errorf("deadline: %v", err)
		}
		cancel()
		receive(t, begun)
		receive(t, ended) // by its own clock or by the caller's word
	}
}

// While a call runs events are handled, in order, and other calls; the 17th is refused.
func TestCallsBesideEvents(t *testing.T) {
	for _, over := range []string{"server", "client"} {
		t.Run(over, func(t *testing.T) {
			r := newReal(t, false, hub.Options{}, server.Options{})
			begun, open := make(chan bool, 100), make(chan bool)
			wait := func(ctx context.Context, _ *nova.Client, in *market.GetQuoteRequest) (*market.Quote, error) {
				begun <- true
				<-open
				return &market.Quote{Symbol: in.Symbol}, nil
			}
			c := r.dial(t, client.Options{})
			to := nova.Caller(c)
			if over == "server" {
				r.handle(t, wait)
			} else {
				to = r.hub.Client(c.ClientID())
				if _, err := market.GetQuoteCall.On(c, func(ctx context.Context, in *market.GetQuoteRequest) (*market.Quote, error) {
					return wait(ctx, nil, in)
				}); err != nil {
					t.Fatal(err)
				}
			}
			var calls sync.WaitGroup
			for n := range 16 {
				calls.Go(func() {
					if q, err := get(within(t), to, fmt.Sprint(n)); err != nil || q.Symbol != fmt.Sprint(n) {
						t.Errorf("call %d: %+v, %v", n, q, err)
					}
				})
			}
			for range 16 {
				receive(t, begun)
			}
			if _, err := get(within(t), to, "17"); nova.CodeOf(err) != nova.Exhausted {
				t.Errorf("the 17th: %v", err)
			}
			texts := make(chan string, 10)
			market.ChatEvent.On(r.hub, func(_ context.Context, _ *nova.Client, m *market.Chat) error {
				texts <- m.Text
				return nil
			})
			for n := range 3 {
				if err := market.ChatEvent.Send(t.Context(), c, &market.Chat{Text: fmt.Sprint(n)}); err != nil {
					t.Fatal(err)
				}
			}
			for n := range 3 {
				if text := receive(t, texts); text != fmt.Sprint(n) {
					t.Errorf("event %q, want %d", text, n)
				}
			}
			close(open)
			calls.Wait()
			if _, err := get(within(t), to, "18"); err != nil {
				t.Errorf("after the others: %v", err)
			}
		})
	}
}

// What a handler publishes reaches its caller before the reply.
func TestReplyBehindEvents(t *testing.T) {
	r := newReal(t, false, hub.Options{}, server.Options{})
	r.handle(t, func(ctx context.Context, from *nova.Client, in *market.GetQuoteRequest) (*market.Quote, error) {
		for n := range 20 {
			to := []nova.Target{nova.Topic("t"), nova.ClientID(from.ID()), nova.Broadcast()}[n%3]
			if err := market.QuoteEvent.Publish(ctx, r.hub, to, &market.Quote{Ts: int64(n)}); err != nil {
				return nil, err
			}
		}
		return &market.Quote{}, nil
	})
	c := r.dial(t, client.Options{})
	if _, err := c.Subscribe(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	var seen atomic.Int64
	market.QuoteEvent.Listen(c, func(_ context.Context, q *market.Quote) error {
		if n := seen.Add(1); q.Ts != (n-1)%20 {
			t.Errorf("quote %d at place %d", q.Ts, n-1)
		}
		return nil
	})
	for round := int64(1); round <= 50; round++ {
		if _, err := get(within(t), c, "x"); err != nil {
			t.Fatal(err)
		}
		if n := seen.Load(); n != 20*round {
			t.Fatalf("round %d: %d events before the reply, want %d", round, n, 20*round)
		}
	}
}

// When the connection is lost, calls fail at once, both ways, and their handlers'
// contexts end.
func TestCallLost(t *testing.T) {
	r := newReal(t, false, hub.Options{}, server.Options{})
	begun, ended := make(chan bool, 2), make(chan error, 2)
	wait := func(ctx context.Context, _ *nova.Client, _ *market.GetQuoteRequest) (*market.Quote, error) {
		begun <- true
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, ctx.Err()
	}
	r.handle(t, wait)
	var socket atomic.Pointer[net.Conn]
	c := r.dial(t, client.Options{
		Reconnect: client.Reconnect{Initial: time.Millisecond},
		NetDial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			socket.Store(&conn)
			return conn, err
		},
	})
	if _, err := market.GetQuoteCall.On(c, func(ctx context.Context, in *market.GetQuoteRequest) (*market.Quote, error) {
		return wait(ctx, nil, in)
	}); err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 2)
	for _, to := range []nova.Caller{c, r.hub.Client(c.ClientID())} {
		go func() {
			_, err := get(within(t), to, "x")
			failed <- err
		}()
		receive(t, begun)
	}
	(*socket.Load()).Close()
	for range 2 {
		if err := receive(t, failed); nova.CodeOf(err) != nova.UnknownOutcome {
			t.Errorf("lost: %v", err)
		}
		if err := receive(t, ended); !errors.Is(err, context.Canceled) {
			t.Errorf("the handler's context: %v", err)
		}
	}
	// An end by Close is told at once, too.
	go func() {
		_, err := get(within(t), c, "x")
		failed <- err
	}()
	receive(t, begun)
	if err := c.Close(within(t)); err != nil {
		t.Fatal(err)
	}
	if err := receive(t, failed); nova.CodeOf(err) != nova.UnknownOutcome {
		t.Errorf("closed: %v", err)
	}
	if _, err := get(within(t), c, "x"); nova.CodeOf(err) != nova.Unavailable {
		t.Errorf("after the end: %v", err)
	}
}

// Over cuts at any moment a call is handled at most once, and never when its caller
// was told that it was not.
func TestCallOnceOverCuts(t *testing.T) {
	r := newReal(t, false, hub.Options{}, server.Options{})
	var mu sync.Mutex
	handled := map[string]int{}
	r.handle(t, func(_ context.Context, _ *nova.Client, in *market.GetQuoteRequest) (*market.Quote, error) {
		mu.Lock()
		defer mu.Unlock()
		handled[in.Symbol]++
		return &market.Quote{Symbol: in.Symbol}, nil
	})
	var socket atomic.Pointer[net.Conn]
	c := r.dial(t, client.Options{
		Reconnect: client.Reconnect{Initial: time.Millisecond, Max: 2 * time.Millisecond},
		NetDial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			socket.Store(&conn)
			return conn, err
		},
	})
	outcome := map[string]nova.Code{}
	var workers sync.WaitGroup
	for w := range 8 {
		workers.Go(func() {
			for n := range 200 {
				symbol := fmt.Sprint(w, ".", n)
				_, err := get(within(t), c, symbol)
				mu.Lock()
				outcome[symbol] = nova.CodeOf(err)
				cut := len(outcome)%40 == 0
				mu.Unlock()
				if cut {
					(*socket.Load()).Close()
				}
			}
		})
	}
	workers.Wait()
	if err := c.Flush(within(t)); err != nil { // what was to be repeated is handled now
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	counts := map[nova.Code]int{}
	for symbol, code := range outcome {
		n := handled[symbol]
		counts[code]++
		switch {
		case code == nova.OK && n != 1, code == nova.Unavailable && n != 0, code == nova.UnknownOutcome && n > 1:
			t.Errorf("%s: outcome %v, handled %d times", symbol, code, n)
		case code != nova.OK && code != nova.Unavailable && code != nova.UnknownOutcome:
			t.Errorf("%s: outcome %v", symbol, code)
		}
	}
	t.Logf("outcomes %v", counts)
	if counts[nova.OK] < 800 || counts[nova.UnknownOutcome] == 0 {
		t.Errorf("outcomes %v", counts)
	}
}

// A call from a handler of events of the same connection would wait for itself.
func TestCallFromReader(t *testing.T) {
	r := newReal(t, false, hub.Options{}, server.Options{})
	c := r.dial(t, client.Options{})
	failed := make(chan error, 1)
	market.QuoteEvent.Listen(c, func(ctx context.Context, _ *market.Quote) error {
		_, err := get(ctx, c, "x")
		failed <- err
		return nil
	})
	if err := market.QuoteEvent.Publish(t.Context(), r.hub, nova.Broadcast(), &market.Quote{}); err != nil {
		t.Fatal(err)
	}
	if err := receive(t, failed); nova.CodeOf(err) != nova.FailedPrecondition {
		t.Error(err)
	}
}

// A call made before the connection waits for it.
func TestCallBeforeConnect(t *testing.T) {
	r := newReal(t, false, hub.Options{}, server.Options{})
	r.handle(t, func(_ context.Context, _ *nova.Client, in *market.GetQuoteRequest) (*market.Quote, error) {
		return &market.Quote{Symbol: in.Symbol}, nil
	})
	c, err := client.New(r.url, client.Options{Schema: market.Schema})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(within(t))
	got := make(chan error, 1)
	go func() {
		_, err := get(within(t), c, "x")
		got <- err
	}()
	ctx, cancel := context.WithTimeout(within(t), 10*time.Millisecond)
	defer cancel()
	if _, err := get(ctx, c, "y"); nova.CodeOf(err) != nova.DeadlineExceeded {
		t.Errorf("no connection in time: %v", err)
	}
	if err := c.Connect(within(t)); err != nil {
		t.Fatal(err)
	}
	if err := receive(t, got); err != nil {
		t.Error(err)
	}
}

func TestOneHandler(t *testing.T) {
	r := newReal(t, false, hub.Options{}, server.Options{})
	answer := func(context.Context, *nova.Client, *market.GetQuoteRequest) (*market.Quote, error) {
		return &market.Quote{}, nil
	}
	off, err := market.GetQuoteCall.Handle(r.hub, answer)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := market.GetQuoteCall.Handle(r.hub, answer); nova.CodeOf(err) != nova.AlreadyExists {
		t.Errorf("a second handler: %v", err)
	}
	off()
	if _, err := market.GetQuoteCall.Handle(r.hub, answer); err != nil {
		t.Error(err)
	}
	off() // of the first, again
	c := r.dial(t, client.Options{})
	if _, err := get(within(t), c, "x"); err != nil {
		t.Error(err)
	}
}

// The base protocol's call, the same event both ways.
func TestRequest(t *testing.T) {
	for _, sessions := range []bool{true, false} {
		t.Run(fmt.Sprint("sessions=", sessions), func(t *testing.T) {
			r := newReal(t, false, hub.Options{Session: hub.SessionOptions{Off: !sessions}}, server.Options{})
			c := r.dial(t, client.Options{})
			ask := func(text string) (*market.Chat, error) {
				return market.ChatEvent.Request(within(t), c, &market.Chat{Text: text})
			}
			if _, err := ask("x"); err == nil || err.Error() != "unknown: no handler for chat" {
				t.Errorf("without a handler: %v", err)
			}
			if _, err := market.ChatEvent.Respond(r.hub, func(_ context.Context, from *nova.Client, m *market.Chat) (*market.Chat, error) {
				switch m.Text {
				case "coded":
					return nil, nova.Errorf(nova.Denied, "not you")
				case "broken":
					return nil, errors.New("secret")
				}
				return &market.Chat{Room: from.ID(), Text: m.Text + "!"}, nil
			}); err != nil {
				t.Fatal(err)
			}
			if m, err := ask("hi"); err != nil || m.Text != "hi!" || m.Room != c.ClientID() {
				t.Errorf("%+v, %v", m, err)
			}
			for text, want := range map[string]string{"coded": "unknown: not you", "broken": "unknown: internal error"} {
				if _, err := ask(text); err == nil || err.Error() != want {
					t.Errorf("%s: %v, want %s", text, err, want)
				}
			}
			if err := c.Flush(within(t)); err != nil {
				t.Error(err)
			}
		})
	}
}
