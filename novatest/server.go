// Package novatest runs a server in memory, so that applications test what they
// do with nova without opening a port. Hub, server and client are the real ones;
// only the network between them is pipes. It works within testing/synctest, where
// time is the test's own.
//
//	srv := novatest.New(t, novatest.Options{Hub: hub.Options{Schema: market.Schema}})
//	conn := srv.Dial(client.Options{Schema: market.Schema})
//	orders := novatest.Received(srv, market.TradeEvent)
package novatest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/client"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/server"
)

// URL is the address that clients of a Server dial. Its host does not matter;
// a query may be added.
const URL = "ws://novatest.invalid/ws"

// patience bounds what the end of a test waits for.
const patience = 10 * time.Second

// Options configure the parts of a Server. Only Hub.Schema is required.
type Options struct {
	Hub    hub.Options
	Server server.Options
}

// Server is a hub and a server in memory. All methods may be called from any
// goroutine.
type Server struct {
	tb   testing.TB
	hub  *hub.Hub
	srv  *server.Server
	http *http.Server
	lis  *listener
}

// New starts a server and ends it, and what Dial made, at the end of the test.
// The test fails when an option is wrong.
func New(tb testing.TB, o Options) *Server {
	tb.Helper()
	h, err := hub.New(o.Hub)
	if err != nil {
		tb.Fatal(err)
	}
	srv, err := server.New(h, o.Server)
	if err != nil {
		tb.Fatal(err)
	}
	s := &Server{tb: tb, hub: h, srv: srv, http: &http.Server{Handler: srv, ReadHeaderTimeout: time.Minute}, lis: newListener()}
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := s.http.Serve(s.lis); !errors.Is(err, http.ErrServerClosed) {
			tb.Errorf("novatest: serve: %v", err)
		}
	})
	tb.Cleanup(func() {
		srv.Close()
		if err := s.http.Close(); err != nil {
			tb.Errorf("novatest: close: %v", err)
		}
		serving.Wait()
		s.lis.drop()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := h.Close(ctx); err != nil {
			tb.Errorf("novatest: close the hub: %v", err)
		}
	})
	return s
}

// Hub returns the hub, to publish and to handle with.
func (s *Server) Hub() *hub.Hub { return s.hub }

// Server returns the server, for what it can do to connections.
func (s *Server) Server() *server.Server { return s.srv }

// Dial returns a connected client, which is closed at the end of the test. The
// test fails when it cannot connect. o.NetDial is set.
func (s *Server) Dial(o client.Options) *client.Conn {
	s.tb.Helper()
	o.NetDial = s.NetDial
	conn, err := client.Dial(s.tb.Context(), URL, o)
	if err != nil {
		s.tb.Fatal(err)
	}
	s.tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := conn.Close(ctx); err != nil {
			s.tb.Errorf("novatest: close a client: %v", err)
		}
	})
	return conn
}

// NetDial reaches the server, whatever the address: for client.Options, and for
// http.Transport.DialContext.
func (s *Server) NetDial(ctx context.Context, _, _ string) (net.Conn, error) { return s.lis.dial(ctx) }

// Drop cuts all connections, as a network does, and lets none in until Restore.
// Sessions live on for as long as the hub keeps them.
func (s *Server) Drop() { s.lis.down(true) }

// Restore lets connections in again; clients come back when their delay is over.
func (s *Server) Restore() { s.lis.down(false) }

// received is how many values a channel of Received holds.
const received = 1024

// Received returns what clients send of an event from now on. A test that takes
// none of 1,024 values fails.
func Received[T any](s *Server, event nova.Event[T]) <-chan *T {
	values := make(chan *T, received)
	s.tb.Cleanup(event.On(s.hub, func(_ context.Context, _ *nova.Client, v *T) error {
		select {
		case values <- v:
		default:
			s.tb.Errorf("novatest: more than %d values of %s that nobody took", received, event.Name())
		}
		return nil
	}))
	return values
}
