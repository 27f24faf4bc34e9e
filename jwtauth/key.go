package jwtauth

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"fmt"
	"slices"
)

// supported are the algorithms of RFC 7518 and RFC 8037 that tokens may use.
var supported = []string{"HS256", "HS384", "HS512", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}

// asymmetric are those of them that a published key can have.
var asymmetric = supported[3:]

// key is something that verifies signatures.
type key struct {
	id       string   // "" = serves tokens with any key id
	can      []string // the algorithms of its kind; never taken from a token
	material any      // what the token library expects for these
}

// newKey finds out what material can do. It fails for what no algorithm may use.
func newKey(id string, material any) (key, error) {
	can, err := algorithms(material)
	return key{id: id, can: can, material: material}, err
}

// algorithms lists what a key of this kind verifies: an elliptic curve and a length
// of secret belong to one algorithm each (RFC 7518, sections 3.2 to 3.5).
func algorithms(material any) ([]string, error) {
	switch k := material.(type) {
	case []byte:
		for i, bits := range []int{512, 384, 256} {
			if len(k)*8 >= bits {
				return supported[:3-i], nil
			}
		}
		return nil, fmt.Errorf("a secret of %d bytes; HS256 needs 32, HS384 48, HS512 64", len(k))
	case *rsa.PublicKey:
		if bits := k.N.BitLen(); bits < 2048 || bits > 8192 {
			return nil, fmt.Errorf("an RSA key of %d bits; it must have 2048 to 8192", bits)
		}
		return supported[3:9], nil
	case *ecdsa.PublicKey:
		switch name := k.Curve.Params().Name; name {
		case "P-256":
			return []string{"ES256"}, nil
		case "P-384":
			return []string{"ES384"}, nil
		case "P-521":
			return []string{"ES512"}, nil
		default:
			return nil, fmt.Errorf("a key on curve %s; P-256, P-384 and P-521 are supported", name)
		}
	case ed25519.PublicKey:
		return []string{"EdDSA"}, nil
	}
	return nil, fmt.Errorf("a key of type %T; secrets, RSA, ECDSA and Ed25519 keys are supported", material)
}

// narrow leaves the key only what allowed lists; false = nothing.
func (k *key) narrow(allowed []string) bool {
	if len(allowed) > 0 {
		k.can = slices.DeleteFunc(slices.Clone(k.can), func(a string) bool { return !slices.Contains(allowed, a) })
	}
	return len(k.can) > 0
}

// fits says whether the key may be tried for a token. named = the token has an id.
func (k *key) fits(alg, id string, named bool) bool {
	return slices.Contains(k.can, alg) && (!named || k.id == "" || k.id == id)
}
