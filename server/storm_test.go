package server_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/client"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
)

// crowd are clients that want to stay connected.
type crowd struct {
	conns     []*client.Conn
	back      sync.WaitGroup // reconnected, each once
	recovered atomic.Int64
	closed    atomic.Int64 // given up for good
	received  sync.WaitGroup
}

// newCrowd connects n clients.
func newCrowd(url string, n int) (*crowd, error) {
	c := &crowd{conns: make([]*client.Conn, n)}
	c.back.Add(n)
	c.received.Add(n)
	errs := make([]error, n)
	each(make([]net.Conn, n), func(i int) { c.conns[i], errs[i] = c.connect(url, i) })
	for _, err := range errs {
		if err != nil {
			c.close()
			return nil, err
		}
	}
	return c, nil
}

func (c *crowd) connect(url string, i int) (*client.Conn, error) {
	var once, event sync.Once
	// Other loopback addresses, so that ports do not run out.
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(2+i%8))}}
	conn, err := client.New(url, client.Options{
		Schema: market.Schema, NetDial: dialer.DialContext,
		Reconnect: client.Reconnect{Max: 5 * time.Second},
		OnRecovered: func(recovered bool) {
			once.Do(func() {
				if recovered {
					c.recovered.Add(1)
				}
				c.back.Done()
			})
		},
		OnStatus: func(s client.Status) {
			if s.State == client.Closed && s.Err != nil {
				c.closed.Add(1)
			}
		},
	})
	if err != nil {
		return nil, err
	}
	market.QuoteEvent.Listen(conn, func(context.Context, *market.Quote) error {
		event.Do(c.received.Done)
		return nil
	})
	return conn, conn.Connect(context.Background())
}

func (c *crowd) close() {
	each(make([]net.Conn, len(c.conns)), func(i int) {
		if c.conns[i] != nil {
			c.conns[i].Close(context.Background())
		}
	})
}

// playCrowd is a crowd in a process of its own.
func playCrowd() {
	n, err := strconv.Atoi(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	c, err := newCrowd(os.Args[1], n)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("connected")
	c.back.Wait()
	fmt.Println("back", c.recovered.Load(), c.closed.Load())
	c.received.Wait()
	fmt.Println("received")
	io.Copy(io.Discard, os.Stdin)
}

// switchboard serves the sockets of one server after another at one address.
type switchboard struct{ now atomic.Pointer[server.Server] }

func (s *switchboard) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.now.Load().ServeHTTP(w, r) }

// storm connects n clients to one server, cuts them all off at once, and lets another
// server with an accept rate take them back: all come, with their sessions, none is
// refused for ever, and no more are let in than the rate allows.
func storm(t *testing.T, n int, rate float64, burst int, gather func(url string) (back func() (recovered, closed int64), received func())) {
	h, err := hub.New(hub.Options{Schema: market.Schema})
	if err != nil {
		t.Fatal(err)
	}
	newServer := func(o server.Options) *server.Server {
		srv, err := server.New(h, o)
		if err != nil {
			t.Fatal(err)
		}
		return srv
	}
	first := newServer(server.Options{AcceptRate: -1})
	var board switchboard
	board.now.Store(first)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	web := &http.Server{Handler: &board}
	var serving sync.WaitGroup
	serving.Go(func() { web.Serve(listener) })
	t.Cleanup(func() {
		board.now.Load().Close()
		web.Close()
		serving.Wait()
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	back, received := gather("ws://" + listener.Addr().String())
	second := newServer(server.Options{AcceptRate: rate, AcceptBurst: burst})
	board.now.Store(second)
	began := time.Now()
	first.Close()
	recovered, closed := back()
	took := time.Since(began)
	m := second.Metrics()
	t.Logf("%d clients were back after %v, at %g a second and %d at once; %d upgrades were refused", n, took, rate, burst, m.Refused)
	if recovered != int64(n) || closed != 0 {
		t.Errorf("%d of %d sessions went on, %d clients gave up", recovered, n, closed)
	}
	if m.Connections != n || m.Hub.Sessions != n || m.Hub.Detached != 0 {
		t.Errorf("%d connections, %d sessions, %d of them without a socket; want %d", m.Connections, m.Hub.Sessions, m.Hub.Detached, n)
	}
	if m.Refused == 0 {
		t.Error("nobody was refused: this was no storm")
	}
	if most := float64(burst) + rate*(took.Seconds()+0.1); float64(m.Accepted) > most {
		t.Errorf("%d were let in within %v, more than %g", m.Accepted, took, most)
	}
	var result nova.Result
	if err := market.QuoteEvent.Publish(t.Context(), h, nova.Broadcast(), quote(1), nova.Report(&result)); err != nil || result.Members != n {
		t.Errorf("a publish reaches %d, %v", result.Members, err)
	}
	received()
}

func TestReconnectStorm(t *testing.T) {
	storm(t, 300, 200, 50, func(url string) (func() (int64, int64), func()) {
		c, err := newCrowd(url, 300)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.close)
		return func() (int64, int64) {
			c.back.Wait()
			return c.recovered.Load(), c.closed.Load()
		}, c.received.Wait
	})
}

// TestReconnectStormOfThousands runs with NOVA_STORM=10000 (make storm), the clients in
// a process of their own.
func TestReconnectStormOfThousands(t *testing.T) {
	text := os.Getenv("NOVA_STORM")
	if text == "" {
		return // minutes of both processors: not part of every run
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("NOVA_STORM=%q is no number of clients", text)
	}
	storm(t, n, 1000, 2000, func(url string) (func() (int64, int64), func()) {
		clients := startRole(t, "crowd", url, text)
		t.Cleanup(clients.stop)
		if line := clients.ask(""); line != "connected" {
			t.Fatal(line)
		}
		return func() (recovered, closed int64) {
				line := clients.ask("")
				if _, err := fmt.Sscanf(line, "back %d %d", &recovered, &closed); err != nil {
					t.Fatalf("%q: %v", line, err)
				}
				return recovered, closed
			}, func() {
				if line := clients.ask(""); line != "received" {
					t.Fatal(line)
				}
			}
	})
}
