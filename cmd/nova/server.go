package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ignex/nova"
)

// serverFlags are the flags of commands that talk to a running server.
type serverFlags struct {
	url       string
	token     string
	tokenFile string
	schema    string

	http http.Client
}

// close gives up the connections kept for further requests.
func (s *serverFlags) close() { s.http.CloseIdleConnections() }

func (s *serverFlags) addAddress(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.url, "url", "http://localhost:3000", "address of the server; also from NOVA_URL")
}

func (s *serverFlags) addToken(cmd *cobra.Command, usage string) {
	cmd.Flags().StringVar(&s.token, "token", "", usage)
	cmd.Flags().StringVar(&s.tokenFile, "token-file", "", "file that holds the token")
}

// tokenGiven reports whether the command line has a token.
func (s *serverFlags) tokenGiven(cmd *cobra.Command) bool {
	return cmd.Flags().Changed("token") || s.tokenFile != ""
}

func (s *serverFlags) add(cmd *cobra.Command) {
	s.addAddress(cmd)
	s.addToken(cmd, "bearer token; also from NOVA_TOKEN")
	cmd.Flags().StringVar(&s.schema, "schema", "", "schema file; without it the schema is fetched from the server")
}

// resolve applies the environment and checks the address.
func (s *serverFlags) resolve(cmd *cobra.Command) error {
	if v := os.Getenv("NOVA_URL"); v != "" && !cmd.Flags().Changed("url") {
		s.url = v
	}
	if v := os.Getenv("NOVA_TOKEN"); v != "" && !s.tokenGiven(cmd) {
		s.token = v
	}
	if s.tokenFile != "" {
		if s.token != "" {
			return usagef("--token and --token-file are both given; keep one")
		}
		var err error
		if s.token, err = readTokenFile(s.tokenFile); err != nil {
			return err
		}
	}
	u, err := url.Parse(s.url)
	if err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return usagef("%q is no address of a server; write --url http://localhost:3000", s.url)
	}
	switch u.Scheme {
	case "http", "https":
	case "ws", "wss":
		u.Scheme = "http" + strings.TrimPrefix(u.Scheme, "ws")
	default:
		return usagef("--url %s has the scheme %q; write http:// or https://", s.url, u.Scheme)
	}
	u.Path = strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), "/ws")
	s.url = u.String()
	if transport, ok := http.DefaultTransport.(*http.Transport); ok {
		s.http.Transport = transport.Clone() // its own connections, to close
	}
	return nil
}

// socket returns the address of the server's WebSocket.
func (s *serverFlags) socket() string { return "ws" + strings.TrimPrefix(s.url, "http") + "/ws" }

// do makes one request. The error of a server that is not there says how to
// start or name one.
func (s *serverFlags) do(ctx context.Context, method, path, contentType string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, s.url+path, body)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	if s.token != "" {
		req.Header.Set("Authorization", "Bearer "+s.token)
	}
	resp, err := s.http.Do(req)
	if err != nil {
		return nil, s.unreachable(err)
	}
	return resp, nil
}

// unreachable says in one line why there is no connection and what to do.
func (s *serverFlags) unreachable(err error) error {
	var op *net.OpError
	var name *net.DNSError
	switch {
	case errors.Is(err, context.Canceled):
		return errInterrupted
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("no server at %s (connection refused); start one with nova demo, or name yours with --url", s.url)
	case errors.As(err, &name):
		return fmt.Errorf("no server at %s (unknown host %s); check --url", s.url, name.Name)
	case errors.As(err, &op):
		return fmt.Errorf("no server at %s (%w); check --url", s.url, op)
	}
	var coded *nova.Error
	if errors.As(err, &coded) {
		return fmt.Errorf("%s; check --url", coded.Message)
	}
	return fmt.Errorf("cannot reach %s (%w); check --url", s.url, err)
}

// errInterrupted ends a command on Ctrl-C.
var errInterrupted = errors.New("interrupted")
