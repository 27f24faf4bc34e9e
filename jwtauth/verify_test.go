package jwtauth_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/ignex/nova"
	"github.com/ignex/nova/jwtauth"
	"github.com/ignex/nova/server"
)

// Each algorithm with its key given in each way; every other algorithm is refused.
func TestAlgorithms(t *testing.T) {
	_, edKey, _ := ed25519.GenerateKey(rand.Reader)
	type signer struct {
		private, public any
		algs            []string
	}
	signers := []signer{
		{secret, nil, []string{"HS256", "HS384", "HS512"}},
		{rsaKey(), rsaKey().Public(), []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"}},
		{edKey, edKey.Public(), []string{"EdDSA"}},
	}
	for alg, curve := range map[string]elliptic.Curve{"ES256": elliptic.P256(), "ES384": elliptic.P384(), "ES512": elliptic.P521()} {
		k := must(ecdsa.GenerateKey(curve, rand.Reader))
		signers = append(signers, signer{k, k.Public(), []string{alg}})
	}
	for _, s := range signers {
		ways := map[string]jwtauth.Options{
			"secret": {Secret: secret},
			"oct":    {KeySet: keySet(map[string]any{"kty": "oct", "kid": "1", "k": b64.EncodeToString(secret)})},
		}
		if s.public != nil {
			ways = map[string]jwtauth.Options{
				"pem":    {PublicKeys: toPEM(s.public)},
				"set":    {KeySet: keySet(jwk("1", s.public, nil))},
				"remote": {KeySetURL: newIssuer(t, jwk("1", s.public, nil)).URL},
			}
		}
		for way, o := range ways {
			a := open(t, o)
			for _, other := range signers {
				for _, alg := range other.algs {
					token := sign(alg, other.private, map[string]any{"kid": "1"}, nil)
					v, err := a.Verify(t.Context(), token)
					if good := &other.algs[0] == &s.algs[0]; !good {
						if err == nil {
							t.Errorf("%v keys as %s take %s", s.algs, way, alg)
						}
					} else if err != nil || v.Identity.UserID != "ann" {
						t.Errorf("%s with %s: %v %v", alg, way, v, err)
					}
				}
			}
		}
	}
}

func TestAlgorithmConfusion(t *testing.T) {
	text := toPEM(rsaKey().Public())
	a := open(t, jwtauth.Options{PublicKeys: text})
	es384 := must(ecdsa.GenerateKey(elliptic.P384(), rand.Reader))
	// The public key is known to all; as an HMAC secret it must open nothing.
	hs := sign("HS256", text, nil, nil)
	_, err := a.Verify(t.Context(), hs)
	refused(t, err, hs, nova.Unauthenticated, "algorithm HS256 is not allowed")
	// With a secret beside it, too.
	_, err = open(t, jwtauth.Options{PublicKeys: text, Secret: secret}).Verify(t.Context(), hs)
	refused(t, err, hs, nova.Unauthenticated, "signature is wrong")

	none := sign("none", jwt.UnsafeAllowNoneSignatureType, nil, nil)
	for _, spelling := range []string{"none", "None", "NONE", "nOnE", "", "HS1024"} {
		head := b64.EncodeToString([]byte(`{"alg":"` + spelling + `"}`))
		for _, o := range []jwtauth.Options{{PublicKeys: text}, {Secret: secret}, {KeySetURL: newIssuer(t).URL}} {
			token := head + none[strings.Index(none, "."):]
			_, err = open(t, o).Verify(t.Context(), token)
			refused(t, err, token, nova.Unauthenticated, "algorithm")
		}
	}
	// A P-384 key with a signature that claims to be ES256.
	a = open(t, jwtauth.Options{PublicKeys: toPEM(es384.Public())})
	claim := sign("ES256", newKey(), nil, nil)
	_, err = a.Verify(t.Context(), claim)
	refused(t, err, claim, nova.Unauthenticated, "ES256 is not allowed")
	// A key bound to RS512 by its alg.
	a = open(t, jwtauth.Options{KeySet: keySet(jwk("1", rsaKey().Public(), map[string]any{"alg": "RS512"}))})
	claim = sign("RS256", rsaKey(), nil, nil)
	_, err = a.Verify(t.Context(), claim)
	refused(t, err, claim, nova.Unauthenticated, "RS256 is not allowed")
	// The same while another key may do RS256: each key keeps to its own.
	other := must(rsa.GenerateKey(rand.Reader, 2048))
	a = open(t, jwtauth.Options{KeySet: keySet(
		jwk("1", rsaKey().Public(), map[string]any{"alg": "RS512"}), jwk("2", other.Public(), map[string]any{"alg": "RS256"}))})
	for _, header := range []map[string]any{nil, kid("1"), kid("2")} {
		claim = sign("RS256", rsaKey(), header, nil)
		_, err = a.Verify(t.Context(), claim)
		refused(t, err, claim, nova.Unauthenticated, "")
	}
	// Narrowed by option.
	a = open(t, jwtauth.Options{Secret: secret, Algorithms: []string{"HS512"}})
	claim = sign("HS256", secret, nil, nil)
	_, err = a.Verify(t.Context(), claim)
	refused(t, err, claim, nova.Unauthenticated, "HS256 is not allowed")
}

func TestClaims(t *testing.T) {
	at := func(d time.Duration) any { return now.Add(d).Unix() }
	o := jwtauth.Options{Secret: secret, Issuer: "https://id", Audience: []string{"nova", "market"}, RequireExpiry: true, Type: "at+jwt"}
	base := map[string]any{"iss": "https://id", "aud": "nova", "exp": at(time.Hour)}
	a := open(t, o)
	for _, c := range []struct {
		claim string
		value any
		want  string // "" = accepted
	}{
		{"exp", at(time.Second), ""},
		{"exp", at(-29 * time.Second), ""}, // within the leeway
		{"exp", at(-31 * time.Second), "expired at 2026-03-01T11:59:29Z"},
		{"exp", 0, "expired at 1970"},
		{"exp", -1, `claim "exp" must be a date`},
		{"exp", 1e300, `claim "exp" must be a date`},
		{"exp", "tomorrow", `claim "exp" must be a date`},
		{"exp", nil, `claim "exp" must be a date`},
		{"exp", absent, `no claim "exp"`},
		{"nbf", at(29 * time.Second), ""},
		{"nbf", at(31 * time.Second), "not valid before 2026-03-01T12:00:31Z"},
		{"nbf", 1e19, `claim "nbf" must be a date`},
		{"iat", at(time.Hour), ""}, // a clock that was stepped back
		{"iss", "https://evil", `issuer is "https://evil", not "https://id"`},
		{"iss", "https://id/", "issuer is"},
		{"iss", 7, `claim "iss" must be a string`},
		{"iss", absent, `no claim "iss"`},
		{"aud", []string{"else", "market"}, ""},
		{"aud", []string{"else"}, `made for audience "[else]"`},
		{"aud", "novae", `made for audience "novae"`},
		{"aud", []any{1}, `claim "aud" must be a list of strings`},
		{"aud", absent, `no claim "aud"`},
		{"aud", []string{}, "empty"},
		{"sub", "", `no claim "sub"`},
		{"sub", []string{"ann"}, `claim "sub" must be a string or a whole number`},
		{"sub", 1.5, `claim "sub" must be a string or a whole number`},
	} {
		claims := map[string]any{}
		for k, v := range base {
			claims[k] = v
		}
		claims[c.claim] = c.value
		if c.value == absent {
			delete(claims, c.claim)
		}
		token := sign("HS256", secret, map[string]any{"typ": "application/AT+JWT"}, claims)
		v, err := a.Verify(t.Context(), token)
		if c.want != "" {
			refused(t, err, token, nova.Unauthenticated, c.want)
		} else if err != nil {
			t.Errorf("%s = %v: %v", c.claim, c.value, err)
		} else if exp, ok := claims["exp"].(int64); !ok || v.ExpiresAt.Unix() != exp {
			t.Errorf("expires at %v, want %v", v.ExpiresAt, claims["exp"])
		} else if want := v.ExpiresAt.Add(30 * time.Second); !v.Identity.ExpiresAt.Equal(want) {
			t.Errorf("the identity ends at %v, want %v", v.Identity.ExpiresAt, want)
		}
	}
	for name, header := range map[string]map[string]any{
		"type is":  {"typ": "JWT"},
		"critical": {"typ": "at+jwt", "crit": []string{"b64"}, "b64": false},
		"kid must": {"typ": "at+jwt", "kid": 1},
	} {
		token := sign("HS256", secret, header, base)
		_, err := a.Verify(t.Context(), token)
		refused(t, err, token, nova.Unauthenticated, name)
	}
}

const absent = "\x00absent"

// A clock that steps back neither locks a valid token out nor lets anything stick.
func TestClockStepsBack(t *testing.T) {
	at := now
	a := open(t, jwtauth.Options{Secret: secret, Now: func() time.Time { return at }})
	token := sign("HS256", secret, nil, map[string]any{"iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(time.Minute).Unix()})
	for _, step := range []struct {
		by   time.Duration
		good bool
	}{{0, true}, {2 * time.Minute, false}, {0, true}, {-20 * time.Second, true}, {-time.Hour, false}, {0, true}} {
		at = now.Add(step.by)
		if _, err := a.Verify(t.Context(), token); (err == nil) != step.good {
			t.Errorf("clock %v: %v", step.by, err)
		}
	}
}

func TestIdentity(t *testing.T) {
	o := jwtauth.Options{
		Secret: secret, UserClaim: "https://id/user", ClientClaim: "device", GroupsClaim: "/realm/a~1b", TopicsClaim: "scope",
		Map: func(_ context.Context, c jwtauth.Claims, id *server.Identity) error {
			switch name, _ := c.Get("name"); name {
			case "plain":
				return errors.New("no such tenant")
			case "coded":
				return nova.Errorf(nova.Denied, "suspended")
			}
			id.Version = "v" + id.UserID
			return nil
		},
	}
	a := open(t, o)
	claims := map[string]any{"https://id/user": 12345678901234567, "device": "d1", "realm": map[string]any{"a/b": []string{"x", "y z"}}, "scope": "p  q"}
	token := sign("HS256", secret, nil, claims)
	req := must(http.NewRequest("GET", "/", nil))
	req.Header.Set("Authorization", "bearer "+token)
	want := server.Identity{UserID: "12345678901234567", ClientID: "d1", Groups: []string{"x", "y z"}, Topics: []string{"p", "q"}, Version: "v12345678901234567"}
	for _, c := range []server.Credentials{{Request: req}, {Token: token}, {Request: must(http.NewRequest("GET", "/", nil)), Token: token}} {
		if id, err := a.Authenticate(t.Context(), c); err != nil || !reflect.DeepEqual(id, want) {
			t.Errorf("%+v %v", id, err)
		}
	}
	for _, h := range []string{"", "Basic " + token, "Bearer", "Bearer "} {
		req.Header.Set("Authorization", h)
		_, err := a.Authenticate(t.Context(), server.Credentials{Request: req})
		refused(t, err, token, nova.Unauthenticated, "no token")
	}
	for _, c := range []struct {
		claim string
		value any
		code  nova.Code
		want  string
	}{
		{"name", "plain", nova.Unauthenticated, "no such tenant"},
		{"name", "coded", nova.Denied, "suspended"},
		{"scope", 1, nova.Unauthenticated, `claim "scope"`},
		{"realm", map[string]any{"a/b": []any{"x", 1}}, nova.Unauthenticated, `claim "/realm/a~1b"`},
	} {
		old, had := claims[c.claim]
		claims[c.claim] = c.value
		token := sign("HS256", secret, nil, claims)
		id, err := a.Authenticate(t.Context(), server.Credentials{Token: token})
		refused(t, err, token, c.code, c.want)
		if id.UserID != "" {
			t.Errorf("an identity beside an error: %+v", id)
		}
		if claims[c.claim] = old; !had {
			delete(claims, c.claim)
		}
	}
}

func TestMalformed(t *testing.T) {
	a := open(t, jwtauth.Options{Secret: secret})
	good := sign("HS256", secret, nil, nil)
	parts := strings.Split(good, ".")
	seal := func(payload string) string {
		text := parts[0] + "." + b64.EncodeToString([]byte(payload))
		return text + "." + b64.EncodeToString(must(jwt.SigningMethodHS256.Sign(text, secret)))
	}
	for _, token := range []string{
		".", "..", "...", "a.b.c", parts[0] + "." + parts[1], good + ".x", good + "=", "{}.{}.{}", good + "\n", "\x00" + good,
		b64.EncodeToString([]byte("null")) + "." + parts[1] + "." + parts[2], seal("null"), seal("[]"), seal(`"a"`), seal(`{"sub":"ann"}{}`), seal(""),
		parts[0] + "." + b64.EncodeToString([]byte(`{"sub":"bob"}`)) + "." + parts[2], parts[0] + "." + parts[1] + ".",
		good[:len(good)-1] + string(good[len(good)-1]+1), // other unused bits of the same bytes
	} {
		_, err := a.Verify(t.Context(), token)
		refused(t, err, token, nova.Unauthenticated, "jwt: ")
	}
	huge := good + strings.Repeat("A", 8<<10)
	_, err := a.Verify(t.Context(), huge)
	refused(t, err, huge, nova.Unauthenticated, "at most 8192")
}

func TestOptions(t *testing.T) {
	weak := must(rsa.GenerateKey(rand.Reader, 1024))
	private := strings.Replace(string(toPEM(rsaKey().Public())), "PUBLIC KEY", "PRIVATE KEY", 2)
	for want, o := range map[string]jwtauth.Options{
		"no keys":                      {},
		"secret of 6 bytes":            {Secret: []byte("secret")},
		"holds a PEM block":            {Secret: toPEM(rsaKey().Public())},
		"RSA key of 1024 bits":         {PublicKeys: toPEM(weak.Public())},
		"a private key":                {PublicKeys: []byte(private)},
		"no PEM block number 1":        {PublicKeys: []byte("key")},
		"PublicKeys: no PEM block":     {PublicKeys: []byte("\n"), Secret: secret},
		"no PEM block number 2":        {PublicKeys: append(toPEM(rsaKey().Public()), "rest"...)},
		"not a JSON Web Key Set":       {KeySet: []byte("{")},
		`no list "keys"`:               {KeySet: []byte("{}")},
		"no key that verifies":         {KeySet: keySet(jwk("1", rsaKey().Public(), map[string]any{"use": "enc"}))},
		`key number 1 (id "7")`:        {KeySet: keySet(map[string]any{"kid": "7", "kty": "RSA", "n": "!", "e": "AQAB"})},
		"cannot do its alg ES256":      {KeySet: keySet(jwk("1", rsaKey().Public(), map[string]any{"alg": "ES256"}))},
		"names \"none\"":               {Secret: secret, Algorithms: []string{"none"}},
		"no key that fits":             {Secret: secret, Algorithms: []string{"HS256", "RS256"}},
		"HS512, for which":             {Secret: secret[:32], Algorithms: []string{"HS512"}},
		"must be https":                {KeySetURL: "http://id.example.com/keys"},
		"not an absolute URL":          {KeySetURL: "keys.json"},
		"RefreshInterval is -1s":       {Secret: secret, RefreshInterval: -time.Second},
		"MaxTokenSize is -1":           {Secret: secret, MaxTokenSize: -1},
		"Audience holds an empty name": {Secret: secret, Audience: []string{""}},
	} {
		if _, err := jwtauth.New(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "jwtauth: ") {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// The other kinds of PEM block, several in one text.
func TestPEM(t *testing.T) {
	k := newKey()
	card := &x509.Certificate{SerialNumber: big.NewInt(1)}
	cert := must(x509.CreateCertificate(rand.Reader, card, card, k.Public(), k))
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})
	text = append(text, pem.EncodeToMemory(&pem.Block{Type: "RSA PUBLIC KEY", Bytes: x509.MarshalPKCS1PublicKey(&rsaKey().PublicKey)})...)
	a := open(t, jwtauth.Options{PublicKeys: text})
	for _, token := range []string{sign("ES256", k, nil, nil), sign("PS384", rsaKey(), map[string]any{"kid": "any"}, nil)} {
		if _, err := a.Verify(t.Context(), token); err != nil {
			t.Error(err)
		}
	}
	for kind, want := range map[string]string{"CERTIFICATE": "block number 1: ", "X509 CRL": "unknown type"} {
		text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: []byte("x")})
		if _, err := jwtauth.New(t.Context(), jwtauth.Options{PublicKeys: text}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// The examples of RFC 7515, appendix A; RFC 7519 section 3.1 has the first as well.
func TestRFC7515(t *testing.T) {
	const payload = "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
	for name, c := range map[string]struct{ key, token string }{
		"A.1": {`{"kty":"oct","k":"AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"}`,
			"eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9." + payload + ".dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"},
		"A.2": {`{"kty":"RSA","n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ","e":"AQAB"}`,
			"eyJhbGciOiJSUzI1NiJ9." + payload + ".cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw"},
		"A.3": {`{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}`,
			"eyJhbGciOiJFUzI1NiJ9." + payload + ".DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"},
	} {
		at := time.Unix(1300819380, 0)
		o := jwtauth.Options{KeySet: []byte(`{"keys":[` + c.key + `]}`), Issuer: "joe", UserClaim: "iss", Leeway: -1, Now: func() time.Time { return at.Add(-time.Second) }}
		v, err := open(t, o).Verify(t.Context(), c.token)
		if root, _ := v.Claims.Get("http://example.com/is_root"); err != nil || root != true || !v.ExpiresAt.Equal(at) {
			t.Errorf("%s: %+v %v", name, v, err)
		}
		o.Now = func() time.Time { return at }
		_, err = open(t, o).Verify(t.Context(), c.token)
		refused(t, err, c.token, nova.Unauthenticated, "expired at 2011-03-22T18:43:00Z")
	}
	// RFC 7519 section 6.1: a token without a signature.
	unsecured := "eyJhbGciOiJub25lIn0." + payload + "."
	_, err := open(t, jwtauth.Options{Secret: secret}).Verify(t.Context(), unsecured)
	refused(t, err, unsecured, nova.Unauthenticated, "algorithm is not allowed")
	// RFC 8037 appendix A.4 signs a text that is no JSON; its key is read.
	k := fmt.Sprintf(`{"keys":[{"kty":"OKP","crv":"Ed25519","x":%q}]}`, "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo")
	d := ed25519.NewKeyFromSeed(must(b64.DecodeString("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A")))
	if _, err := open(t, jwtauth.Options{KeySet: []byte(k)}).Verify(t.Context(), sign("EdDSA", d, nil, nil)); err != nil {
		t.Error(err)
	}
}
