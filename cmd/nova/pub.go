package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/ignex/nova/wire"
)

// pubOptions is one nova pub.
type pubOptions struct {
	server  serverFlags
	event   string
	from    string
	target  pubTarget
	skipBad bool
	asJSON  bool
}

// pubTarget is who receives; none is everyone.
type pubTarget struct {
	Topic  string `json:"topic,omitempty"`
	Group  string `json:"group,omitempty"`
	User   string `json:"user,omitempty"`
	Client string `json:"client,omitempty"`
	Except string `json:"except,omitempty"`
}

// check refuses two targets, and an empty one: an unset shell variable must not
// turn a message to one into a message to all.
func (t *pubTarget) check(cmd *cobra.Command) error {
	given := ""
	for _, name := range []string{"topic", "group", "user", "client"} {
		f := cmd.Flags().Lookup(name)
		switch {
		case !f.Changed:
			continue
		case f.Value.String() == "":
			return usagef("--%s is empty; name one, or leave the flag out to reach everyone", name)
		case given != "":
			return usagef("--%s and --%s exclude each other; keep one", given, name)
		}
		given = name
	}
	if cmd.Flags().Changed("except") && t.Except == "" {
		return usagef("--except is empty; name a client, or leave the flag out")
	}
	return nil
}

func newPub() *cobra.Command {
	var o pubOptions
	cmd := &cobra.Command{
		Use:   "pub EVENT [JSON | - | --from FILE]",
		Short: "Publish typed events from JSON, NDJSON or CSV",
		Long: `pub publishes events over the server's HTTP API. Each JSON object is checked against
the schema first: the file given with --schema, else the server's own. A file or
standard input (-) holds one object a line; a .csv file has the properties in its
first line. The first bad line ends the command, unless --skip-bad is given.`,
		Example: `  nova pub chat '{"room":"lobby","text":"hello","ts":0}' --topic lobby
  nova pub earthquake --from earthquakes.ndjson --topic quakes
  tail -f quotes.ndjson | nova pub quote - --topic equities --skip-bad`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return usagef("no event given; write nova pub EVENT JSON")
			case len(args) > 2:
				return usagef("unexpected argument %q; quote the JSON so that it is one argument", args[2])
			case len(args) == 2 && o.from != "":
				return usagef("both JSON and --from are given; keep one")
			case len(args) == 2 && strings.TrimSpace(args[1]) == "":
				return usagef("the JSON is empty; write nova pub %s JSON", args[0])
			case len(args) == 1 && o.from == "":
				return usagef("nothing to publish; give JSON, - for standard input, or --from FILE")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.server.resolve(cmd); err != nil {
				return err
			}
			defer o.server.close()
			if err := o.target.check(cmd); err != nil {
				return err
			}
			o.event = args[0]
			text := ""
			if len(args) == 2 {
				text = args[1]
			}
			return o.run(cmd, text)
		},
	}
	o.server.add(cmd)
	f := cmd.Flags()
	f.StringVar(&o.from, "from", "", "file of one JSON object a line, or .csv; - is standard input")
	f.StringVar(&o.target.Topic, "topic", "", "to the subscribers of a topic")
	f.StringVar(&o.target.Group, "group", "", "to the members of a group")
	f.StringVar(&o.target.User, "user", "", "to the sessions of a user")
	f.StringVar(&o.target.Client, "client", "", "to one client id")
	f.StringVar(&o.target.Except, "except", "", "leave out this client id")
	f.BoolVar(&o.skipBad, "skip-bad", false, "report bad lines and go on")
	f.BoolVar(&o.asJSON, "json", false, "print the summary as a JSON object")
	return cmd
}

func (o *pubOptions) run(cmd *cobra.Command, text string) error {
	layout, err := o.server.layout(cmd.Context())
	if err != nil {
		return err
	}
	event, err := layout.FindEvent(o.event)
	if err != nil {
		return err
	}
	in, err := o.open(cmd, layout, event, text)
	if err != nil {
		return err
	}
	defer in.close()
	p := &publishing{pubOptions: o, layout: layout, event: event, source: in.name, stderr: cmd.ErrOrStderr(), bar: in.bar}
	started := time.Now()
	err = p.all(cmd.Context(), in.lines)
	p.took = time.Since(started)
	if in.bar != nil {
		_ = in.bar.Finish() // only draws
	}
	if errors.Is(err, errInterrupted) && p.published > 0 {
		return fmt.Errorf("%w; %s were published", err, grouped(p.published))
	}
	if err != nil {
		return err
	}
	return p.summary(cmd.OutOrStdout())
}

// pubInput is where the lines come from.
type pubInput struct {
	name  string // shown before line numbers
	lines lineSource
	bar   *progressbar.ProgressBar // nil when nobody watches
	file  *os.File
}

func (in *pubInput) close() {
	if in.file != nil {
		_ = in.file.Close() // it was only read
	}
}

func (o *pubOptions) open(cmd *cobra.Command, layout *wire.Layout, event *wire.Event, text string) (*pubInput, error) {
	switch {
	case text == "-" || o.from == "-":
		return &pubInput{name: "standard input", lines: newJSONLines(cmd.InOrStdin())}, nil
	case o.from == "":
		return &pubInput{name: "the JSON", lines: &oneValue{text: text}}, nil
	}
	file, err := openFile(o.from, "--from")
	if err != nil {
		return nil, err
	}
	in := &pubInput{name: o.from, file: file}
	var from io.Reader = file
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() && isTerminal(cmd.ErrOrStderr()) {
		in.bar = progressbar.NewOptions64(info.Size(), progressbar.OptionSetWriter(cmd.ErrOrStderr()), progressbar.OptionShowBytes(true),
			progressbar.OptionSetDescription(o.event), progressbar.OptionClearOnFinish(), progressbar.OptionThrottle(65*time.Millisecond))
		reader := progressbar.NewReader(file, in.bar)
		from = &reader
	}
	in.lines, err = newFileLines(o.from, from, layout, event)
	if err != nil {
		in.close()
		return nil, err
	}
	return in, nil
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// summary tells what was published, how fast.
func (p *publishing) summary(stdout io.Writer) error {
	seconds := p.took.Seconds()
	if p.asJSON {
		return json.NewEncoder(stdout).Encode(struct {
			Published int     `json:"published"`
			Skipped   int     `json:"skipped"`
			Members   int     `json:"members"` // addressed by the last event
			Seconds   float64 `json:"seconds"`
		}{p.published, p.skipped, p.members, seconds})
	}
	to := "everyone"
	for _, t := range []struct{ kind, name string }{{"topic", p.target.Topic}, {"group", p.target.Group}, {"user", p.target.User}, {"client", p.target.Client}} {
		if t.name != "" {
			to = t.kind + " " + t.name
		}
	}
	line := fmt.Sprintf("published %s %s to %s", grouped(p.published), p.event.Name, to)
	if p.published > 1 {
		line += fmt.Sprintf(" in %.2f s (%s/s)", seconds, grouped(int(float64(p.published)/seconds)))
	}
	if p.skipped > 0 {
		line += fmt.Sprintf(", skipped %s", count(p.skipped, "bad line"))
	}
	if p.published > 0 {
		line += fmt.Sprintf("; the last went to %s", count(p.members, "client"))
	}
	_, err := fmt.Fprintln(stdout, line)
	return err
}

// waitDone tells an interrupt from a failure.
func waitDone(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errInterrupted
	}
	return err
}
