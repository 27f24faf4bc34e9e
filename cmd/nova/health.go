package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"
)

// healthOptions is one nova health.
type healthOptions struct {
	server  serverFlags
	timeout time.Duration
}

func newHealth() *cobra.Command {
	var o healthOptions
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Tell by the exit code whether a server takes connections",
		Long: `health asks a server's /readyz and ends with 0 when it is ready, else with 1: for the
health check of a container that has no shell. The certificate of a server on this
machine is not checked, since it is made for another name.`,
		Example: `  nova health
  nova health --url https://events.example.com --timeout 2s`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.server.resolve(cmd); err != nil {
				return err
			}
			defer o.server.close()
			if o.timeout <= 0 {
				return usagef("--timeout %s is out of range; write a time such as 3s", o.timeout)
			}
			return o.run(cmd.Context(), cmd.OutOrStdout())
		},
	}
	o.server.addAddress(cmd)
	cmd.Flags().DurationVar(&o.timeout, "timeout", 3*time.Second, "time to wait for the answer")
	return cmd
}

func (o *healthOptions) run(ctx context.Context, stdout io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	if transport, ok := o.server.http.Transport.(*http.Transport); ok && onThisMachine(o.server.url) {
		transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} // it never leaves this machine
	}
	o.server.token = "" // the route is open
	resp, err := o.server.do(ctx, http.MethodGet, "/readyz", "", nil)
	if err != nil {
		if ctx.Err() == context.DeadlineExceeded {
			return fmt.Errorf("%s did not answer within %s", o.server.url, o.timeout)
		}
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		var answer struct{ Status string }
		_ = json.NewDecoder(io.LimitReader(resp.Body, 1<<10)).Decode(&answer) // a proxy may answer otherwise
		return fmt.Errorf("%s is not ready: %s %s", o.server.url, resp.Status, answer.Status)
	}
	_, err = fmt.Fprintln(stdout, "ready")
	return err
}

// onThisMachine reports whether an address is a loopback one.
func onThisMachine(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}
