package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/ignex/nova/jwtauth"
	"github.com/ignex/nova/server"
)

// given reports whether tokens are asked for.
func (j *jwtSettings) given() bool {
	return j.secret != "" || j.publicKeys != "" || j.keySet != "" || j.KeySetURL != ""
}

// open makes the authenticator, nil when no tokens are asked for. A key set that
// cannot be read now is read later: the issuer being away must not keep the server
// from starting.
func (j *jwtSettings) open(ctx context.Context, logger *slog.Logger) (*jwtauth.Authenticator, error) {
	if !j.given() {
		return nil, nil
	}
	options := j.Options
	options.Secret, options.Logger = []byte(j.secret), logger
	if options.Leeway == 0 {
		options.Leeway = -1
	}
	for _, f := range []struct {
		key, path string
		into      *[]byte
	}{{"jwt.public-key-file", j.publicKeys, &options.PublicKeys}, {"jwt.key-set-file", j.keySet, &options.KeySet}} {
		if f.path == "" {
			continue
		}
		data, err := os.ReadFile(f.path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.key, err)
		}
		if len(bytes.TrimSpace(data)) == 0 {
			return nil, usagef("%s: %s is empty", f.key, f.path)
		}
		*f.into = data
	}
	// It lives until close, longer than ctx: clients that renew while they are sent
	// away are still known.
	auth, err := jwtauth.New(context.WithoutCancel(ctx), options)
	if err != nil {
		return nil, &usageError{"jwt: " + strings.TrimPrefix(err.Error(), "jwtauth: ")}
	}
	if options.KeySetURL != "" {
		reading, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		if err := auth.Refresh(reading); err != nil {
			logger.Warn("the key set cannot be read yet", "url", withoutSecrets(options.KeySetURL), "error", err)
		}
	}
	return auth, nil
}

// withoutSecrets returns an address without its user and query, which may hold a
// password.
func withoutSecrets(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// authenticate says who a token is for, and keeps with the client what the token
// lets it into besides access.topics and access.groups.
func (s *service) authenticate(ctx context.Context, c server.Credentials) (server.Identity, error) {
	id, err := s.auth.Authenticate(ctx, c)
	if err != nil {
		return server.Identity{}, err
	}
	if len(id.Topics) > 0 || len(id.Groups) > 0 {
		if id.Meta == nil {
			id.Meta = map[string]any{}
		}
		id.Meta[grantedKey] = granted{id.Topics, id.Groups}
	}
	return id, nil
}
