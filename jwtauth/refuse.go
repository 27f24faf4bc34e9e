package jwtauth

import (
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/ignex/nova"
)

// reason is why a token is refused, in words of our own: those of the libraries
// may quote the token.
type reason string

func (r reason) Error() string { return string(r) }

func reasonf(format string, args ...any) error { return reason(fmt.Sprintf(format, args...)) }

// errNoKey and errSignature may be mended by a newer key set.
const (
	errNoKey     reason = "no key"
	errSignature reason = "signature is wrong"
)

const errMalformed reason = "not a signed token: three base64url parts, of which the first two are JSON objects"

// clip shortens what a stranger wrote.
func clip(s string) string {
	const most = 64
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}

// refuse makes the error that a caller gets. A reason of our own may be told to the
// client, and so stands alone; what others said is kept as the cause.
func refuse(err error) error {
	var coded *nova.Error
	if errors.As(err, &coded) {
		return err
	}
	if own, ok := err.(reason); ok {
		return nova.Errorf(nova.Unauthenticated, "jwt: %s", string(own))
	}
	return nova.Errorf(nova.Unauthenticated, "jwt: %w", err)
}

// explain puts what the token library found into words.
func (a *Authenticator) explain(r *reading, err error) error {
	var own reason
	c := r.claims.claims
	switch {
	case errors.As(err, &own):
		return own
	case errors.Is(err, jwt.ErrTokenMalformed):
		return errMalformed
	case !r.asked:
		return reason("the token's algorithm is not allowed")
	case errors.Is(err, jwt.ErrTokenSignatureInvalid):
		return errSignature
	case errors.Is(err, jwt.ErrTokenExpired):
		exp, _ := r.claims.GetExpirationTime()
		return reasonf("expired at %s", exp.UTC().Format(time.RFC3339))
	case errors.Is(err, jwt.ErrTokenNotValidYet):
		nbf, _ := r.claims.GetNotBefore()
		return reasonf("not valid before %s", nbf.UTC().Format(time.RFC3339))
	case errors.Is(err, jwt.ErrTokenInvalidIssuer):
		return reasonf("issuer is %q, not %q", clip(fmt.Sprint(c["iss"])), a.options.Issuer)
	case errors.Is(err, jwt.ErrTokenInvalidAudience):
		return reasonf("made for audience %q, not for %q", clip(fmt.Sprint(c["aud"])), a.options.Audience)
	case errors.Is(err, jwt.ErrTokenRequiredClaimMissing):
		for _, m := range []struct {
			claim  string
			needed bool
		}{{"exp", a.options.RequireExpiry}, {"iss", a.options.Issuer != ""}, {"aud", len(a.options.Audience) > 0}} {
			if _, has := c[m.claim]; m.needed && !has {
				return reasonf("no claim %q", m.claim)
			}
		}
		return reason("a required claim is empty")
	}
	return reason("not acceptable")
}
