package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"
)

// disconnectOptions is one nova disconnect, and its request.
type disconnectOptions struct {
	admin  adminFlags
	asJSON bool

	Client string `json:"client,omitempty"`
	User   string `json:"user,omitempty"`
	Code   int    `json:"code,omitempty"`
	Reason string `json:"reason,omitempty"`
}

func newDisconnect() *cobra.Command {
	var o disconnectOptions
	cmd := &cobra.Command{
		Use:   "disconnect ID | --user USER",
		Short: "End the session of a client, or all sessions of a user",
		Long: `disconnect closes the connection of a client and ends its session, whether it is
connected at the moment or not. With code 4403, the default, clients do not come back
by themselves; with 1012 they do, at once, to a new session.`,
		Example: `  nova disconnect 7f6c1f0e-8a44-4f1e-9d5e-0a6c8a1b7e11
  nova disconnect --user alice --reason "account closed"`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch user := cmd.Flags().Changed("user"); {
			case len(args) > 1:
				return usagef("unexpected argument %q; name one client, or a user with --user", args[1])
			case len(args) == 1 && user:
				return usagef("both a client and --user are given; keep one")
			case len(args) == 1 && args[0] == "" || user && o.User == "":
				return usagef("the name is empty; write nova disconnect ID or --user USER")
			case len(args) == 0 && !user:
				return usagef("nobody is named; write nova disconnect ID or --user USER")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch c := o.Code; {
			case c == 1000, c == 1001, c == 1008, c >= 1011 && c <= 1013, c >= 3000 && c <= 4999:
			default:
				return usagef("--code %d cannot be sent; write 1000, 1001, 1008, 1011 to 1013 or 3000 to 4999", c)
			}
			if err := o.admin.resolve(cmd); err != nil {
				return err
			}
			defer o.admin.close()
			if len(args) == 1 {
				o.Client = args[0]
			}
			return o.run(cmd.Context(), cmd.OutOrStdout())
		},
	}
	o.admin.add(cmd)
	f := cmd.Flags()
	f.StringVar(&o.User, "user", "", "all sessions of this user")
	f.IntVar(&o.Code, "code", 4403, "WebSocket close code")
	f.StringVar(&o.Reason, "reason", "", "text that goes with the code")
	f.BoolVar(&o.asJSON, "json", false, "print a JSON object")
	return cmd
}

func (o *disconnectOptions) run(ctx context.Context, stdout io.Writer) error {
	var answer struct {
		Disconnected int `json:"disconnected"`
	}
	if err := o.admin.request(ctx, http.MethodPost, "/api/disconnect", o, &answer); err != nil {
		return err
	}
	if answer.Disconnected == 0 {
		if o.Client != "" {
			return fmt.Errorf("there is no client %q; nova clients lists all", o.Client)
		}
		return fmt.Errorf("user %q has no session; nova clients lists all", o.User)
	}
	if o.asJSON {
		return json.NewEncoder(stdout).Encode(answer)
	}
	_, err := fmt.Fprintf(stdout, "%s ended\n", count(answer.Disconnected, "session"))
	return err
}
