package jwtauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/ignex/nova"
	"github.com/ignex/nova/server"
)

// ErrClosed is in the chain of what an Authenticator returns after Close, or after
// the end of the context that New was given.
var ErrClosed = errors.New("the authenticator is closed")

// Authenticator checks tokens. All methods may be called concurrently. Close ends
// it, as does the end of New's context.
type Authenticator struct {
	options Options
	fixed   []key   // Secret, PublicKeys, KeySet
	remote  *remote // KeySetURL; nil = none
	allowed []string
	parser  *jwt.Parser
	ctx     context.Context
	end     context.CancelFunc
}

// Verified is what a valid token brings. Identity.ExpiresAt is exp plus the leeway,
// after which a server closes the connection, unless Map set an earlier end.
type Verified struct {
	Identity  server.Identity
	Claims    Claims
	ExpiresAt time.Time // exp, without the leeway; zero = never
}

// New makes an Authenticator, or says what is wrong with the options. ctx bounds
// its life: after its end every token is refused, because keys would not be kept up
// to date. New does not wait for KeySetURL to be read; Refresh does.
func New(ctx context.Context, options Options) (*Authenticator, error) {
	a := &Authenticator{options: options}
	if err := a.options.setDefaults(); err != nil {
		return nil, err
	}
	if err := a.readFixed(); err != nil {
		return nil, err
	}
	o := &a.options
	parse := []jwt.ParserOption{jwt.WithValidMethods(supported), jwt.WithStrictDecoding(), jwt.WithLeeway(o.Leeway), jwt.WithTimeFunc(o.Now)}
	if o.Issuer != "" {
		parse = append(parse, jwt.WithIssuer(o.Issuer))
	}
	if len(o.Audience) > 0 {
		parse = append(parse, jwt.WithAudience(o.Audience...))
	}
	if o.RequireExpiry {
		parse = append(parse, jwt.WithExpirationRequired())
	}
	a.parser = jwt.NewParser(parse...)
	a.ctx, a.end = context.WithCancel(ctx)
	if o.KeySetURL != "" {
		a.remote = startRemote(a.ctx, o)
	}
	return a, nil
}

// Close ends the background reading and waits for it, at most until ctx ends, whose
// error it then returns. Tokens are refused from now on. It may be called again.
func (a *Authenticator) Close(ctx context.Context) error {
	a.end()
	if a.remote == nil {
		return nil
	}
	return a.remote.wait(ctx)
}

// Refresh reads KeySetURL now and waits for the outcome: at start, for those who
// want no server without keys, or when a key must be withdrawn at once. Without a
// KeySetURL it does nothing. Errors: nova.Unavailable, or that of ctx.
func (a *Authenticator) Refresh(ctx context.Context) error {
	if err := a.closed(); err != nil || a.remote == nil {
		return err
	}
	return a.remote.refresh(ctx, 0)
}

// Authenticate checks the token of a connection; it is made for
// server.Options.Authenticate. The token is that of the credentials, or else of the
// request's Authorization header. Errors are those of Verify.
func (a *Authenticator) Authenticate(ctx context.Context, c server.Credentials) (server.Identity, error) {
	token := c.Token
	if token == "" && c.Request != nil {
		token = bearer(c.Request.Header)
	}
	v, err := a.Verify(ctx, token)
	return v.Identity, err
}

func bearer(h http.Header) string {
	scheme, token, _ := strings.Cut(h.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// Verify checks a token and returns what it says. It waits, at most FetchTimeout,
// only when KeySetURL must be read for a key that is not known. Errors:
// nova.Unauthenticated for a token that is not acceptable; nova.Unavailable when
// the key set could not be read or the Authenticator is closed; that of ctx; a
// *nova.Error of Options.Map as it is.
func (a *Authenticator) Verify(ctx context.Context, token string) (Verified, error) {
	if err := a.closed(); err != nil {
		return Verified{}, err
	}
	if token == "" {
		return Verified{}, refuse(reason("no token; send the header Authorization: Bearer TOKEN"))
	}
	if most := a.options.MaxTokenSize; len(token) > most {
		return Verified{}, refuse(reasonf("a token of %d bytes; at most %d are read", len(token), most))
	}
	if strings.ContainsAny(token, "\r\n") { // which the base64 decoder passes over
		return Verified{}, refuse(errMalformed)
	}
	r, err := a.read(ctx, token)
	if err != nil {
		return Verified{}, refuse(err)
	}
	v, err := a.identify(ctx, r.claims.claims)
	if err != nil {
		return Verified{}, refuse(err)
	}
	if exp, _ := r.claims.GetExpirationTime(); exp != nil {
		v.ExpiresAt = exp.Time
		end := exp.Add(a.options.Leeway)
		if at := &v.Identity.ExpiresAt; at.IsZero() || at.After(end) {
			*at = end
		}
	}
	return v, nil
}

// read parses the token, a second time if a newer key set may change the outcome.
func (a *Authenticator) read(ctx context.Context, token string) (*reading, error) {
	if a.remote == nil {
		return a.parse(token, nil)
	}
	before := a.remote.keys.Load()
	r, err := a.parse(token, *before)
	if !r.unknown {
		return r, err
	}
	if failed := a.remote.refresh(ctx, a.options.UnknownKeyInterval); failed != nil {
		return r, failed
	}
	if after := a.remote.keys.Load(); after != before {
		return a.parse(token, *after)
	}
	return r, err
}

// identify makes an identity of claims.
func (a *Authenticator) identify(ctx context.Context, c Claims) (v Verified, err error) {
	o, id := &a.options, &v.Identity
	v.Claims = c
	for _, m := range []struct {
		claim string
		to    *string
	}{{o.UserClaim, &id.UserID}, {o.ClientClaim, &id.ClientID}} {
		if m.claim == "" {
			continue
		}
		if *m.to, err = c.name(m.claim); err != nil {
			return v, err
		}
	}
	for _, m := range []struct {
		claim string
		to    *[]string
	}{{o.GroupsClaim, &id.Groups}, {o.TopicsClaim, &id.Topics}} {
		if m.claim == "" {
			continue
		}
		if *m.to, err = c.names(m.claim); err != nil {
			return v, err
		}
	}
	if o.Map != nil {
		if err := o.Map(ctx, c, id); nova.CodeOf(err) == nova.Unknown {
			return v, fmt.Errorf("map claims: %w", err)
		} else if err != nil {
			return v, err
		}
	}
	if id.UserID == "" {
		return v, reasonf("no claim %q to take the user from", o.UserClaim)
	}
	return v, nil
}

func (a *Authenticator) closed() error {
	if a.ctx.Err() == nil {
		return nil
	}
	return nova.Errorf(nova.Unavailable, "jwt: %w", ErrClosed)
}
