package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/ignex/nova"
	"github.com/ignex/nova/client"
	"github.com/ignex/nova/wire"
)

// callOptions is one nova call.
type callOptions struct {
	server  serverFlags
	name    string
	timeout time.Duration
}

// maxRequest bounds the request that standard input holds, in bytes.
const maxRequest = 16 << 20

func newCall() *cobra.Command {
	var o callOptions
	cmd := &cobra.Command{
		Use:   "call NAME [JSON | -]",
		Short: "Make a typed call and print the response as JSON",
		Long: `call connects as a client, makes a call that the schema has, and prints the response
as one line of JSON. The request is checked against the schema first; without one an
empty object is sent. It fails with the code and the message of the handler.`,
		Example: `  nova call getQuote '{"symbol":"AAPL"}'
  jq -c .request file.json | nova call placeOrder - --timeout 30s`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return usagef("no call given; write nova call NAME JSON")
			case len(args) > 2:
				return usagef("unexpected argument %q; quote the JSON so that it is one argument", args[2])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.server.resolve(cmd); err != nil {
				return err
			}
			defer o.server.close()
			if o.timeout <= 0 || o.timeout > 24*time.Hour {
				return usagef("--timeout %s is out of range; write a time up to 24h", o.timeout)
			}
			o.name = args[0]
			text := []byte("{}")
			if len(args) == 2 {
				text = []byte(args[1])
			}
			if string(text) == "-" {
				var err error
				if text, err = readRequest(cmd.InOrStdin()); err != nil {
					return err
				}
			}
			return o.run(cmd.Context(), text, cmd.OutOrStdout())
		},
	}
	o.server.add(cmd)
	cmd.Flags().DurationVar(&o.timeout, "timeout", 10*time.Second, "time to wait for the response, connecting included")
	return cmd
}

func readRequest(in io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(in, maxRequest+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read standard input: %w", err)
	case len(text) > maxRequest:
		return nil, fmt.Errorf("standard input is longer than %d bytes", maxRequest)
	}
	return text, nil
}

func (o *callOptions) run(ctx context.Context, text []byte, stdout io.Writer) error {
	parent := ctx
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	layout, err := o.server.layout(ctx)
	if err != nil {
		return o.late(parent, err)
	}
	call, err := layout.FindCall(o.name)
	if err != nil {
		return err
	}
	request, err := layout.EncodeJSON(nil, call.Request, text)
	if err != nil {
		return fmt.Errorf("the JSON: %w", err)
	}
	response, err := o.exchange(ctx, layout, call, request)
	if err != nil {
		return o.late(parent, err)
	}
	line, err := layout.AppendJSON(nil, call.Response, response)
	if err != nil {
		return fmt.Errorf("the response does not decode: %w", err)
	}
	_, err = fmt.Fprintf(stdout, "%s\n", line)
	return err
}

// late tells an interrupt, and the end of the time, from other errors.
func (o *callOptions) late(parent context.Context, err error) error {
	switch {
	case parent.Err() != nil:
		return errInterrupted
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: no response within %s; --timeout gives it more", o.name, o.timeout)
	}
	return err
}

// exchange connects, makes the call and closes the connection.
func (o *callOptions) exchange(ctx context.Context, layout *wire.Layout, call *wire.Call, request []byte) (response []byte, err error) {
	schema, err := nova.SchemaOf(layout)
	if err != nil {
		return nil, err
	}
	options := client.Options{Schema: schema}
	if o.server.token != "" {
		options.Token = func(context.Context) (string, error) { return o.server.token, nil }
	}
	conn, err := client.Dial(ctx, o.server.socket(), options)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, o.server.unreachable(err)
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		_ = conn.Close(closing) // who was answered has the answer, with a goodbye or without
	}()
	response, err = conn.CallFrame(ctx, call, nova.Encoded{Payload: request, Unsafe: layout.CheckInt64(call.Request, request)})
	var coded *nova.Error
	if err != nil && ctx.Err() == nil && errors.As(err, &coded) {
		return nil, fmt.Errorf("%s: %s (%s)", call.Name, coded.Message, coded.Code)
	}
	return response, err
}
