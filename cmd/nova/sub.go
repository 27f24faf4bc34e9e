package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/ignex/nova"
	"github.com/ignex/nova/client"
	"github.com/ignex/nova/wire"
)

// subOptions is one nova sub.
type subOptions struct {
	server  serverFlags
	events  []string
	topics  []string
	groups  []string
	count   int
	asJSON  bool
	fromNow bool
}

func newSub() *cobra.Command {
	var o subOptions
	cmd := &cobra.Command{
		Use:   "sub [EVENT...]",
		Short: "Receive events as a client and print them decoded",
		Long: `sub connects as a client, subscribes to topics and prints what it receives: events
to everyone, and those of the topics from their retained history on. With --json each
event is one JSON object a line: event, topic, seq, offset (when the server tells
them) and data. It reconnects by itself and ends with --count events or Ctrl-C.`,
		Example: `  nova sub                                    # events to everyone
  nova sub quote trade --topic equities
  nova sub --topic quakes --count 10 --json | jq .data.place`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.server.resolve(cmd); err != nil {
				return err
			}
			defer o.server.close()
			if o.count < 0 {
				return usagef("--count %d is negative; write how many events to wait for, or 0 for no end", o.count)
			}
			if slices.Contains(o.topics, "") || slices.Contains(o.groups, "") {
				return usagef("--topic and --group need a name")
			}
			o.events = args
			return o.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	o.server.add(cmd)
	f := cmd.Flags()
	f.StringArrayVar(&o.topics, "topic", nil, "subscribe to a topic; may be repeated")
	f.StringArrayVar(&o.groups, "group", nil, "join a group; may be repeated")
	f.IntVar(&o.count, "count", 0, "end after this many events; 0 = no end")
	f.BoolVar(&o.asJSON, "json", false, "one JSON object a line")
	f.BoolVar(&o.fromNow, "from-now", false, "leave the retained history of the topics out")
	return cmd
}

func (o *subOptions) run(ctx context.Context, stdout, stderr io.Writer) error {
	layout, err := o.server.layout(ctx)
	if err != nil {
		return err
	}
	schema, err := nova.SchemaOf(layout)
	if err != nil {
		return err
	}
	s := &subscriber{subOptions: o, layout: layout, wanted: map[uint32]bool{}, out: bufio.NewWriter(stdout), stderr: stderr, end: make(chan error, 1), quiet: true}
	for _, name := range o.events {
		event, err := layout.FindEvent(name)
		if err != nil {
			return err
		}
		s.wanted[event.ID] = true
	}
	options := client.Options{Schema: schema, OnError: s.warn, OnStatus: s.status}
	if o.server.token != "" {
		options.Token = func(context.Context) (string, error) { return o.server.token, nil }
	}
	conn, err := client.New(o.server.socket(), options)
	if err != nil {
		return err
	}
	err = s.receive(ctx, conn)
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	_ = conn.Close(closing) // what was received is, with a goodbye or without
	if flushed := s.out.Flush(); err == nil {
		err = flushed
	}
	return err
}

// subscriber prints what a connection receives.
type subscriber struct {
	*subOptions
	layout *wire.Layout
	wanted map[uint32]bool // empty: all
	stderr io.Writer
	end    chan error // why to stop, nil when the count is reached

	mu      sync.Mutex // guards subs and quiet; callbacks come from several goroutines
	subs    []*client.Subscription
	quiet   bool // the first attempt has no outcome: its error is returned, not shown
	out     *bufio.Writer
	printed int // by the handler alone
	line    []byte
}

func (s *subscriber) receive(ctx context.Context, conn *client.Conn) error {
	conn.ListenAny(s.print)
	options := []client.SubscribeOption{client.Limit(math.MaxInt32)}
	if s.fromNow {
		options = append(options, client.FromNow())
	}
	for _, name := range s.topics {
		sub, err := conn.Subscribe(ctx, name, options...)
		if err != nil {
			return err
		}
		s.mu.Lock()
		s.subs = append(s.subs, sub)
		s.mu.Unlock()
	}
	for _, name := range s.groups {
		if err := conn.JoinGroup(ctx, name); err != nil {
			return err
		}
	}
	if err := conn.Connect(ctx); err != nil {
		if ctx.Err() != nil {
			return errInterrupted
		}
		return s.server.unreachable(err)
	}
	s.mu.Lock()
	s.quiet = false
	s.mu.Unlock()
	select {
	case err := <-s.end:
		return err
	case <-ctx.Done():
		if s.count > 0 {
			return errInterrupted // what was waited for did not come
		}
		return nil
	}
}

// stop ends receive, once.
func (s *subscriber) stop(err error) {
	select {
	case s.end <- err:
	default:
	}
}

// warn shows an error that the connection survives, and stops for a topic that
// the server refuses.
func (s *subscriber) warn(err error) {
	s.mu.Lock()
	quiet, subs := s.quiet, s.subs
	s.mu.Unlock()
	for _, sub := range subs {
		if cause := sub.Err(); cause != nil {
			s.stop(cause)
			return
		}
	}
	if !quiet {
		fmt.Fprintf(s.stderr, "nova sub: %s\n", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
}

func (s *subscriber) status(now client.Status) {
	if now.State == client.Closed && now.Err != nil {
		s.stop(now.Err)
	}
}

// subLine is one event as --json prints it.
type subLine struct {
	Event  string          `json:"event"`
	Topic  string          `json:"topic,omitempty"`
	Seq    uint64          `json:"seq,omitempty"`
	Offset uint64          `json:"offset,omitempty"`
	Data   json.RawMessage `json:"data"`
}

// print handles one event, in order.
func (s *subscriber) print(_ context.Context, d nova.Delivery) error {
	if d.Event == nil || len(s.wanted) > 0 && !s.wanted[d.Event.ID] || s.count > 0 && s.printed >= s.count {
		return nil
	}
	data, err := s.layout.AppendJSON(s.line[:0], d.Event.Table, d.Payload)
	if err != nil {
		return fmt.Errorf("decode %s: %w", d.Event.Name, err)
	}
	s.line = data
	if s.asJSON {
		out := json.NewEncoder(s.out)
		out.SetEscapeHTML(false)
		if err := errors.Join(out.Encode(subLine{d.Event.Name, d.Topic, d.Seq, d.Offset, data}), s.out.Flush()); err != nil {
			s.stop(fmt.Errorf("write output: %w", err))
			return nil
		}
	} else if err := s.human(d, data); err != nil {
		s.stop(fmt.Errorf("write output: %w", err))
		return nil
	}
	if s.printed++; s.printed == s.count {
		s.stop(nil)
	}
	return nil
}

// human prints one event as a row: time, event, place, values.
func (s *subscriber) human(d nova.Delivery, data []byte) error {
	place := "everyone"
	if d.Topic != "" {
		place = d.Topic
		if d.Offset > 0 {
			place = fmt.Sprintf("%s@%d", d.Topic, d.Offset)
		}
	} else if len(s.topics) > 0 || len(s.groups) > 0 {
		place = "-" // the server does not say
	}
	fmt.Fprintf(s.out, "%s  %-12s  %-14s  %s\n", time.Now().Format("15:04:05.000"), d.Event.Name, place, data)
	return s.out.Flush()
}
