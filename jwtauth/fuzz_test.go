package jwtauth_test

import (
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"github.com/ignex/nova"
	"github.com/ignex/nova/jwtauth"
)

// FuzzToken: whatever comes is refused with one coded error that does not quote it;
// what is accepted carries the signature that the secret makes.
func FuzzToken(f *testing.F) {
	good := sign("HS256", secret, nil, map[string]any{"exp": now.Unix() + 60, "aud": []string{"a"}})
	for _, s := range []string{
		good, good[:40], "", "..", "a.b.c", good + "\n", strings.Replace(good, ".", "..", 1),
		sign("HS512", secret, map[string]any{"kid": "k", "crit": []string{"x"}}, map[string]any{"exp": 1e300, "sub": 7}),
		sign("none", jwt.UnsafeAllowNoneSignatureType, nil, nil), sign("RS256", rsaKey(), nil, nil),
	} {
		f.Add(s)
		// Each seed's parts again, signed: so that the claims are reached.
		f.Add(strings.Join(strings.SplitN(s, ".", 3)[:1], ".") + ".e30.")
	}
	f.Add(`{"sub":"ann","exp":1e400}`)
	a := open(f, jwtauth.Options{Secret: secret, PublicKeys: toPEM(rsaKey().Public()), GroupsClaim: "/a/b", TopicsClaim: "scope", ClientClaim: "cid"})
	head := b64.EncodeToString([]byte(`{"alg":"HS256"}`))
	f.Fuzz(func(t *testing.T, text string) {
		signed := head + "." + b64.EncodeToString([]byte(text))
		signed += "." + b64.EncodeToString(must(jwt.SigningMethodHS256.Sign(signed, secret)))
		for _, token := range []string{text, signed} {
			v, err := a.Verify(t.Context(), token)
			if err != nil {
				if nova.CodeOf(err) != nova.Unauthenticated || len(token) > 200 && strings.Contains(err.Error(), token) {
					t.Fatalf("%v", err)
				}
				continue
			}
			cut := strings.LastIndexByte(token, '.')
			ok := token == sign("RS256", rsaKey(), nil, nil) // deterministic
			for _, m := range []*jwt.SigningMethodHMAC{jwt.SigningMethodHS256, jwt.SigningMethodHS384, jwt.SigningMethodHS512} {
				ok = ok || token[cut+1:] == b64.EncodeToString(must(m.Sign(token[:cut], secret)))
			}
			if !ok || v.Identity.UserID == "" {
				t.Fatalf("accepted %q: %+v", token, v)
			}
		}
	})
}
