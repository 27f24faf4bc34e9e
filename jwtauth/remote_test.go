package jwtauth_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/jwtauth"
)

func kid(id string) map[string]any { return map[string]any{"kid": id} }

func TestRotation(t *testing.T) {
	one, two, three := newKey(), newKey(), newKey()
	i := newIssuer(t, jwk("1", one.Public(), nil))
	a := open(t, jwtauth.Options{KeySetURL: i.URL, UnknownKeyInterval: time.Nanosecond})
	check := func(token, want string) {
		t.Helper()
		_, err := a.Verify(t.Context(), token)
		if want != "" {
			refused(t, err, token, nova.Unauthenticated, want)
		} else if err != nil {
			t.Error(err)
		}
	}
	first, second := sign("ES256", one, kid("1"), nil), sign("ES256", two, kid("2"), nil)
	check(first, "")
	asked := i.asked.Load()
	check(first, "")
	check(sign("ES256", two, kid("1"), nil), "signature is wrong") // a known id: no reading
	if n := i.asked.Load(); n != asked {
		t.Errorf("%d readings for known keys", n-asked)
	}
	check(second, `no key with id "2" for ES256`)
	i.publish(jwk("1", one.Public(), nil), jwk("2", two.Public(), nil))
	check(second, "")
	check(first, "") // the old key is valid until it is removed
	i.publish(jwk("2", two.Public(), nil))
	if err := a.Refresh(t.Context()); err != nil {
		t.Error(err)
	}
	check(first, `no key with id "1"`)
	check(second, "")
	// Without ids, tokens are tried with all keys, and with those of a new reading.
	check(sign("ES256", two, nil, nil), "")
	i.publish(jwk("2", two.Public(), nil), jwk("3", three.Public(), nil))
	check(sign("ES256", three, nil, nil), "")
	i.publish()
	if err := a.Refresh(t.Context()); err != nil {
		t.Error(err)
	}
	check(second, "no key with id")
}

// However many unknown keys are named, the issuer is asked once in an interval.
func TestUnknownKeyFlood(t *testing.T) {
	good, other := newKey(), newKey()
	i := newIssuer(t, jwk("1", good.Public(), nil))
	a := open(t, jwtauth.Options{KeySetURL: i.URL, UnknownKeyInterval: time.Hour})
	var all sync.WaitGroup
	for n := range 50 {
		all.Go(func() {
			for m := range 20 {
				token := sign("ES256", other, kid(fmt.Sprint(n, "-", m)), nil)
				if _, err := a.Verify(t.Context(), token); nova.CodeOf(err) != nova.Unauthenticated {
					t.Errorf("unknown key: %v", err)
				}
			}
			if _, err := a.Verify(t.Context(), sign("ES256", good, kid("1"), nil)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := i.asked.Load(); n != 1 {
		t.Errorf("the issuer was asked %d times", n)
	}
}

// A key set that cannot be read leaves the old keys in use, and says so; an answer
// that is bad is never half used.
func TestBadAnswers(t *testing.T) {
	one, two := newKey(), newKey()
	stall := make(chan struct{})
	defer close(stall)
	both := keySet(jwk("1", one.Public(), nil), jwk("2", two.Public(), nil))
	for want, answer := range map[string]http.HandlerFunc{
		"answered 500":       func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500); w.Write(both) },
		"answered 404":       http.NotFound,
		"not a JSON Web Key": func(w http.ResponseWriter, _ *http.Request) { w.Write(both[:len(both)-1]) },
		`no list "keys"`:     func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(`{"error":"x"}`)) },
		"at most 100":        func(w http.ResponseWriter, _ *http.Request) { w.Write(manyKeys(101)) },
		"more than 1048576":  func(w http.ResponseWriter, _ *http.Request) { w.Write(bytes.Repeat([]byte(" "), 2<<20)) },
		"EOF":                func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"deadline exceeded":  func(w http.ResponseWriter, r *http.Request) { wait(r, stall) },
		"without TLS": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://192.0.2.1/", http.StatusFound)
		},
		"redirected more than": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path+"x", http.StatusFound) },
	} {
		t.Run(want, func(t *testing.T) {
			i := newIssuer(t, jwk("1", one.Public(), nil))
			var log bytes.Buffer
			timeout := 30 * time.Second
			if want == "deadline exceeded" {
				timeout = time.Second
			}
			// The secret in the address must not come up anywhere.
			url := strings.Replace(i.URL, "://", "://user:hunter2@", 1) + "/keys?key=hunter2"
			a := open(t, jwtauth.Options{
				KeySetURL: url, UnknownKeyInterval: time.Nanosecond, FetchTimeout: timeout,
				RefreshInterval: time.Hour, Logger: slog.New(slog.NewTextHandler(&log, nil)),
			})
			if err := a.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			i.serve(answer)
			if err := a.Refresh(t.Context()); nova.CodeOf(err) != nova.Unavailable || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
			if _, err := a.Verify(t.Context(), sign("ES256", one, kid("1"), nil)); err != nil {
				t.Errorf("the old key: %v", err)
			}
			token := sign("ES256", two, kid("2"), nil)
			_, err := a.Verify(t.Context(), token)
			refused(t, err, token, nova.Unavailable, want) // it may be a new key: try later
			i.serve(func(w http.ResponseWriter, _ *http.Request) { w.Write(both) })
			if _, err := a.Verify(t.Context(), token); err != nil {
				t.Errorf("after recovery: %v", err)
			}
			if err := a.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if text := log.String(); !strings.Contains(text, "key set not read") || strings.Contains(text+err.Error(), "hunter2") {
				t.Errorf("logged: %s", text)
			}
		})
	}
}

func wait(r *http.Request, stall chan struct{}) {
	select {
	case <-r.Context().Done():
	case <-stall:
	}
}

func manyKeys(n int) []byte {
	keys := make([]map[string]any, n)
	for i := range keys {
		keys[i] = map[string]any{"kty": "RSA"}
	}
	return keySet(keys...)
}

// One bad key of a set does not spoil the others.
func TestBadKeysInASet(t *testing.T) {
	good := newKey()
	i := newIssuer(t,
		map[string]any{"kty": "EC", "crv": "P-256", "kid": "off", "x": "AA", "y": "AA"},
		map[string]any{"kty": "RSA", "kid": "weak", "n": b64.EncodeToString(bytes.Repeat([]byte{0xff}, 128)), "e": "AQAB"},
		map[string]any{"kty": "oct", "kid": "leaked", "k": b64.EncodeToString(secret)},
		map[string]any{"kty": "AKP", "kid": "future"},
		map[string]any{"kty": 7},
		jwk("enc", good.Public(), map[string]any{"use": "enc"}),
		jwk("ops", good.Public(), map[string]any{"key_ops": []string{"deriveKey"}}),
		jwk("1", good.Public(), map[string]any{"use": "sig", "x5u": "http://192.0.2.1/"}))
	var log bytes.Buffer
	a := open(t, jwtauth.Options{KeySetURL: i.URL, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for id, want := range map[string]string{"1": "", "enc": "no key", "ops": "no key", "off": "no key"} {
		token := sign("ES256", good, kid(id), nil)
		_, err := a.Verify(t.Context(), token)
		if want != "" {
			refused(t, err, token, nova.Unauthenticated, want)
		} else if err != nil {
			t.Error(err)
		}
	}
	token := sign("HS256", secret, kid("leaked"), nil)
	_, err := a.Verify(t.Context(), token)
	refused(t, err, token, nova.Unauthenticated, "HS256 is not allowed")
	if err := a.Close(t.Context()); err != nil {
		t.Error(err)
	}
	for _, id := range []string{"off", "weak", "leaked"} {
		if !strings.Contains(log.String(), "id="+id) {
			t.Errorf("nothing logged about %s: %s", id, &log)
		}
	}
	if strings.Contains(log.String(), b64.EncodeToString(secret)) {
		t.Errorf("a secret logged: %s", &log)
	}
}

// An issuer that is down when the server starts: tokens are told to come back, and
// are taken once it is up, without anyone's doing.
func TestStartsWithoutIssuer(t *testing.T) {
	k := newKey()
	i := newIssuer(t)
	i.serve(http.NotFound)
	a := open(t, jwtauth.Options{KeySetURL: i.URL, RefreshInterval: time.Millisecond, UnknownKeyInterval: time.Hour})
	token := sign("ES256", k, kid("1"), nil)
	_, err := a.Verify(t.Context(), token)
	refused(t, err, token, nova.Unavailable, "answered 404")
	back := make(chan struct{}, 100)
	text := keySet(jwk("1", k.Public(), nil))
	i.serve(func(w http.ResponseWriter, _ *http.Request) {
		w.Write(text)
		select {
		case back <- struct{}{}:
		default:
		}
	})
	<-back
	<-back // the second begins after the first is in use
	if _, err := a.Verify(t.Context(), token); err != nil {
		t.Error(err)
	}
}

func TestClose(t *testing.T) {
	k := newKey()
	asked := make(chan struct{})
	i := newIssuer(t)
	i.serve(func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done() // the reading is broken off
	})
	a, err := jwtauth.New(t.Context(), jwtauth.Options{KeySetURL: i.URL, FetchTimeout: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	<-asked
	token := sign("ES256", k, kid("1"), nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = a.Verify(ctx, token) // who asks may go
	refused(t, err, token, nova.Cancelled, "wait for the key set")
	waiting := make(chan error)
	go func() {
		_, err := a.Verify(context.Background(), token)
		waiting <- err
	}()
	for range 2 {
		if err := a.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	refused(t, <-waiting, token, nova.Unavailable, "")
	_, err = a.Verify(t.Context(), token)
	if refused(t, err, token, nova.Unavailable, "closed"); !errors.Is(err, jwtauth.ErrClosed) || !errors.Is(a.Refresh(t.Context()), jwtauth.ErrClosed) {
		t.Errorf("%v is not ErrClosed", err)
	}
}

// The end of New's context ends everything, with fixed keys too.
func TestContextEnds(t *testing.T) {
	i := newIssuer(t)
	for _, o := range []jwtauth.Options{{KeySetURL: i.URL}, {Secret: secret}} {
		ctx, cancel := context.WithCancel(t.Context())
		a, err := jwtauth.New(ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		token := sign("HS256", secret, nil, nil)
		if _, err := a.Verify(t.Context(), token); !errors.Is(err, jwtauth.ErrClosed) {
			t.Errorf("got %v", err)
		}
		if err := a.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
