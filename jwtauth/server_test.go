package jwtauth_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/ignex/nova"
	"github.com/ignex/nova/client"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/jwtauth"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
)

// journal is a log that may be written and read at once.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// A real upgrade, the keys from a real issuer over TLS.
func TestUpgrade(t *testing.T) {
	k := newKey()
	text := keySet(jwk("1", k.Public(), nil))
	keys := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(text) }))
	defer keys.Close()
	auth := open(t, jwtauth.Options{KeySetURL: keys.URL, HTTPClient: keys.Client(), Audience: []string{"nova"}})
	h, err := hub.New(hub.Options{Schema: market.Schema})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close(context.Background())
	log := &journal{}
	srv, err := server.New(h, server.Options{Authenticate: auth.Authenticate, Clock: clock, Logger: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	web := httptest.NewServer(srv)
	defer web.Close()
	dial := func(token string) int {
		c, resp, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(web.URL, "http"), http.Header{"Authorization": {"Bearer " + token}})
		if err == nil {
			c.Close()
		} else if resp == nil {
			t.Fatal(err)
		}
		return resp.StatusCode
	}
	claims := map[string]any{"aud": "nova", "exp": now.Add(time.Minute).Unix()}
	if code := dial(sign("ES256", k, kid("1"), claims)); code != 101 {
		t.Errorf("a good token: %d", code)
	}
	claims["exp"] = now.Add(-time.Minute).Unix()
	expired := sign("ES256", k, kid("1"), claims)
	for _, token := range []string{expired, "", sign("HS256", secret, nil, nil)} {
		if code := dial(token); code != 401 {
			t.Errorf("a bad token: %d", code)
		}
	}
	if s := log.String(); !strings.Contains(s, "expired at") || strings.Contains(s, expired[:20]) {
		t.Errorf("logged: %s", s)
	}
}

// A connection lives as long as its token, and on with a newer one that its client
// brings by itself.
func TestConnectionEndsWithItsToken(t *testing.T) {
	for _, renewed := range []bool{false, true} {
		auth := open(t, jwtauth.Options{Secret: secret, Leeway: -1, Now: time.Now})
		h, err := hub.New(hub.Options{Schema: market.Schema})
		if err != nil {
			t.Fatal(err)
		}
		srv, err := server.New(h, server.Options{Authenticate: auth.Authenticate, ExpiryGrace: 100 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		web := httptest.NewServer(srv)
		var calls atomic.Int32
		third, up, ended := make(chan struct{}), make(chan struct{}, 10), make(chan error, 1)
		o := client.Options{
			OnStatus: func(s client.Status) {
				switch s.State {
				case client.Connected:
					up <- struct{}{}
				case client.Closed:
					ended <- s.Err
				}
			},
			Token: func(context.Context) (string, error) {
				if calls.Add(1) == 3 {
					close(third)
				}
				return sign("HS256", secret, nil, map[string]any{"exp": time.Now().Add(3 * time.Second).Unix()}), nil
			},
		}
		if !renewed {
			token, _ := o.Token(t.Context())
			o.Token, o.Header = nil, http.Header{"Authorization": {"Bearer " + token}}
		}
		c, err := client.Dial(t.Context(), web.URL, o)
		if err != nil {
			t.Fatal(err)
		}
		<-up
		if renewed {
			<-third
			if n := c.Stats().Connects; n != 1 {
				t.Errorf("connected %d times", n)
			}
		} else {
			if err := <-ended; nova.CodeOf(err) != nova.Unauthenticated || !strings.Contains(err.Error(), "token expired") {
				t.Error(err)
			}
		}
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
		srv.Close()
		if err := h.Close(t.Context()); err != nil {
			t.Error(err)
		}
		web.Close()
	}
}
