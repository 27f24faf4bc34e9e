// Package jwtauth lets connections in by JSON Web Token (RFC 7519): an
// Authenticator checks the token of a connection and says who it is. It is a package
// of its own, so that servers without tokens link none of it.
//
//	auth, err := jwtauth.New(ctx, jwtauth.Options{
//		KeySetURL: "https://login.example.com/.well-known/jwks.json",
//		Issuer:    "https://login.example.com/",
//		Audience:  []string{"market"},
//	})
//	...
//	defer auth.Close(ctx)
//	srv, err := server.New(h, server.Options{Authenticate: auth.Authenticate})
//
// # Keys
//
// Keys are a shared secret, public keys in PEM, a key set (RFC 7517), the address
// of a key set, or several of these. An address is read in the background, and
// again when a token names a key that is not known, at most once in
// UnknownKeyInterval however many such tokens arrive. While it cannot be read the
// keys of the last reading stay in use. A key that is no longer in the set is no
// longer accepted.
//
// # Algorithms
//
// HS256, HS384, HS512, RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384,
// ES512 and EdDSA. What a token may use follows from the kind of the key, never
// from the token: a public key verifies no HS256 token, a P-256 key only ES256
// ones, and "none" does not exist. Secrets shorter than the hash and RSA keys below
// 2,048 bits are refused, as RFC 7518 demands.
//
// # Checks
//
// The signature, exp and nbf with Leeway, iss and aud when the options name them,
// and the size. Set Issuer and Audience whenever the issuer serves other
// applications too: without Audience a token made for one of those opens this
// server. Header parameters marked critical (crit) are refused, because none is
// understood.
//
// # Expiry
//
// The identity ends at exp plus Leeway: a connection that has not brought a newer
// token by then is closed with 4401. Clients of nova bring one by frame before that.
//
// # Errors
//
// Every refusal is a *nova.Error. Its code is nova.Unauthenticated when the token
// is at fault and nova.Unavailable when the keys could not be read, which a retry
// may mend. The message holds no part of the token beyond key id, algorithm,
// issuer and the like, quoted and cut, so it can be logged; the server tells it the
// client too, except for errors of Map without a code.
package jwtauth
