package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestFeedRate(t *testing.T) {
	f := newFeedRate(40)
	ask := func(method, host, kind, body string) (int, string) {
		t.Helper()
		r := httptest.NewRequest(method, "http://"+host+"/feed", strings.NewReader(body))
		r.RemoteAddr = "127.0.0.1:5000"
		if kind != "" {
			r.Header.Set("Content-Type", kind)
		}
		w := httptest.NewRecorder()
		f.ServeHTTP(w, r)
		return w.Code, strings.TrimSpace(w.Body.String())
	}
	const json = "application/json"
	for _, c := range []struct {
		method, host, kind, body string
		code                     int
		answer                   string
	}{
		{"GET", "localhost:3000", "", "", 200, `{"rate":40,"settable":true}`},
		{"GET", "demo.example", "", "", 200, `{"rate":40,"settable":false}`},
		{"POST", "localhost:3000", json, `{"rate":400}`, 200, `{"rate":400,"settable":true}`},
		{"POST", "localhost:3000", json, `{"rate":4000}`, 200, `{"rate":4000,"settable":true}`},
		{"POST", "demo.example", json, `{"rate":1}`, 403, "the feed is changed from the server's own machine only"},
		{"POST", "localhost:3000", "text/plain", `{"rate":1}`, 400, `content type "text/plain"; send application/json`},
		{"POST", "localhost:3000", json, `{"rate":0}`, 400, "rate 0 is out of range; send 1 to 20000"},
		{"POST", "localhost:3000", json, `{"rate":1e9}`, 400, "rate 1e+09 is out of range; send 1 to 20000"},
		{"POST", "localhost:3000", json, `{"rate":"x"}`, 400, `the body is not {"rate": 40}`},
		{"DELETE", "localhost:3000", "", "", http.StatusMethodNotAllowed, "method DELETE; use GET or POST"},
	} {
		if code, answer := ask(c.method, c.host, c.kind, c.body); code != c.code || !strings.HasPrefix(answer, c.answer) {
			t.Errorf("%s %s %s: %d %s, want %d %s", c.method, c.host, c.body, code, answer, c.code, c.answer)
		}
	}
	// The feed takes the newest rate, whatever it has not taken before.
	if got := <-f.changed; got != 4000 || f.get() != 4000 {
		t.Errorf("the feed is told %g, the page %g", got, f.get())
	}
}

// The page has the choice only where there is a synthetic feed.
func TestDemoOffersItsRate(t *testing.T) {
	const meta = `<meta name="nova:feed" content="feed">`
	_, url := startDemo(t, "--rate", "500")
	if code, body := fetch(t, url+"/feed"); code != 200 || !strings.HasPrefix(body, `{"rate":500,`) {
		t.Errorf("%d %s", code, body)
	}
	if _, body := fetch(t, url+"/"); !strings.Contains(body, meta) {
		t.Errorf("page %.800s", body)
	}
	_, url = startDemo(t, "--rate", "0")
	if code, body := fetch(t, url+"/feed"); code != 404 {
		t.Errorf("%d %s", code, body)
	}
	if _, body := fetch(t, url+"/"); strings.Contains(body, meta) {
		t.Errorf("page %.800s", body)
	}
}
