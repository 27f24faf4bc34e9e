package server_test

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/wire/control"
)

// Which close codes of a client end its session, and after which it may come back to it:
// the table of the protocol's document, code by code, and a cut without any.
func TestSessionsSurviveByCode(t *testing.T) {
	lives := map[int]bool{1006: true, 1011: true, 1012: true, 1013: true, 4000: true, 4401: true,
		1000: false, 1001: false, 1002: false, 1003: false, 1008: false, 1009: false, 4403: false}
	for code, lives := range lives {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			r := newRig(t, hub.Options{}, server.Options{})
			p, m := r.attach("", "", 0)
			if code != 1006 {
				p.write(ws.AppendMasked(nil, ws.Close, ws.AppendClosePayload(nil, code, ""), [4]byte{}))
			}
			p.net.Close()
			eventually(t, "the socket is gone", func() bool { return r.srv.Metrics().Connections == 0 })
			_, again := r.attach("", m.Session, 0)
			if again.Recovered != lives {
				t.Errorf("recovered %v, want %v", again.Recovered, lives)
			}
		})
	}
}

// While the server itself turns clients away their sessions wait for them longer than
// the TTL, and no longer than five times as long.
func TestRefusedClientsKeepTheirSessions(t *testing.T) {
	const ttl = 80 * time.Millisecond // the hub looks every 10 ms
	var shift, asked atomic.Int64
	r := newRig(t, hub.Options{Session: hub.SessionOptions{TTL: ttl}, Clock: func() time.Time {
		asked.Add(1)
		return time.Unix(1_700_000_000, shift.Load())
	}}, server.Options{MaxConnections: 1})
	pass := func(d time.Duration) { // and have the hub look at its sessions
		shift.Add(int64(d))
		from := asked.Load()
		eventually(t, "the hub looked", func() bool { return asked.Load() > from+6 })
	}
	refuse := func() {
		if _, res := r.tryDial("", ""); res.StatusCode != http.StatusServiceUnavailable {
			t.Fatal(res.Status)
		}
	}
	lose := func(p *rawPeer) (filler *rawPeer) {
		p.net.Close()
		eventually(t, "the socket is gone", func() bool { return r.srv.Metrics().Connections == 0 })
		r.detached(1)
		filler = r.join("", "")
		filler.sync()
		return filler
	}
	p, m := r.attach("", "", 0)
	filler := lose(p)
	for range 3 {
		pass(ttl * 3 / 4)
		refuse()
	}
	if r.hub.Metrics().Detached != 1 {
		t.Fatal("the session ended while its client was turned away")
	}
	filler.net.Close()
	eventually(t, "there is room", func() bool { return r.srv.Metrics().Connections == 0 })
	p, again := r.attach("", m.Session, 0)
	if !again.Recovered {
		t.Fatalf("%+v", again)
	}
	lose(p)
	for range 6 { // 4.5 times the TTL
		pass(ttl * 3 / 4)
		refuse()
	}
	if r.hub.Metrics().Detached != 1 {
		t.Fatal("the session ended before five times its TTL")
	}
	pass(ttl * 3 / 4)
	eventually(t, "five times the TTL is enough", func() bool { return r.hub.Metrics().Detached == 0 })
	if n := r.hub.Metrics().Expired; n != 1 {
		t.Errorf("%d expired", n)
	}
}

// And when nobody is turned away the TTL is the TTL, also for one that was once.
func TestARefusalOfLongAgoIsForgotten(t *testing.T) {
	const ttl = 2 * time.Second
	var shift atomic.Int64
	r := newRig(t, hub.Options{Session: hub.SessionOptions{TTL: ttl}, Clock: func() time.Time {
		return time.Unix(1_700_000_000, shift.Load())
	}}, server.Options{MaxConnections: 1})
	p, _ := r.attach("", "", 0)
	if _, res := r.tryDial("", ""); res.StatusCode != http.StatusServiceUnavailable {
		t.Fatal(res.Status)
	}
	p.net.Close()
	r.detached(1)
	shift.Add(int64(ttl + time.Second))
	eventually(t, "it expires", func() bool { return r.hub.Metrics().Expired == 1 })
}

// The hello that is said too late changes nothing any more.
func TestHelloTooLate(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	p := r.dial("", "")
	p.frame()
	p.frame()
	p.sync() // admitted by its first frame, as a base client
	p.send(&control.Hello{Version: 2, Caps: []string{"session/1", "topics/1", "batch/1"}})
	p.sync()
	p.send(&control.TopicSubscribe{ID: 1, Topic: "t"})
	p.sync()
	if n := r.hub.Metrics().Topics; n != 0 {
		t.Errorf("%d topics", n)
	}
}
