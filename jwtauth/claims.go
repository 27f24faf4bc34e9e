package jwtauth

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Claims are what a verified token says. Numbers are json.Number.
type Claims map[string]any

// Get returns a claim by its name, or with a leading slash by a JSON pointer
// (RFC 6901) through objects. false = there is none, or it is null.
func (c Claims) Get(name string) (any, bool) {
	if !strings.HasPrefix(name, "/") {
		v := c[name]
		return v, v != nil
	}
	var at any = map[string]any(c)
	for step := range strings.SplitSeq(name[1:], "/") {
		object, ok := at.(map[string]any)
		if !ok {
			return nil, false
		}
		at = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
	}
	return at, at != nil
}

// name returns a claim that is a string or a whole number; "" = there is none.
func (c Claims) name(claim string) (string, error) {
	v, ok := c.Get(claim)
	if !ok {
		return "", nil
	}
	switch v := v.(type) {
	case string:
		return v, nil
	case json.Number:
		if !strings.ContainsAny(v.String(), ".eE") {
			return v.String(), nil
		}
	}
	return "", reasonf("claim %q must be a string or a whole number", claim)
}

// names returns a claim that is a list of strings, or one string of names with
// spaces between them, as the scope of RFC 8693 is.
func (c Claims) names(claim string) ([]string, error) {
	v, ok := c.Get(claim)
	if !ok {
		return nil, nil
	}
	switch v := v.(type) {
	case string:
		return strings.Fields(v), nil
	case []any:
		list := make([]string, 0, len(v))
		for _, e := range v {
			s, ok := e.(string)
			if !ok {
				return nil, reasonf("claim %q must be a list of strings", claim)
			}
			list = append(list, s)
		}
		return list, nil
	}
	return nil, reasonf("claim %q must be a list of strings, or a string", claim)
}

// claimSet shows claims to the token library. Unlike the library's own map it
// takes a date of 0 for a date, and none that time.Time cannot hold exactly.
type claimSet struct{ claims Claims }

var _ jwt.Claims = (*claimSet)(nil)

// UnmarshalJSON reads the claims; the caller has checked the syntax.
func (s *claimSet) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(&s.claims)
}

func (s *claimSet) GetExpirationTime() (*jwt.NumericDate, error) { return s.date("exp") }
func (s *claimSet) GetNotBefore() (*jwt.NumericDate, error)      { return s.date("nbf") }
func (s *claimSet) GetIssuedAt() (*jwt.NumericDate, error)       { return s.date("iat") }
func (s *claimSet) GetIssuer() (string, error)                   { return s.text("iss") }
func (s *claimSet) GetSubject() (string, error)                  { return s.text("sub") }

func (s *claimSet) GetAudience() (jwt.ClaimStrings, error) {
	switch v := s.claims["aud"].(type) {
	case nil:
		return nil, nil
	case string:
		return jwt.ClaimStrings{v}, nil
	}
	list, err := s.claims.names("aud")
	return list, err
}

// maxDate is the end of the year 9999, in seconds.
const maxDate = 253402300799

// date reads a NumericDate: seconds since 1970, perhaps with a fraction.
func (s *claimSet) date(claim string) (*jwt.NumericDate, error) {
	v, ok := s.claims[claim]
	if !ok {
		return nil, nil
	}
	number, _ := v.(json.Number)
	seconds, err := number.Float64()
	if err != nil || !(seconds >= 0 && seconds <= maxDate) {
		return nil, reasonf("claim %q must be a date in seconds since 1970", claim)
	}
	whole, part := math.Modf(seconds)
	// Not jwt.NewNumericDate, which cuts to a precision set for the whole process.
	return &jwt.NumericDate{Time: time.Unix(int64(whole), int64(part*1e9))}, nil
}

func (s *claimSet) text(claim string) (string, error) {
	v, ok := s.claims[claim]
	if !ok {
		return "", nil
	}
	text, ok := v.(string)
	if !ok {
		return "", reasonf("claim %q must be a string", claim)
	}
	return text, nil
}
