package jwtauth

import (
	"fmt"
	"slices"
	"strings"

	"github.com/golang-jwt/jwt/v5"
)

// reading is one attempt at a token.
type reading struct {
	claims  claimSet
	asked   bool // the token's algorithm exists: a key was asked for
	exact   bool // a key has the id that the token names
	unknown bool // a newer key set may verify it
}

// parse checks everything about a token but its identity.
func (a *Authenticator) parse(token string, more []key) (*reading, error) {
	r := &reading{}
	_, err := a.parser.ParseWithClaims(token, &r.claims, func(t *jwt.Token) (any, error) {
		r.asked = true
		return a.choose(t, more, r)
	})
	if err == nil && r.claims.claims == nil { // the JSON value null
		return r, errMalformed
	}
	if err == nil {
		return r, nil
	}
	err = a.explain(r, err)
	r.unknown = r.unknown || err == error(errSignature) && !r.exact
	return r, err
}

// choose returns the keys to try for a token.
func (a *Authenticator) choose(t *jwt.Token, more []key, r *reading) (any, error) {
	if _, critical := t.Header["crit"]; critical {
		return nil, reason("critical header parameters (crit) are not understood")
	}
	if want := a.options.Type; want != "" {
		typ, _ := t.Header["typ"].(string)
		if !strings.EqualFold(mediaType(typ), mediaType(want)) {
			return nil, reasonf("type is %q, not %q", clip(typ), want)
		}
	}
	alg := t.Method.Alg()
	if !slices.Contains(a.allowed, alg) {
		return nil, reasonf("algorithm %s is not allowed; allowed are %v", alg, a.allowed)
	}
	v, named := t.Header["kid"]
	id, ok := v.(string)
	if named && !ok {
		return nil, reason("kid must be a string")
	}
	var set jwt.VerificationKeySet
	for _, keys := range [][]key{a.fixed, more} {
		for _, k := range keys {
			if k.fits(alg, id, named) {
				set.Keys = append(set.Keys, k.material)
				r.exact = r.exact || named && k.id == id
			}
		}
	}
	switch {
	case len(set.Keys) > 0:
		return set, nil
	case named:
		r.unknown = true
		return nil, reasonf("%v with id %q for %s", errNoKey, clip(id), alg)
	}
	r.unknown = true
	return nil, reasonf("%v for %s", errNoKey, alg)
}

// mediaType completes a typ: RFC 7515 section 4.1.9 lets "application/" be left out.
func mediaType(typ string) string {
	if typ == "" || strings.Contains(typ, "/") {
		return typ
	}
	return "application/" + typ
}

// readFixed reads the keys that the options hold, and finds out which algorithms
// tokens may use at all.
func (a *Authenticator) readFixed() error {
	o := &a.options
	if looksPublic(o.Secret) {
		return fmt.Errorf("jwtauth: Options.Secret holds a PEM block; public keys belong into PublicKeys")
	}
	if len(o.Secret) > 0 {
		k, err := newKey("", slices.Clone(o.Secret))
		if err != nil {
			return fmt.Errorf("jwtauth: Options.Secret is %w", err)
		}
		a.fixed = append(a.fixed, k)
	}
	keys, err := parsePEM(o.PublicKeys)
	if err != nil {
		return fmt.Errorf("jwtauth: Options.PublicKeys: %w", err)
	}
	a.fixed = append(a.fixed, keys...)
	if len(o.KeySet) > 0 {
		keys, err := parseKeySet(o.KeySet, true, func(n int, id string, err error) error {
			if err == errNotForTokens {
				return nil
			}
			return fmt.Errorf("key number %d (id %q) is %w", n, clip(id), err)
		})
		if err == nil && len(keys) == 0 {
			err = fmt.Errorf("no key that verifies tokens")
		}
		if err != nil {
			return fmt.Errorf("jwtauth: Options.KeySet: %w", err)
		}
		a.fixed = append(a.fixed, keys...)
	}
	return a.fixAlgorithms()
}

func (a *Authenticator) fixAlgorithms() error {
	o := &a.options
	can := map[string]bool{}
	for i := range a.fixed {
		a.fixed[i].narrow(o.Algorithms)
		for _, name := range a.fixed[i].can {
			can[name] = true
		}
	}
	if o.KeySetURL != "" {
		for _, name := range asymmetric {
			can[name] = true
		}
	}
	for _, name := range o.Algorithms {
		if !can[name] {
			return fmt.Errorf("jwtauth: Options.Algorithms names %s, for which there is no key that fits", name)
		}
	}
	for _, name := range supported {
		if can[name] && (len(o.Algorithms) == 0 || slices.Contains(o.Algorithms, name)) {
			a.allowed = append(a.allowed, name)
		}
	}
	return nil
}
