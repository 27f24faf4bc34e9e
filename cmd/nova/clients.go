package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
)

// clientRecord is one client as GET /clients tells of it.
type clientRecord struct {
	ID          string          `json:"id"`
	UserID      string          `json:"userId,omitempty"`
	Meta        json.RawMessage `json:"meta,omitempty"`
	Groups      []string        `json:"groups"`
	Topics      []string        `json:"topics"`
	ConnectedAt time.Time       `json:"connectedAt"`
	IP          string          `json:"ip"`
	Connected   bool            `json:"connected"`
	Queued      int             `json:"queued"`
}

// clientsOptions is one nova clients.
type clientsOptions struct {
	admin    adminFlags
	id       string
	watch    bool
	interval time.Duration
	asJSON   bool
}

func newClients() *cobra.Command {
	var o clientsOptions
	cmd := &cobra.Command{
		Use:   "clients [ID]",
		Short: "List the clients of a running server, or show one",
		Long: `clients lists who is connected, and whose session waits for them to come back. With
an id it shows that client with its topics and groups. --watch shows it again every
--interval until Ctrl-C. --json prints the answer of the server as one line each time.`,
		Example: `  nova clients --token-file admin.token
  nova clients 7f6c1f0e-8a44-4f1e-9d5e-0a6c8a1b7e11 --watch
  nova clients --json | jq -r '.[] | select(.queued > 100) | .id'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("unexpected argument %q; name one client, or none for all", args[1])
			}
			if len(args) == 1 && args[0] == "" {
				return usagef("the id is empty; name one client, or none for all")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.admin.resolve(cmd); err != nil {
				return err
			}
			defer o.admin.close()
			if o.interval < 100*time.Millisecond || o.interval > 24*time.Hour {
				return usagef("--interval %s is out of range; write a time between 100ms and 24h", o.interval)
			}
			if len(args) == 1 {
				o.id = args[0]
			}
			return o.run(cmd.Context(), cmd.OutOrStdout())
		},
	}
	o.admin.add(cmd)
	f := cmd.Flags()
	f.BoolVar(&o.watch, "watch", false, "show it again and again until Ctrl-C")
	f.DurationVar(&o.interval, "interval", 2*time.Second, "time between two looks, with --watch")
	f.BoolVar(&o.asJSON, "json", false, "print JSON, one line each time")
	return cmd
}

func (o *clientsOptions) run(ctx context.Context, stdout io.Writer) error {
	for {
		if err := o.look(ctx, stdout); err != nil || !o.watch {
			return err
		}
		if sleepUntil(ctx, time.Now().Add(o.interval)) != nil {
			return nil // Ctrl-C is how a watch ends
		}
	}
}

// look asks once and prints.
func (o *clientsOptions) look(ctx context.Context, stdout io.Writer) error {
	var list []json.RawMessage
	if err := o.admin.request(ctx, http.MethodGet, "/clients", nil, &list); err != nil {
		if o.watch && ctx.Err() != nil {
			return nil
		}
		return err
	}
	records := make([]clientRecord, len(list))
	for i, text := range list {
		if err := json.Unmarshal(text, &records[i]); err != nil {
			return fmt.Errorf("the answer of %s/clients is not what nova serve sends (%w); check --url", o.admin.url, err)
		}
	}
	one := -1
	if o.id != "" {
		if one = slices.IndexFunc(records, func(r clientRecord) bool { return r.ID == o.id }); one < 0 {
			return fmt.Errorf("there is no client %q; nova clients lists all", o.id)
		}
	}
	if o.watch && !o.asJSON && isTerminal(stdout) {
		fmt.Fprint(stdout, "\x1b[H\x1b[2J") // cursor to the top left, screen empty
	}
	switch {
	case o.asJSON && one >= 0:
		return json.NewEncoder(stdout).Encode(list[one])
	case o.asJSON:
		return json.NewEncoder(stdout).Encode(list)
	case one >= 0:
		return printClient(stdout, &records[one])
	}
	return printClients(stdout, records)
}

func printClients(stdout io.Writer, records []clientRecord) error {
	slices.SortFunc(records, func(a, b clientRecord) int { return a.ConnectedAt.Compare(b.ConnectedAt) })
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	connected := 0
	if len(records) > 0 {
		fmt.Fprintln(table, "ID\tUSER\tFOR\tIP\tQUEUED\tTOPICS\tGROUPS")
	}
	for i := range records {
		r := &records[i]
		if r.Connected {
			connected++
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\t%d\t%d\n", r.ID, dash(r.UserID), r.age(), r.place(), r.Queued, len(r.Topics), len(r.Groups))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(stdout, "%s, %s connected\n", count(len(records), "client"), grouped(connected))
	return err
}

func printClient(stdout io.Writer, r *clientRecord) error {
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	state := "connected"
	if !r.Connected {
		state = "away"
	}
	fmt.Fprintf(table, "id\t%s\nuser\t%s\nstate\t%s\nsince\t%s (%s)\nip\t%s\nqueued\t%s\ntopics\t%s\ngroups\t%s\n",
		r.ID, dash(r.UserID), state, r.ConnectedAt.UTC().Format(time.RFC3339), r.age(), dash(r.IP), count(r.Queued, "frame"),
		dash(strings.Join(r.Topics, ", ")), dash(strings.Join(r.Groups, ", ")))
	if len(r.Meta) > 0 {
		fmt.Fprintf(table, "meta\t%s\n", r.Meta)
	}
	return table.Flush()
}

// place is where a client is: its address, or away.
func (r *clientRecord) place() string {
	if !r.Connected {
		return "away"
	}
	return dash(r.IP)
}

// age is how long ago the client came, in the largest unit that says enough.
func (r *clientRecord) age() string {
	d := max(time.Since(r.ConnectedAt), 0)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// dash stands for nothing in a table.
func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
