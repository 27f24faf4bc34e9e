package server_test

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"net/http/httptest"

	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/server"
)

// Even a rate of next to nothing tells a time that a header can carry.
func TestTurnsOfTinyRates(t *testing.T) {
	for _, rate := range []float64{1e-3, 1e-9, 1e-10, 1e-12, 1e-300, 5e-324} {
		r := newQuietRig(t, hub.Options{}, server.Options{AcceptRate: rate, AcceptBurst: 1})
		ask(r.srv, "GET", "/ws", nil)
		for range 3 {
			if w := ask(r.srv, "GET", "/ws", nil); w.Code != 503 || w.Header().Get("Retry-After") != "30" {
				t.Errorf("rate %g: %d, Retry-After %q", rate, w.Code, w.Header().Get("Retry-After"))
			}
		}
	}
}

// Who comes faster than the accept rate is asked to come back when it is his turn.
func TestTurnedAwayInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const rate = 10
		r := newQuietRig(t, hub.Options{}, server.Options{AcceptRate: rate, AcceptBurst: 5})
		upgrade := func() *httptest.ResponseRecorder { return ask(r.srv, "GET", "/ws", nil) }
		for range 5 {
			if w := upgrade(); w.Code != 400 { // let in by the rate; it is no handshake
				t.Fatalf("within the burst: %d", w.Code)
			}
		}
		for n := range 1000 {
			w := upgrade()
			after, err := strconv.Atoi(w.Header().Get("Retry-After"))
			if want := min(1+(n+1)/rate, 30); w.Code != 503 || err != nil || after != want {
				t.Fatalf("number %d: %d, told to wait %q, want %d", n, w.Code, w.Header().Get("Retry-After"), want)
			}
		}
		time.Sleep(time.Minute) // the line has gone
		for range 5 {
			upgrade()
		}
		if after := upgrade().Header().Get("Retry-After"); after != "1" {
			t.Errorf("later the first one waits %s", after)
		}
	})
}
