package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ignex/nova"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/wire"
)

// demoOptions is one nova demo.
type demoOptions struct {
	addr    string
	rate    float64
	rateSet bool
	seed    uint64
	schema  string
	feed    string
	event   string
	speed   float64
	topic   string
	loop    bool
	verbose bool
}

// synthetic is the feed that needs no file.
const synthetic = "synthetic"

func newDemo() *cobra.Command {
	var o demoOptions
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Serve a live feed and a page that shows it",
		Long: `demo serves a WebSocket at /ws, a page at /, the schema at /schema, the state at
/health, and for this machine only the HTTP API at /api and the clients at /clients.
Without --schema it is a market: quotes and trades on topic equities, a portfolio every
second to everyone, and chat rooms; the page cuts its own connection on request. With
--schema and --feed it replays a file of events (NDJSON or CSV) as fast as their time
or ts field says, times --speed; 0 is as fast as possible.`,
		Example: `  nova demo
  nova demo --addr 127.0.0.1:8080 --rate 500
  nova demo --schema examples/seismic/schema.json --feed examples/seismic/earthquakes.ndjson --speed 10000`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.rateSet = cmd.Flags().Changed("rate")
			return o.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.addr, "addr", ":3000", "address to listen on")
	f.Float64Var(&o.rate, "rate", 40, "events a second; 0 = no synthetic feed")
	f.Uint64Var(&o.seed, "seed", 1, "seed of the synthetic feed")
	f.StringVar(&o.schema, "schema", "", "schema file instead of the market's")
	f.StringVar(&o.feed, "feed", "", "file of events (.ndjson, .csv), or synthetic")
	f.StringVar(&o.event, "event", "", "event that the lines of the file are")
	f.Float64Var(&o.speed, "speed", 1, "replay this many times faster; 0 = as fast as possible")
	f.StringVar(&o.topic, "topic", "", "topic of the feed (default equities, or the event's name)")
	f.BoolVar(&o.loop, "loop", false, "start the file again at its end")
	f.BoolVar(&o.verbose, "verbose", false, "log to standard error")
	return cmd
}

func (o *demoOptions) run(ctx context.Context, stdout, stderr io.Writer) error {
	if err := o.check(); err != nil {
		return err
	}
	schema := market.Schema
	if o.schema != "" {
		layout, err := loadLayout(o.schema)
		if err != nil {
			return err
		}
		if schema, err = nova.SchemaOf(layout); err != nil {
			return err
		}
	}
	event, err := o.feedEvent(schema.Layout())
	if err != nil {
		return err
	}
	listener, err := listen(ctx, o.addr)
	if err != nil {
		return err
	}
	logger := slog.New(slog.DiscardHandler)
	if o.verbose {
		logger = slog.New(slog.NewTextHandler(stderr, nil))
	}
	d := &demo{demoOptions: o, schema: schema, event: event, stdout: stdout, logger: logger}
	return d.serve(ctx, listener)
}

// check refuses values of flags that make no sense, and combinations.
func (o *demoOptions) check() error {
	switch {
	case !(o.rate >= 0 && o.rate <= 1e6):
		return usagef("--rate %g is out of range; write events a second between 0 and 1000000", o.rate)
	case !(o.speed >= 0 && o.speed <= 1e9):
		return usagef("--speed %g is out of range; write a factor, or 0 for as fast as possible", o.speed)
	case o.feed == synthetic && o.schema != "":
		return usagef("the synthetic feed is the market's; leave --schema out, or give --feed FILE")
	case o.event != "" && !o.replays():
		return usagef("--event says what the lines of a file are; give the file with --feed FILE")
	}
	return nil
}

// replays reports whether a file is fed.
func (o *demoOptions) replays() bool { return o.feed != "" && o.feed != synthetic }

// feedEvent finds the event of the file, nil without a file, and the topic.
func (o *demoOptions) feedEvent(layout *wire.Layout) (*wire.Event, error) {
	if !o.replays() {
		if o.topic == "" && o.schema == "" {
			o.topic = equities
		}
		return nil, nil
	}
	if o.event == "" && len(layout.Events) == 1 {
		o.event = layout.Events[0].Name
	}
	if o.event == "" {
		var names []string
		for _, e := range layout.Events {
			names = append(names, e.Name)
		}
		return nil, usagef("which event are the lines of %s? write --event with one of %s", o.feed, strings.Join(names, ", "))
	}
	event, err := layout.FindEvent(o.event)
	if err != nil {
		return nil, err
	}
	if o.topic == "" {
		o.topic = event.Name
		if o.schema == "" {
			o.topic = equities
		}
	}
	return event, checkFeed(o.feed, layout, event)
}

// pageURL is how a browser on this machine reaches a listener.
func pageURL(listener net.Listener) string {
	addr, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		return "http://" + listener.Addr().String()
	}
	host := addr.IP.String()
	if addr.IP.IsUnspecified() {
		host = "localhost"
	} else if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return fmt.Sprintf("http://%s:%d", host, addr.Port)
}
