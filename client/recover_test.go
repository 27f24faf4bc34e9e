package client_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/client"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
)

// cutter dials sockets that a test can cut, before or after bytes of its choice.
type cutter struct {
	mu      sync.Mutex
	socket  net.Conn
	dials   int
	live    int // sockets that are not closed
	mostUp  int
	refuses bool
}

type cutConn struct {
	net.Conn
	c    *cutter
	once sync.Once
}

func (c *cutConn) Close() error {
	c.once.Do(func() {
		c.c.mu.Lock()
		defer c.c.mu.Unlock()
		c.c.live--
	})
	return c.Conn.Close()
}

func (c *cutter) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refuses {
		return nil, fmt.Errorf("cut")
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	c.dials++
	c.live++
	c.mostUp = max(c.mostUp, c.live)
	c.socket = conn
	return &cutConn{Conn: conn, c: c}, nil
}

func (c *cutter) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.socket.Close()
}

func (c *cutter) options(t *testing.T, recovered chan<- bool) client.Options {
	return client.Options{
		Reconnect:   client.Reconnect{Initial: time.Millisecond, Max: 2 * time.Millisecond},
		NetDial:     c.dial,
		OnGap:       func(g client.Gap) { t.Errorf("%v", g) },
		OnRecovered: func(ok bool) { recovered <- ok },
	}
}

// take waits for a value; tests have a limit of their own.
func take[T any](t *testing.T, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(20 * time.Second):
		t.Fatal("nothing came in 20 s")
		panic("unreachable")
	}
}

// Every path of delivery survives cuts at any moment: before the first event,
// at the head, twice in a row.
func TestRecover(t *testing.T) {
	r := newReal(t, false, hub.Options{}, server.Options{})
	var cuts cutter
	recovered := make(chan bool, 100)
	c := r.dial(t, cuts.options(t, recovered))
	got := make(chan string, 100)
	c.ListenFrame(market.ChatEvent.Info(), func(_ context.Context, d nova.Delivery) error {
		var m market.Chat
		err := m.UnmarshalNova(d.Payload)
		if d.Seq == 0 {
			t.Errorf("%s is not numbered", m.Text)
		}
		got <- m.Text
		return err
	})
	again := func(times int) {
		t.Helper()
		for range times {
			cuts.cut()
			if !take(t, recovered) {
				t.Fatal("not recovered")
			}
		}
	}
	again(3) // before the first event
	sub, err := c.Subscribe(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.JoinGroup(t.Context(), "g"); err != nil {
		t.Fatal(err)
	}
	again(2) // with the subscription perhaps lost on the way
	targets := map[string]nova.Target{"broadcast": nova.Broadcast(), "topic": nova.Topic("t"), "group": nova.Group("g"), "client": nova.ClientID(c.ClientID())}
	for name, to := range targets {
		reached := func() int {
			var res nova.Result
			if err := market.TradeEvent.Publish(t.Context(), r.hub, to, &market.Trade{}, nova.Report(&res)); err != nil {
				t.Fatal(err)
			}
			return res.Members
		}
		for reached() == 0 { // the request is under way
		}
		for i := range 5 {
			if i%2 == 1 {
				cuts.cut()
			}
			text := fmt.Sprint(name, i)
			if err := market.ChatEvent.Publish(t.Context(), r.hub, to, &market.Chat{Text: text}); err != nil {
				t.Fatal(err)
			}
			if m := take(t, got); m != text {
				t.Errorf("got %s, want %s", m, text)
			}
			if i%2 == 1 && !take(t, recovered) {
				t.Error("not recovered")
			}
		}
		again(2) // at the head
	}
	if sub.Position().Epoch == "" || !sub.Recovered() {
		t.Errorf("position %+v", sub.Position())
	}
	if cuts.mostUp > 1 {
		t.Errorf("%d sockets at once", cuts.mostUp)
	}
}

// A session of another life is not recovered, topics go on from their cursors.
func TestRecoverOtherLife(t *testing.T) {
	r := newReal(t, false, hub.Options{Session: hub.SessionOptions{MaxSessions: 1}}, server.Options{})
	var cuts cutter
	recovered := make(chan bool, 100)
	c := r.dial(t, cuts.options(t, recovered))
	sub, err := c.Subscribe(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	publish := func(ts int64) {
		t.Helper()
		if err := market.QuoteEvent.Publish(t.Context(), r.hub, nova.Topic("t"), &market.Quote{Ts: ts}); err != nil {
			t.Fatal(err)
		}
	}
	publish(1)
	next := int64(1)
	for q, err := range market.QuoteEvent.All(t.Context(), sub) {
		if err != nil || q.Ts != next {
			t.Fatalf("got %+v, %v, want %d", q, err, next)
		}
		next++
		if next == 4 {
			break
		}
		cuts.mu.Lock()
		cuts.refuses = true
		cuts.mu.Unlock()
		cuts.cut()
		for r.srv.Metrics().Connections > 0 || r.hub.Metrics().Detached == 0 {
			runtime.Gosched()
		}
		other := r.dial(t, client.Options{}) // takes the only place
		for r.hub.Metrics().Detached > 0 {
			runtime.Gosched()
		}
		if err := other.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		publish(next)
		cuts.mu.Lock()
		cuts.refuses = false
		cuts.mu.Unlock()
		if take(t, recovered) {
			t.Error("recovered a session that had ended")
		}
	}
}

// Both ways at once over many cuts: everything arrives once and in order.
func TestExactlyOnce(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	const total = 4000
	var cuts cutter
	recovered := make(chan bool, 1000)
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(seed, 0))
	perhaps := func() { // cut
		mu.Lock()
		defer mu.Unlock()
		if rng.IntN(400) == 0 {
			cuts.cut()
		}
	}
	r := newReal(t, false, hub.Options{}, server.Options{})
	handled := make(chan string, 2*total)
	market.ChatEvent.On(r.hub, func(_ context.Context, _ *nova.Client, m *market.Chat) error {
		handled <- m.Text
		perhaps()
		return nil
	})
	c := r.dial(t, cuts.options(t, recovered))
	delivered := make(chan int64, 2*total)
	ahead := make(chan struct{}, 500) // less than what an outage may pile up
	market.TradeEvent.Listen(c, func(_ context.Context, m *market.Trade) error {
		delivered <- m.Ts
		<-ahead
		perhaps()
		return nil
	})
	var wg sync.WaitGroup
	wg.Go(func() {
		for ts := range int64(total) {
			ahead <- struct{}{}
			if err := market.TradeEvent.Publish(t.Context(), r.hub, nova.Broadcast(), &market.Trade{Ts: ts}); err != nil {
				t.Error(err)
			}
		}
	})
	for i := range total {
		err := market.ChatEvent.Send(t.Context(), c, &market.Chat{Text: fmt.Sprint(i)})
		for nova.CodeOf(err) == nova.Exhausted {
			if err = c.Flush(t.Context()); err == nil {
				err = market.ChatEvent.Send(t.Context(), c, &market.Chat{Text: fmt.Sprint(i)})
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range total {
		if m := take(t, handled); m != fmt.Sprint(i) {
			t.Fatalf("the server handled %s, want %d", m, i)
		}
	}
	for i := range int64(total) {
		if ts := take(t, delivered); ts != i {
			t.Fatalf("the client got %d, want %d", ts, i)
		}
	}
	wg.Wait()
	if err := c.Flush(t.Context()); err != nil {
		t.Error(err)
	}
	if len(handled) > 0 || len(delivered) > 0 {
		t.Errorf("%d and %d too many", len(handled), len(delivered))
	}
	for len(recovered) > 0 {
		if !<-recovered {
			t.Error("not recovered")
		}
	}
	n := c.Stats()
	if n.Duplicates != 0 || n.Missing != 0 || n.Unconfirmed != 0 || n.Connects < 6 {
		t.Errorf("%+v", n)
	}
	t.Logf("%+v", n)
	if cuts.mostUp > 1 {
		t.Errorf("%d sockets at once", cuts.mostUp)
	}
}

// More is published during an outage than the session may hold: the server
// declares what is missing, number by number, and nothing else is.
func TestRecoverDeclared(t *testing.T) {
	r := newReal(t, false, hub.Options{Backpressure: hub.Backpressure{MaxFrames: 100}}, server.Options{})
	var cuts cutter
	recovered := make(chan bool, 10)
	gaps := make(chan client.Gap, 1000)
	o := cuts.options(t, recovered)
	o.OnGap = func(g client.Gap) { gaps <- g }
	c := r.dial(t, o)
	type one struct {
		seq uint64
		ts  int64
	}
	got := make(chan one, 1000)
	c.ListenFrame(market.TradeEvent.Info(), func(_ context.Context, d nova.Delivery) error {
		var m market.Trade
		err := m.UnmarshalNova(d.Payload)
		got <- one{d.Seq, m.Ts}
		return err
	})
	publish := func(from, to int64) {
		for ts := from; ts <= to; ts++ {
			if err := market.TradeEvent.Publish(t.Context(), r.hub, nova.Broadcast(), &market.Trade{Ts: ts}); err != nil {
				t.Error(err)
			}
		}
	}
	publish(1, 1)
	take(t, got)
	cuts.mu.Lock()
	cuts.refuses = true
	cuts.mu.Unlock()
	cuts.cut()
	for r.srv.Metrics().Connections > 0 {
	}
	publish(2, 500)
	cuts.mu.Lock()
	cuts.refuses = false
	cuts.mu.Unlock()
	if !take(t, recovered) {
		t.Error("not recovered")
	}
	missing := map[uint64]bool{}
	for next := uint64(2); next <= 500; {
		m := take(t, got)
		for len(gaps) > 0 {
			g := <-gaps
			if g.Topic != "" || g.Reason != client.GapPolicy {
				t.Errorf("%v", g)
			}
			for n := g.From; n <= g.To; n++ {
				missing[n] = true
			}
		}
		if m.seq != uint64(m.ts) {
			t.Errorf("number %d for trade %d", m.seq, m.ts)
		}
		for ; next < m.seq; next++ {
			if !missing[next] {
				t.Errorf("%d neither came nor was declared", next)
			}
		}
		if missing[m.seq] {
			t.Errorf("%d came although declared missing", m.seq)
		}
		next = m.seq + 1
	}
	if len(missing) == 0 || c.Stats().Missing != uint64(len(missing)) {
		t.Errorf("%d declared missing, counted %d", len(missing), c.Stats().Missing)
	}
}

// Connections that come and go leave one socket and one session.
func TestRecoverFlapping(t *testing.T) {
	r := newReal(t, false, hub.Options{}, server.Options{})
	var cuts cutter
	recovered := make(chan bool, 1000)
	c := r.dial(t, cuts.options(t, recovered))
	id := c.ClientID()
	for range 50 {
		cuts.cut()
		if !take(t, recovered) {
			t.Error("not recovered")
		}
	}
	for range 5 {
		if err := c.Pause(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := c.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !take(t, recovered) {
			t.Error("not recovered after a pause")
		}
	}
	for r.srv.Metrics().Connections > 1 { // the server sees a loss a little later
	}
	var res nova.Result
	if err := market.TradeEvent.Publish(t.Context(), r.hub, nova.Broadcast(), &market.Trade{}, nova.Report(&res)); err != nil {
		t.Fatal(err)
	}
	if res.Members != 1 || cuts.mostUp != 1 || c.ClientID() != id {
		t.Errorf("%d sessions, %d sockets at once, id %s then %s", res.Members, cuts.mostUp, id, c.ClientID())
	}
}
