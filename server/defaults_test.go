package server_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/wire/control"
)

// What the documents say about options that are not set, as a client meets it. Each
// number stands here once more, by hand.

func TestDefaultTimes(t *testing.T) {
	for name, c := range map[string]struct {
		options server.Options
		do      func(r *rig) *rawPeer
		code    int // counted; 1006 = without a close frame
		after   time.Duration
	}{
		"no hello": {server.Options{}, func(r *rig) *rawPeer { return r.dialPipe("nova=2") }, 1002, 10 * time.Second},
		"no attach": {server.Options{}, func(r *rig) *rawPeer {
			return r.greet(r.dialPipe("nova=2"), "session/1")
		}, 1002, 10 * time.Second},
		"silence": {server.Options{}, func(r *rig) *rawPeer { return r.greet(r.dialPipe()) }, 1006, 75 * time.Second},
		"nothing read": {server.Options{Heartbeat: -1}, func(r *rig) *rawPeer {
			r.greet(r.dialPipe())
			synctest.Wait()
			r.publish(nova.Broadcast(), 1)
			return nil
		}, 1013, 30 * time.Second},
		"a message that is never whole": {server.Options{Heartbeat: -1}, func(r *rig) *rawPeer {
			p := r.greet(r.dialPipe())
			p.write([]byte{0x82, 0xfe, 1, 0, 0, 0, 0, 0, 1})
			return p
		}, 1013, 30 * time.Second},
		"expired": {server.Options{Authenticate: readClaims(time.Now), LateAuth: time.Minute, Heartbeat: -1}, func(r *rig) *rawPeer {
			return r.enterPipe(claims{Expires: time.Minute})
		}, 4401, 75 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newQuietRig(t, hub.Options{}, c.options)
				began := time.Now()
				if p := c.do(r); p != nil {
					p.net.SetDeadline(time.Time{})
					go func() { // reads and does not answer
						for {
							if _, err := p.tryNext(); err != nil {
								return
							}
						}
					}()
				}
				for r.srv.Metrics().Closed[c.code] == 0 {
					if time.Since(began) > c.after+time.Minute {
						t.Fatalf("never closed: %v", r.srv.Metrics().Closed)
					}
					time.Sleep(100 * time.Millisecond)
					synctest.Wait()
				}
				// The sweeper looks a few times a second at the most.
				if took := time.Since(began); took < c.after-100*time.Millisecond || took > c.after+3500*time.Millisecond {
					t.Errorf("closed after %v, want %v", took, c.after)
				}
			})
		})
	}
}

func TestDefaultAcceptRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newQuietRig(t, hub.Options{}, server.Options{})
		enter := func() (let int) {
			for range 5000 { // no upgrades, but they are at the gate
				w := httptest.NewRecorder()
				r.srv.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/ws", nil))
				switch w.Code {
				case http.StatusBadRequest:
					let++
				case http.StatusServiceUnavailable:
				default:
					t.Fatal(w.Code)
				}
			}
			return let
		}
		if n := enter(); n != 2000 {
			t.Errorf("%d at once, want 2000", n)
		}
		time.Sleep(time.Second)
		if n := enter(); n < 999 || n > 1001 {
			t.Errorf("%d a second later, want 1000", n)
		}
	})
}

func TestDefaultHistoryIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newQuietRig(t, hub.Options{}, server.Options{})
		r.publish(nova.Topic("t"), 1)
		time.Sleep(10*time.Minute - time.Second)
		if n := r.hub.Metrics().Topics; n != 1 {
			t.Error("forgotten too early")
		}
		time.Sleep(62 * time.Second)
		synctest.Wait()
		if n := r.hub.Metrics().Topics; n != 0 {
			t.Error("not forgotten after 10 minutes")
		}
	})
}

func TestDefaultSizes(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	p, m := r.attach("", "", 0)
	if m.TTLMs != 60_000 || m.HeartbeatMs != 25_000 || m.MaxMessage != 64<<10 || m.Rate != 0 || m.Burst != 0 {
		t.Errorf("%+v", m)
	}
	c := r.hub.Client(m.ClientID)
	for n := range 128 {
		for _, err := range []error{c.Join(t.Context(), fmt.Sprint(n)), c.JoinGroup(t.Context(), fmt.Sprint(n))} {
			if err != nil {
				t.Fatal(n, err)
			}
		}
	}
	for _, err := range []error{c.Join(t.Context(), "one more"), c.JoinGroup(t.Context(), "one more")} {
		if nova.CodeOf(err) != nova.Exhausted {
			t.Errorf("the 129th: %v", err)
		}
	}
	c.Leave("0")
	for n, code := range map[int]nova.Code{255: nova.OK, 256: nova.Invalid} {
		if err := c.Join(t.Context(), strings.Repeat("x", n)); nova.CodeOf(err) != code {
			t.Errorf("a name of %d bytes: %v", n, err)
		}
	}
	// The largest frame that can be published is 1 MiB with its WebSocket header of 10.
	empty, err := market.TradeEvent.AppendFrame(nil, &market.Trade{})
	if err != nil {
		t.Fatal(err)
	}
	most := (1<<20 - 10 - len(empty)) &^ 7
	for n, code := range map[int]nova.Code{most - 8: nova.OK, most + 16: nova.Invalid} {
		err := market.TradeEvent.Publish(t.Context(), r.hub, nova.Topic("nobody"), &market.Trade{Symbol: strings.Repeat("x", n)})
		if nova.CodeOf(err) != code {
			t.Errorf("a frame of some %d bytes: %v", len(empty)+n, err)
		}
	}
	// What waits for a client without a socket: 1,024 frames.
	p.net.Close()
	r.detached(1)
	r.hub.Settle(t.Context())
	own, _ := c.Queued() // of the protocol itself, outside the bound
	for range 1024 {
		if err := market.TradeEvent.Publish(t.Context(), r.hub, nova.ClientID(m.ClientID), &market.Trade{}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "1,024 wait", func() bool { n, _ := c.Queued(); return n == own+1024 })
	if n := r.hub.Metrics().Dropped; n != 0 {
		t.Errorf("%d dropped of 1,024", n)
	}
	if err := market.TradeEvent.Publish(t.Context(), r.hub, nova.ClientID(m.ClientID), &market.Trade{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "one is dropped", func() bool { return r.hub.Metrics().Dropped == 1 })
	// Messages of 64 KiB, and one byte more.
	for n, code := range map[int]int{64 << 10: 0, 64<<10 + 1: 1009} {
		p := r.join("", "")
		p.write(ws.AppendMasked(nil, ws.Binary, make([]byte, n), [4]byte{}))
		if code == 0 {
			p.sync()
		} else {
			p.expectEnd(code, "message too big")
		}
	}
}

func TestDefaultUnauthenticatedPerAddress(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{LateAuth: time.Minute, Token: "x"})
	for range 10 {
		r.dial("?nova=2", "")
	}
	p := r.dial("?nova=2", "")
	var away control.Goaway
	p.control(control.GoawayID, &away)
	p.expectEnd(1013, "too many connections that are not authenticated")
}
