package jwtauth_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/ignex/nova"
	"github.com/ignex/nova/jwtauth"
)

var b64 = base64.RawURLEncoding

// secret is long enough for every HS algorithm.
var secret = []byte("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef")

// now is where the tests' clocks stand.
var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func clock() time.Time { return now }

var rsaKey = sync.OnceValue(func() *rsa.PrivateKey { return must(rsa.GenerateKey(rand.Reader, 2048)) })

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// sign makes a token for user ann.
func sign(alg string, key any, header, claims map[string]any) string {
	t := jwt.NewWithClaims(jwt.GetSigningMethod(alg), jwt.MapClaims{"sub": "ann"})
	maps.Copy(t.Header, header)
	maps.Copy(t.Claims.(jwt.MapClaims), claims)
	return must(t.SignedString(key))
}

func toPEM(public any) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: must(x509.MarshalPKIXPublicKey(public))})
}

// jwk writes a public key as RFC 7517 has it, without a library.
func jwk(id string, public crypto.PublicKey, more map[string]any) map[string]any {
	m := map[string]any{"kid": id}
	switch k := public.(type) {
	case *rsa.PublicKey:
		m["kty"], m["n"], m["e"] = "RSA", b64.EncodeToString(k.N.Bytes()), b64.EncodeToString(big.NewInt(int64(k.E)).Bytes())
	case *ecdsa.PublicKey:
		point := must(k.Bytes()) // 4, x, y
		half := len(point) / 2
		m["kty"], m["crv"] = "EC", k.Curve.Params().Name
		m["x"], m["y"] = b64.EncodeToString(point[1:1+half]), b64.EncodeToString(point[1+half:])
	case ed25519.PublicKey:
		m["kty"], m["crv"], m["x"] = "OKP", "Ed25519", b64.EncodeToString(k)
	}
	maps.Copy(m, more)
	return m
}

func keySet(keys ...map[string]any) []byte {
	return must(json.Marshal(map[string]any{"keys": append([]map[string]any{}, keys...)}))
}

func newKey() *ecdsa.PrivateKey { return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)) }

// issuer serves a key set; answer may be changed at any time.
type issuer struct {
	*httptest.Server
	asked  atomic.Int64
	answer atomic.Pointer[http.HandlerFunc]
}

func newIssuer(t *testing.T, keys ...map[string]any) *issuer {
	i := &issuer{}
	i.publish(keys...)
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.asked.Add(1)
		(*i.answer.Load())(w, r)
	}))
	t.Cleanup(i.Close)
	return i
}

func (i *issuer) serve(h http.HandlerFunc) { i.answer.Store(&h) }

func (i *issuer) publish(keys ...map[string]any) {
	text := keySet(keys...)
	i.serve(func(w http.ResponseWriter, _ *http.Request) { w.Write(text) })
}

// open makes an Authenticator that the test's end closes.
func open(t testing.TB, o jwtauth.Options) *jwtauth.Authenticator {
	t.Helper()
	if o.Now == nil {
		o.Now = clock
	}
	a, err := jwtauth.New(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return a
}

// refused checks code and reason, and that the reason quotes no part of the token.
func refused(t *testing.T, err error, token string, code nova.Code, want string) {
	t.Helper()
	if err == nil {
		t.Fatalf("accepted; want %v, %q", code, want)
	}
	if nova.CodeOf(err) != code || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v; want %v with %q", err, code, want)
	}
	for part := range strings.SplitSeq(token, ".") {
		if len(part) > 12 && strings.Contains(err.Error(), part[:12]) {
			t.Errorf("the error quotes the token: %v", err)
		}
	}
}
