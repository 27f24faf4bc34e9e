// Package realserver is the Go server that tests of both clients run against, over
// real sockets. It obeys one command a line:
//
//	publish TOPIC FIRST COUNT SIZE   chats whose ts counts from FIRST, with texts of SIZE bytes
//	stream TOPIC RATE SECONDS        quotes of 1,000 symbols, RATE a second; their number is the answer
//	handled                          the texts of all chats that clients sent, comma separated
//	call SYMBOL                      calls getQuote of the one client, and prints the symbol of the answer or the error
//	called                           the symbols that clients called getQuote with, comma separated
//
// and answers each with one line. The text of a chat is the decimal numbers ts,
// ts+7919, ts+2·7919 …, a comma behind each, cut to its size.
package realserver

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
)

// Server is a running server. Its methods may be called from any goroutine.
type Server struct {
	URL string // where clients connect

	commands commands
	server   *server.Server
	web      *http.Server
	served   chan error
}

// Start starts a server with the flags of args; what it logs goes to log.
func Start(args []string, log io.Writer) (*Server, error) {
	ho, so, err := parse(args, log)
	if err != nil {
		return nil, err
	}
	h, err := hub.New(ho)
	if err != nil {
		return nil, err
	}
	s := &Server{commands: commands{hub: h}, served: make(chan error, 1)}
	if s.server, err = server.New(h, so); err != nil {
		return nil, err
	}
	if err := s.commands.register(); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s.URL = fmt.Sprintf("ws://%s/ws", l.Addr())
	mux := http.NewServeMux()
	mux.Handle("/ws", s.server)
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, page) })
	s.web = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { s.served <- s.web.Serve(l) }()
	return s, nil
}

// Obey does what a line says and returns the answer.
func (s *Server) Obey(line string) string { return s.commands.obey(line) }

// Close ends the server and waits for it.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	s.server.Close()
	err := errors.Join(s.commands.hub.Close(ctx), s.web.Close())
	<-s.served
	return err
}

// page is for browsers; whoever drives them puts the script in.
const page = `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><script type="module" src="/script.js"></script>`

func parse(args []string, log io.Writer) (ho hub.Options, so server.Options, err error) {
	flags := flag.NewFlagSet("realserver", flag.ContinueOnError)
	flags.SetOutput(log)
	flags.DurationVar(&ho.Session.TTL, "ttl", time.Minute, "how long a session outlives its socket, negative = not at all")
	flags.IntVar(&ho.Backpressure.MaxFrames, "frames", 0, "frames of up to 64 KiB that may wait for one client, 0 = default")
	flags.IntVar(&ho.History.Size, "history", 0, "events a topic keeps, 0 = default")
	flags.IntVar(&so.MaxMessageSize, "max-message", 0, "bytes of one message, 0 = default")
	flags.Float64Var(&so.RateLimit.MessagesPerSecond, "rate", 0, "messages a second of one client, half as many at once, beyond that it is closed; 0 = no limit")
	auth := flags.Bool("auth", false, "tokens say who a client is, also by frame; see people")
	verbose := flags.Bool("log", false, "log everything")
	flags.Func("origin", "a browser origin that may connect", func(text string) error {
		so.Origins = append(so.Origins, text)
		return nil
	})
	flags.IntVar(&so.Compression.Level, "compress", 0, "level of compression, 0 = off")
	if err := flags.Parse(args); err != nil {
		return ho, so, err
	}
	ho.Schema = market.Schema
	ho.Backpressure.MaxBytes = ho.Backpressure.MaxFrames << 16
	if so.RateLimit.MessagesPerSecond > 0 {
		so.RateLimit.Burst, so.RateLimit.Policy = int(so.RateLimit.MessagesPerSecond/2), server.LimitClose
	}
	if *auth {
		so.Authenticate, so.LateAuth = people, 10*time.Second
	}
	if *verbose {
		so.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		ho.Logger = so.Logger
	}
	return ho, so, nil
}
