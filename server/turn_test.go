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
