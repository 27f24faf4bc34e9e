package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ignex/nova/cmd/nova/config"
)

// usualConfig is the config file that is read when none is named.
const usualConfig = "nova.yaml"

// serveOptions is one nova serve, or nova config.
type serveOptions struct {
	serveSettings
	set    *config.Set
	config string
	flags  *pflag.FlagSet
}

func newServeOptions(flags *pflag.FlagSet) *serveOptions {
	o := &serveOptions{flags: flags}
	flags.SortFlags = false
	flags.StringVar(&o.config, "config", "", "config file; also from NOVA_CONFIG; default nova.yaml if there is one")
	o.set = o.declare()
	o.set.Bind(flags)
	return o
}

// load reads all settings and checks what one alone cannot tell.
func (o *serveOptions) load() error {
	if o.config == "" && o.flags.Changed("config") {
		return usagef("--config: %v", config.ErrEmpty)
	}
	path, optional := config.Find(o.config, usualConfig)
	err := o.set.Load(path, optional, os.Environ())
	switch {
	case errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission):
		return err
	case err != nil:
		return &usageError{err.Error()}
	}
	return nil
}

func newServe() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve --schema FILE",
		Short: "Serve the events of a schema, for production",
		Long: `serve is a server without a program around it: clients subscribe over the WebSocket,
and whoever has the admin token publishes over POST /api/publish. Every setting is a
flag, a variable (--tls-cert: NOVA_TLS_CERT) and a name in nova.yaml (cert in the
section tls), and counts in this order. nova config shows what holds, and from where.

SIGTERM and Ctrl-C send the clients away and end within --drain, a second one ends at
once. A certificate is read again when its files change, and on SIGHUP.`,
		Example: `  nova serve --schema schema.json --admin-token-file admin.token
  nova serve --config /etc/nova/nova.yaml
  NOVA_JWT_KEY_SET_URL=https://login.example.com/jwks.json nova serve --schema schema.json`,
		Args: noArgs,
	}
	o := newServeOptions(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := o.load(); err != nil {
			return err
		}
		if err := o.check(); err != nil {
			return err
		}
		return o.run(cmd.Context(), cmd.ErrOrStderr())
	}
	return cmd
}

func newConfig() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Print the settings of nova serve and where each is from",
		Long: `config takes the flags, variables and the file that nova serve takes and prints the
outcome as a config file, with the source of every value behind it and *** for
secrets. It fails when they do not go together; of the files they name only those of
tokens and secrets are read.`,
		Example: `  nova config --schema schema.json
  nova config --config /etc/nova/nova.yaml --json | jq '.[] | select(.source != "default")'`,
		Args: noArgs,
	}
	o := newServeOptions(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print an array of {key, value, source}")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := o.load(); err != nil {
			return err
		}
		text, err := o.set.YAML()
		if asJSON {
			text, err = o.set.JSON()
		}
		if err != nil {
			return fmt.Errorf("print settings: %w", err)
		}
		if _, err := fmt.Fprintln(cmd.OutOrStdout(), strings.TrimSuffix(string(text), "\n")); err != nil {
			return err
		}
		return o.check()
	}
	return cmd
}

// check refuses settings that do not go together, in the words they are given in.
func (o *serveOptions) check() error {
	switch {
	case o.schema == "":
		return usagef("no schema is given; write --schema FILE, NOVA_SCHEMA or schema in %s", usualConfig)
	case o.log.MaxBytes > 0 && o.log.MaxBytes < leastLog:
		return usagef("filelog.max-bytes is too small; write 1MiB or more, or 0 for no limit")
	case o.server.MaxPartialBytes < int64(o.server.MaxMessageSize):
		return usagef("max-partial-bytes is smaller than max-message-size; no such message could come in")
	case o.server.RateLimit.MessagesPerSecond == 0 && o.server.RateLimit.Burst > 0:
		return usagef("rate-limit.burst goes with rate-limit.messages; give both")
	case (o.cert == "") != (o.key == ""):
		return usagef("tls.cert and tls.key go together; give both or none")
	}
	for _, check := range []func() error{func() error { return checkPath(o.path) }, o.checkTokens, o.access.check, o.checkRules, o.checkIdle} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// reserved are the paths beside that of the WebSocket.
var reserved = map[string]bool{"/health": true, "/healthz": true, "/readyz": true, "/clients": true, "/metrics": true, "/schema": true, "/debug/nova": true, "/sse": true}

// leastLog is the least bound of a log: its files are a sixteenth of it each.
const leastLog = 1 << 20

// leastToken is the least length of an admin token: shorter ones can be guessed.
const leastToken = 16

// sendable reports whether a header can carry a token as it is.
func sendable(token string) bool {
	return !strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' })
}

func (o *serveOptions) checkTokens() error {
	for key, token := range map[string]string{"admin.token": o.server.AdminToken, "token": o.server.Token} {
		if !sendable(token) {
			return usagef("%s has a character that no header can carry, such as a space or a line break; write letters and digits, such as openssl rand -hex 32 makes", key)
		}
	}
	switch {
	case o.server.AdminToken != "" && len(o.server.AdminToken) < leastToken:
		return usagef("admin.token has %d bytes; write at least %d, such as openssl rand -hex 32 makes", len(o.server.AdminToken), leastToken)
	case o.server.AdminToken != "" && o.server.AdminToken == o.server.Token:
		return usagef("admin.token and token are the same: every client could publish; choose two")
	case o.server.LateAuth > 0 && o.server.Token == "" && !o.jwt.given():
		return usagef("late-auth needs a token to wait for; set token or jwt")
	case o.server.Token != "" && o.jwt.given():
		return usagef("token and jwt exclude each other: a client brings one token; keep one of them")
	case !o.jwt.given():
		for _, setting := range o.set.All() {
			if strings.HasPrefix(setting.Key, "jwt.") && setting.Changed() {
				return usagef("%s is given without a key; add jwt.secret-file, jwt.public-key-file, jwt.key-set-file or jwt.key-set-url", setting.Key)
			}
		}
	}
	return nil
}

func (o *serveOptions) checkRules() error {
	for i, r := range o.topics {
		wrong := func(text string) error {
			return usagef("topics: entry %d (pattern %q): %s", i+1, r.Pattern, text)
		}
		switch {
		case r.Pattern == "":
			return wrong("the pattern is missing; > is every topic")
		case r.Log && o.log.dir == "":
			return wrong("log needs a directory; set filelog.dir")
		case r.Log && r.TTL > 0:
			return wrong("ttl does not go with log; bound the log with filelog.max-age")
		case !r.Log && r.LogPolicy != 0:
			return wrong("log-policy is for topics with log: true")
		}
		if err := checkPattern(r.Pattern); err != nil || strings.Contains(r.Pattern, userPart) {
			return wrong("*, > are parts of their own, > only the last")
		}
	}
	return nil
}

// logger writes to the standard error of the command.
func (o *serveOptions) logger(to io.Writer) *slog.Logger {
	levels := []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} // as log-level has them
	options := &slog.HandlerOptions{Level: levels[o.logLevel]}
	if o.logFormat == jsonLog {
		return slog.New(slog.NewJSONHandler(to, options))
	}
	return slog.New(slog.NewTextHandler(to, options))
}
