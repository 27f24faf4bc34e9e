package server_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/wire/control"
)

func TestDuplicateIsRejected(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{Authenticate: pinned, DuplicateID: server.DuplicateReject})
	first := r.join("?id=me", "")
	first.sync()
	p, res := r.tryDial("?id=me", "")
	if p != nil {
		t.Fatal("the second connection was let in")
	}
	text, _ := io.ReadAll(res.Body)
	if res.StatusCode != http.StatusConflict || strings.TrimSpace(string(text)) != "client id is in use" {
		t.Errorf("%s %q", res.Status, text)
	}
	p = r.dial("?id=me&nova=2", "")
	var away control.Goaway
	p.control(control.GoawayID, &away)
	if away.Reason != "client id is in use" || away.RetryAfterMs <= 0 {
		t.Errorf("%+v", away)
	}
	p.expectEnd(1013, "client id is in use")
	r.join("?id=other", "").sync()
	r.join("", "").sync() // not pinned
	r.join("", "").sync()
	first.sync() // still in
	first.net.Close()
	eventually(t, "the id is free again", func() bool { return r.srv.Metrics().Connections == 3 })
	r.join("?id=me", "").sync()
}

func TestDuplicateIsRejectedExactly(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{Authenticate: pinned, DuplicateID: server.DuplicateReject})
	for round := range 20 {
		var wg sync.WaitGroup
		var in, out atomic.Int32
		for range 8 {
			wg.Go(func() {
				p, res := r.tryDial(fmt.Sprintf("?id=me%d", round), "")
				switch {
				case p != nil:
					in.Add(1)
				case res.StatusCode == http.StatusConflict:
					out.Add(1)
				}
			})
		}
		wg.Wait()
		if in.Load() != 1 || out.Load() != 7 {
			t.Fatalf("round %d: %d let in, %d rejected", round, in.Load(), out.Load())
		}
	}
}

// Twice the connections is the default for sessions; over it those longest
// without a socket end.
func TestMaxSessionsFollowsMaxConnections(t *testing.T) {
	for name, c := range map[string]struct {
		set, kept int
	}{"default": {0, 4}, "set": {3, 3}} {
		t.Run(name, func(t *testing.T) {
			var ends atomic.Int32
			r := newRig(t, hub.Options{Session: hub.SessionOptions{MaxSessions: c.set, TTL: time.Hour},
				OnDisconnect: func(_ context.Context, _ *nova.Client, why hub.EndReason) {
					if why == hub.EndExpired {
						ends.Add(1)
					}
				}}, server.Options{MaxConnections: 2})
			for n := range 6 {
				p, _ := r.attach("", "", 0)
				p.net.Close()
				r.detached(min(n+1, c.kept))
				eventually(t, "the socket is gone", func() bool { return r.srv.Metrics().Connections == 0 })
			}
			eventually(t, "the others ended", func() bool { return r.hub.Len() == c.kept && int(ends.Load()) == 6-c.kept })
		})
	}
}
