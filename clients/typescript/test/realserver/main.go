// Command realserver is the Go server that the scenarios of the TypeScript client
// run against. It prints its address, then obeys one command a line:
//
//	publish TOPIC FIRST COUNT SIZE   chats whose ts counts from FIRST, with texts of SIZE bytes
//	stream TOPIC RATE SECONDS        quotes of 1,000 symbols, RATE a second; their number is the answer
//	handled                          the texts of all chats that clients sent, comma separated
//	call SYMBOL                      calls getQuote of the one client, and prints the symbol of the answer or the error
//	called                           the symbols that clients called getQuote with, comma separated
//
// and answers each with one line. It ends with its standard input. The text of a chat
// is the decimal numbers ts, ts+7919, ts+2·7919 …, a comma behind each, cut to its size.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
)

func main() {
	var ho hub.Options
	var so server.Options
	flag.DurationVar(&ho.Session.TTL, "ttl", time.Minute, "how long a session outlives its socket, negative = not at all")
	flag.IntVar(&ho.Backpressure.MaxFrames, "frames", 0, "frames of up to 64 KiB that may wait for one client, 0 = default")
	flag.IntVar(&ho.History.Size, "history", 0, "events a topic keeps, 0 = default")
	flag.IntVar(&so.MaxMessageSize, "max-message", 0, "bytes of one message, 0 = default")
	flag.Float64Var(&so.RateLimit.MessagesPerSecond, "rate", 0, "messages a second of one client, half as many at once, beyond that it is closed; 0 = no limit")
	auth := flag.Bool("auth", false, "tokens say who a client is, also by frame; see people")
	verbose := flag.Bool("log", false, "log everything to standard error")
	flag.Func("origin", "a browser origin that may connect", func(text string) error {
		so.Origins = append(so.Origins, text)
		return nil
	})
	flag.IntVar(&so.Compression.Level, "compress", 0, "level of compression, 0 = off")
	flag.Parse()
	ho.Backpressure.MaxBytes = ho.Backpressure.MaxFrames << 16
	if so.RateLimit.MessagesPerSecond > 0 {
		so.RateLimit.Burst, so.RateLimit.Policy = int(so.RateLimit.MessagesPerSecond/2), server.LimitClose
	}
	if *auth {
		so.Authenticate, so.LateAuth = people, 10*time.Second
	}
	if *verbose {
		so.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
		ho.Logger = so.Logger
	}
	ho.Schema = market.Schema
	if err := run(ho, so); err != nil {
		log.Fatal(err)
	}
}

func run(ho hub.Options, so server.Options) (err error) {
	h, err := hub.New(ho)
	if err != nil {
		return err
	}
	s, err := server.New(h, so)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/ws", s)
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, page) })
	web := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- web.Serve(l) }()
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		s.Close()
		err = errors.Join(err, h.Close(ctx), web.Close())
		<-served
	}()
	c := commands{hub: h}
	market.ChatEvent.On(h, c.handle)
	if _, err := market.GetQuoteCall.Handle(h, c.quote); err != nil {
		return err
	}
	if _, err := market.ChatEvent.Respond(h, c.respond); err != nil {
		return err
	}
	fmt.Printf("ws://%s/ws\n", l.Addr())
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		fmt.Println(c.obey(lines.Text()))
	}
	return lines.Err()
}

// page is for browsers; whoever drives them puts the script in.
const page = `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><script type="module" src="/script.js"></script>`

type commands struct {
	hub *hub.Hub

	mu      sync.Mutex
	handled []string
	called  []string
}

// quote answers with the symbol, or does what it says.
func (c *commands) quote(ctx context.Context, from *nova.Client, in *market.GetQuoteRequest) (*market.Quote, error) {
	c.mu.Lock()
	c.called = append(c.called, in.Symbol)
	c.mu.Unlock()
	switch in.Symbol {
	case "missing":
		return nil, nova.Errorf(nova.NotFound, "no symbol %q", in.Symbol)
	case "broken":
		return nil, errors.New("a secret")
	case "wait":
		<-ctx.Done()
		c.mu.Lock()
		c.called = append(c.called, ctx.Err().Error())
		c.mu.Unlock()
		return nil, ctx.Err()
	case "back":
		return market.GetQuoteCall.Do(ctx, from, in)
	case "events":
		for ts := range int64(20) {
			if err := market.ChatEvent.Publish(ctx, c.hub, nova.ClientID(from.ID()), &market.Chat{Ts: ts}); err != nil {
				return nil, err
			}
		}
	case "trace":
		return &market.Quote{Symbol: nova.TraceOf(ctx)}, nil
	}
	return &market.Quote{Symbol: in.Symbol, Bid: 1.5}, nil
}

func (c *commands) respond(_ context.Context, _ *nova.Client, m *market.Chat) (*market.Chat, error) {
	if m.Text == "no" {
		return nil, nova.Errorf(nova.Denied, "not you")
	}
	return &market.Chat{Text: m.Text + "!"}, nil
}

func (c *commands) call(symbol string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	clients := c.hub.Clients()
	if len(clients) != 1 {
		return fmt.Sprintf("error: %d clients", len(clients))
	}
	if symbol == "hurry" {
		ctx, cancel = context.WithTimeout(ctx, 20*time.Millisecond)
		defer cancel()
	}
	q, err := market.GetQuoteCall.Do(nova.WithTrace(ctx, "00-trace"), clients[0], &market.GetQuoteRequest{Symbol: symbol})
	if err != nil {
		return err.Error()
	}
	return q.Symbol
}

func (c *commands) handle(_ context.Context, _ *nova.Client, m *market.Chat) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handled = append(c.handled, m.Text)
	return nil
}

func (c *commands) obey(line string) string {
	if symbol, ok := strings.CutPrefix(line, "call "); ok {
		return c.call(symbol)
	}
	if line == "handled" || line == "called" {
		c.mu.Lock()
		defer c.mu.Unlock()
		if line == "called" {
			return strings.Join(c.called, ",")
		}
		return strings.Join(c.handled, ",")
	}
	var topic string
	var rate, seconds int
	if _, err := fmt.Sscanf(line, "stream %s %d %d", &topic, &rate, &seconds); err == nil {
		return c.stream(topic, rate, seconds)
	}
	var first, count int64
	var size int
	if _, err := fmt.Sscanf(line, "publish %s %d %d %d", &topic, &first, &count, &size); err != nil {
		return fmt.Sprintf("error: %q: %v", line, err)
	}
	for ts := first; ts < first+count; ts++ {
		m := &market.Chat{Room: topic, Text: text(ts, size), Ts: ts}
		if err := market.ChatEvent.Publish(context.Background(), c.hub, nova.Topic(topic), m); err != nil {
			return fmt.Sprintf("error: chat %d: %v", ts, err)
		}
	}
	return "ok"
}

func text(ts int64, size int) string {
	b := make([]byte, 0, size+20)
	for n := ts; len(b) < size; n += 7919 {
		b = append(strconv.AppendInt(b, n, 10), ',')
	}
	return string(b[:size])
}

// stream publishes in steps of 2 ms, as feeds do that gather what came.
func (c *commands) stream(topic string, rate, seconds int) string {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	done, begin := 0, time.Now()
	for now := begin; now.Sub(begin) < time.Duration(seconds)*time.Second; now = <-tick.C {
		for due := int(now.Sub(begin).Seconds() * float64(rate)); done < due; done++ {
			q := &market.Quote{Symbol: fmt.Sprintf("S%03d", done%1000), Bid: float64(done), Ask: 1, Ts: int64(done)}
			if err := market.QuoteEvent.Publish(context.Background(), c.hub, nova.Topic(topic), q); err != nil {
				return fmt.Sprintf("error: quote %d: %v", done, err)
			}
		}
	}
	return strconv.Itoa(done)
}
