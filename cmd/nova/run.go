package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ignex/nova/cmd/nova/config"
	"github.com/ignex/nova/schema"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// usageError is a mistake in the command line itself: exit code 2.
type usageError struct{ message string }

func (e *usageError) Error() string { return e.message }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

// run executes one command line and returns its exit code. Errors go to stderr,
// one line each; it never prints usage unasked.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd := root
	err := unknownCommand(root, args)
	if err == nil {
		cmd, err = root.ExecuteContextC(ctx)
	}
	if err == nil {
		return exitOK
	}
	report(stderr, cmd, err)
	var usage *usageError
	if errors.As(err, &usage) {
		return exitUsage
	}
	return exitFailed
}

// report writes an error: problems of a schema each with its place and the line of the file,
// anything else behind the name of the command, on one line unless it is a text
// to copy.
func report(w io.Writer, cmd *cobra.Command, err error) {
	var problems schema.Errors
	if errors.As(err, &problems) {
		fmt.Fprintln(w, problems.Detail())
		return
	}
	fmt.Fprintf(w, "%s: %s\n", cmd.CommandPath(), err)
}

// shells are those that cobra writes completions for.
var shells = []string{"bash", "fish", "powershell", "zsh"}

// unknownCommand reports a first word that is no command. Cobra's own error
// takes several lines and, behind an unknown flag, names the flag.
func unknownCommand(root *cobra.Command, args []string) error {
	if len(args) > 1 && args[0] == "help" { // cobra's help answers with that of nova
		args = args[1:]
	}
	if len(args) == 0 || strings.HasPrefix(args[0], "-") || strings.HasPrefix(args[0], "__") {
		return nil
	}
	name := args[0]
	if name == "completion" && len(args) > 1 && !strings.HasPrefix(args[1], "-") && !slices.Contains(shells, args[1]) {
		return usagef("there is no completion for %q; write one of %s", args[1], strings.Join(shells, ", "))
	}
	if name == "help" || name == "completion" {
		return nil
	}
	for _, c := range root.Commands() {
		if c.Name() == name || c.HasAlias(name) {
			return nil
		}
	}
	if near := root.SuggestionsFor(name); len(near) > 0 {
		return usagef("unknown command %q; did you mean %q? (all: nova --help)", name, near[0])
	}
	return usagef("unknown command %q; nova --help lists all", name)
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "nova",
		Short: "Typed binary real-time events between Go servers and browsers",
		Long: `nova serves, generates and inspects typed binary real-time events
(FlatBuffers over WebSocket) between Go servers and browsers.`,
		Example: `  nova demo                                        a live server and page on http://localhost:3000
  nova generate --schema schema.json --go events   Go code from a schema
  nova sub --topic equities                        events of a running server, decoded
  nova pub chat '{"room":"lobby","text":"hi","ts":0}' --topic lobby`,
		Version:                    readVersion().String(),
		SilenceErrors:              true,
		SilenceUsage:               true,
		SuggestionsMinimumDistance: 2,
		Args:                       cobra.ArbitraryArgs, // run checks the first word
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("nova {{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(newDemo(), newServe(), newConfig(), newGenerate(), newCheck(), newDocs(), newPub(), newSub(), newCall(), newClients(), newDisconnect(), newHealth(), newVersion())
	return root
}

// flagError makes one line of a wrong flag.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		name := unknown.GetSpecifiedName()
		if short := unknown.GetSpecifiedShortnames(); short != "" {
			return usagef("unknown flag -%s; %s --help lists all", name, cmd.CommandPath())
		}
		if near := nearestFlag(cmd, name); near != "" {
			return usagef("unknown flag --%s; did you mean --%s?", name, near)
		}
		return usagef("unknown flag --%s; %s --help lists all", name, cmd.CommandPath())
	}
	var value *config.ValueError
	if errors.As(err, &value) {
		return usagef("%s", value)
	}
	return usagef("%s; see %s --help", err, cmd.CommandPath())
}

// nearestFlag finds the flag that was probably meant, by the search that cobra
// has for commands.
func nearestFlag(cmd *cobra.Command, name string) string {
	flags := &cobra.Command{SuggestionsMinimumDistance: 2}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		flags.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
	})
	if near := flags.SuggestionsFor(name); len(near) > 0 {
		return near[0]
	}
	return ""
}

// noArgs refuses arguments.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("unexpected argument %q; see %s --help", args[0], cmd.CommandPath())
	}
	return nil
}
