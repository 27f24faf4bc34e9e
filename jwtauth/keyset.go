package jwtauth

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/MicahParks/jwkset"
)

// maxKeys bounds a key set: a token without a key id is tried with all of them.
const maxKeys = 100

// errNotForTokens marks a key that is in order but does not verify signatures.
var errNotForTokens = errors.New("not a key for signatures")

// parseKeySet reads a key set. A key that cannot be used is reported to skip and
// left out, as RFC 7517 section 5 advises, unless skip returns an error.
func parseKeySet(text []byte, secrets bool, skip func(n int, id string, err error) error) ([]key, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, errors.New("not a JSON Web Key Set")
	}
	if set.Keys == nil {
		return nil, errors.New(`not a JSON Web Key Set: no list "keys"`)
	}
	if len(set.Keys) > maxKeys {
		return nil, fmt.Errorf("%d keys; at most %d are read", len(set.Keys), maxKeys)
	}
	keys := make([]key, 0, len(set.Keys))
	for i, raw := range set.Keys {
		k, err := parseKey(raw, secrets)
		if err == nil {
			keys = append(keys, k)
		} else if err := skip(i+1, k.id, err); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

func parseKey(raw json.RawMessage, secrets bool) (key, error) {
	var m jwkset.JWKMarshal
	if err := json.Unmarshal(raw, &m); err != nil {
		return key{}, errors.New("not a JSON Web Key")
	}
	named := key{id: m.KID}
	switch m.KTY {
	case jwkset.KtyRSA, jwkset.KtyEC, jwkset.KtyOKP:
	case jwkset.KtyOct:
		if !secrets {
			return named, errors.New("a secret in a published key set")
		}
	default:
		return named, errNotForTokens
	}
	if m.USE != "" && m.USE != jwkset.UseSig ||
		len(m.KEYOPS) > 0 && !slices.Contains(m.KEYOPS, jwkset.KeyOpsVerify) ||
		m.CRV == jwkset.CrvX25519 {
		return named, errNotForTokens
	}
	// Certificates are not looked at: the set is trusted because of where it is from.
	m.X5U, m.X5C, m.X5T, m.X5TS256 = "", nil, "", ""
	// Private parts, if any, are left where they are.
	parsed, err := jwkset.NewJWKFromMarshal(m, jwkset.JWKMarshalOptions{Private: m.KTY == jwkset.KtyOct}, jwkset.JWKValidateOptions{})
	if err != nil {
		// The library's text may quote the key, which may be a secret.
		return named, fmt.Errorf("a damaged or unsupported %s key", m.KTY)
	}
	k, err := newKey(m.KID, parsed.Key())
	if err != nil {
		return named, err
	}
	if alg := m.ALG.String(); alg != "" && !k.narrow([]string{alg}) {
		if !slices.Contains(supported, alg) {
			return named, errNotForTokens
		}
		return named, fmt.Errorf("a %s key cannot do its alg %s", m.KTY, alg)
	}
	return k, nil
}
