package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/cmd/nova/page"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/wire"
)

// A demo is watched as a whole: a burst of a few thousand events must not be
// thinned out for a browser that draws, and what was published is there for pages
// that are opened later.
const (
	demoQueue   = 16_384
	demoBytes   = 16 << 20
	demoHistory = 4_096
)

// shutdownTime bounds how long a demo takes to end.
const shutdownTime = 5 * time.Second

// demo is one running server with its feed.
type demo struct {
	*demoOptions
	schema *nova.Schema
	event  *wire.Event // of the file, nil without one
	stdout io.Writer
	logger *slog.Logger

	hub  *hub.Hub
	srv  *server.Server
	last lastQuotes
	pace *feedRate // of the synthetic market; nil without
}

// serve runs until ctx ends, the feed fails or the server does.
func (d *demo) serve(ctx context.Context, listener net.Listener) error {
	defer listener.Close()
	if d.simulates() {
		d.pace = newFeedRate(d.rate)
	}
	options := hub.Options{Schema: d.schema, Logger: d.logger,
		Backpressure: hub.Backpressure{MaxFrames: demoQueue, MaxBytes: demoBytes}, History: hub.History{Size: demoHistory}}
	var err error
	if d.hub, err = hub.New(options); err != nil {
		return err
	}
	if d.srv, err = server.New(d.hub, server.Options{Logger: d.logger, AuthorizeAdmin: server.FromLoopback}); err != nil {
		return errors.Join(err, d.hub.Close(ctx))
	}
	if d.schema == market.Schema {
		market.ChatEvent.On(d.hub, d.chat)
		if _, err = market.GetQuoteCall.Handle(d.hub, d.getQuote); err != nil {
			d.srv.Close()
			return errors.Join(err, d.hub.Close(ctx))
		}
	}
	web := d.srv.HTTPServer(d.routes())
	web.ConnContext, web.ErrorLog = withConn, slog.NewLogLogger(d.logger.Handler(), slog.LevelWarn)
	run, cancel := context.WithCancelCause(ctx)
	var tasks sync.WaitGroup
	tasks.Go(func() {
		if err := web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			cancel(fmt.Errorf("serve: %w", err))
		}
	})
	tasks.Go(func() {
		if err := d.play(run); err != nil && run.Err() == nil {
			cancel(err)
		}
	})
	d.greet(pageURL(listener))
	<-run.Done()
	err = d.shutdown(ctx, web)
	tasks.Wait()
	cancel(nil)
	if ctx.Err() == nil {
		return context.Cause(run)
	}
	return err
}

// shutdown ends sockets, requests and hub, in this order.
func (d *demo) shutdown(ctx context.Context, web *http.Server) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
	defer cancel()
	return errors.Join(d.srv.Shutdown(ctx), web.Shutdown(ctx), d.hub.Close(ctx))
}

func (d *demo) routes() http.Handler {
	layout := d.schema.Layout()
	mux := http.NewServeMux()
	cut := &cutter{}
	mux.Handle("/ws", cut.socket(d.srv))
	mux.Handle("/cut", cut)
	routes := d.srv.Routes()
	for _, path := range []string{"/health", "/healthz", "/readyz", "/clients", "/metrics", "/api/disconnect"} {
		mux.Handle(path, routes)
	}
	mux.Handle("/api/publish", server.PublishHandler(d.hub, layout, server.PublishOptions{Logger: d.logger}))
	mux.HandleFunc("GET /schema", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(layout) // the client is gone: nobody to tell
	})
	config := page.Config{Generic: d.schema != market.Schema, Topics: d.topics()}
	if d.pace != nil {
		mux.Handle("/feed", d.pace)
		config.Feed = "feed"
	}
	mux.Handle("/", page.Handler(config))
	return mux
}

// topics are what the page of any schema subscribes to: the feed's, or one named
// after each event.
func (d *demo) topics() []string {
	if d.topic != "" {
		return []string{d.topic}
	}
	var names []string
	for _, e := range d.schema.Layout().Events {
		names = append(names, e.Name)
	}
	return names
}

func (d *demo) greet(url string) {
	what := "schema " + d.schema.Name()
	switch {
	case d.event != nil:
		what += fmt.Sprintf(", events %s of %s on topic %s", d.event.Name, d.feed, d.topic)
	case d.simulates():
		what += fmt.Sprintf(", %g events a second on topic %s", d.rate, d.topic)
	}
	fmt.Fprintf(d.stdout, "nova demo: %s\n  %s\nCtrl-C ends it.\n", what, url)
}

// chat passes a message on to the topic of its room.
func (d *demo) chat(ctx context.Context, _ *nova.Client, in *market.Chat) error {
	if in.Room == "" {
		return nova.Errorf(nova.Invalid, "the room has no name")
	}
	return market.ChatEvent.Publish(ctx, d.hub, nova.Topic(in.Room), in)
}

// play feeds the hub until ctx ends or the file does.
func (d *demo) play(ctx context.Context) error {
	switch {
	case d.event != nil:
		return d.replay(ctx)
	case d.simulates():
		return d.simulate(ctx)
	}
	return nil
}

// simulates reports whether the synthetic market is the feed.
func (d *demo) simulates() bool { return d.event == nil && d.schema == market.Schema && d.rate > 0 }
