package server_test

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/wire"
	"github.com/ignex/nova/wire/control"
)

// comeBack connects with a session string; the answer is nova.session, or why not.
func (r *rig) comeBack(query, header, text string) (*rawPeer, *control.Session, string) {
	r.t.Helper()
	p, res := r.tryDial("?nova=2"+query, header)
	if p == nil {
		r.t.Fatalf("upgrade answered %s", res.Status)
	}
	p.send(&control.Hello{Version: 2, Caps: []string{"session/1"}})
	p.send(&control.Attach{Session: text})
	var away control.Goaway
	for {
		m, err := p.tryNext()
		switch {
		case err == nil && m.op == ws.Close && (p.closed.Code == 1013) == (away.RetryAfterMs > 0):
			p.net.Close()
			return p, nil, p.closed.Reason
		case err != nil || m.op == ws.Close:
			r.t.Fatalf("%v, %+v, told to wait %d ms", err, p.closed, away.RetryAfterMs)
		}
		head, payload, err := wire.ParseFrame(m.data)
		var answer control.Session
		switch {
		case err == nil && head.ID == control.GoawayID:
			err = away.UnmarshalNova(payload)
		case err == nil && head.ID == control.SessionID:
			if err = answer.UnmarshalNova(payload); err == nil {
				return p, &answer, ""
			}
		}
		if err != nil {
			r.t.Fatal(err)
		}
	}
}

// expectBack takes the session of old over, which answers its close; nil: it does not.
func (r *rig) expectBack(old *rawPeer, query, header, text string) *rawPeer {
	r.t.Helper()
	p, m, why := r.comeBack(query, header, text)
	if m == nil || !m.Recovered {
		r.t.Fatalf("came back to %+v %s", m, why)
	}
	p.sync()
	if old != nil {
		old.expectEnd(1000, "replaced by newer session")
	}
	return p
}

func (r *rig) expectFull(query, header, text, want string) {
	r.t.Helper()
	if _, m, why := r.comeBack(query, header, text); m != nil || why != want {
		r.t.Fatalf("entered with %+v, or %q; want %q", m, why, want)
	}
}

func (r *rig) connections(n int) {
	r.t.Helper()
	eventually(r.t, fmt.Sprintf("%d connections", n), func() bool { return r.srv.Metrics().Connections == n })
}

const (
	fullServer  = "too many connections"
	fullAddress = "too many connections from this address"
)

// A client whose network died comes back to a full server although its old socket still
// counts, any number of times, and nobody else does.
func TestComeBackToAFullServer(t *testing.T) {
	for want, o := range map[string]server.Options{fullServer: {MaxConnections: 2}, fullAddress: {MaxConnectionsPerIP: 2}} {
		r := newRig(t, hub.Options{}, o)
		_, one := r.attach("", "", 0)
		_, two := r.attach("", "", 0)
		for _, text := range []string{one.Session, two.Session, one.Session} {
			r.expectBack(nil, "", "", text)
			r.connections(2) // the old one goes by itself, it answers nothing
		}
		r.expectFull("", "", "", want)
		r.expectFull("", "", "unknown.string", want)
		if _, res := r.tryDial("", ""); res.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("a base client: %s", res.Status)
		}
		r.connections(2)
		if m := r.srv.Metrics(); r.hub.Len() != 2 || m.Hub.Detached != 0 {
			t.Errorf("%d sessions, %d of them without a socket", r.hub.Len(), m.Hub.Detached)
		}
	}
}

// A place that is free is anybody's: whose socket is gone has none any more, and his
// session waits for him.
func TestComeBackAfterTheLossWasNoticed(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{MaxConnections: 2})
	a, one := r.attach("", "", 0)
	r.attach("", "", 0)
	a.net.Close()
	r.detached(1)
	r.connections(1)
	a = r.expectBack(nil, "", "", one.Session)
	r.connections(2)
	r.expectFull("", "", "", fullServer)
	b := r.expectBack(a, "", "", one.Session)
	r.connections(2)
	b.net.Close()
	r.detached(1)
	r.connections(1)
	r.attach("", "", 0)
	r.expectFull("", "", one.Session, fullServer)
	if n := r.srv.Metrics().Hub.Detached; n != 1 {
		t.Errorf("%d sessions wait", n)
	}
}

// A session of somebody else, or of another address, makes no room where there is none.
func TestComeBackNeedsOnesOwnPlace(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{MaxConnections: 2, Authenticate: byQuery})
	old, ann := r.attach("&user=ann", "", 0)
	bob, _ := r.attach("&user=bob&id=b", "", 0)
	r.expectFull("&user=eve", "", ann.Session, fullServer)
	r.expectFull("&user=eve&id=b", "", "", fullServer)
	r.expectBack(old, "&user=ann", "", ann.Session)
	r.connections(2)
	if _, m, why := r.comeBack("&user=bob&id=b", "", ""); m == nil || m.Recovered { // replaces its own
		t.Errorf("%+v %s", m, why)
	}
	bob.expectEnd(1000, "replaced by newer session")
	r.connections(2)
	r.expectFull("&user=bob", "", "", fullServer)

	from := func(i int) string { return fmt.Sprintf("X-Forwarded-For: 198.51.100.%d\r\n", i) }
	for most, want := range map[int]string{0: fullAddress, 2: fullServer} {
		r = newRig(t, hub.Options{}, server.Options{MaxConnections: most, MaxConnectionsPerIP: 1, TrustedProxies: []string{"127.0.0.0/8"}})
		a, one, _ := r.comeBack("", from(1), "")
		b, two, _ := r.comeBack("", from(2), "")
		r.expectFull("", from(2), one.Session, want)
		a = r.expectBack(a, "", from(3), one.Session) // moved; with a limit of two that is its own place
		r.connections(2)
		r.expectBack(b, "", from(2), two.Session)
		r.connections(2)
		r.expectFull("", from(2), one.Session, want)
		r.expectBack(a, "", from(1), one.Session)
	}
}

// Those that enter a full server and do not say what for are few, and keep nobody out
// for longer than they are there.
func TestSilentUpgradesBeyondTheLimit(t *testing.T) {
	for most, o := range map[int]server.Options{
		2: {MaxConnections: 8},
		8: {MaxConnectionsPerIP: 1}, // of one address
	} {
		r := newRig(t, hub.Options{}, o)
		old, one := r.attach("", "", 0)
		for range o.MaxConnections - 1 {
			r.attach("", "", 0)
		}
		full := max(o.MaxConnections, 1)
		var silent []*rawPeer
		for range most {
			p := r.dial("?nova=2", "")
			var m control.Welcome
			p.control(control.HelloID, &control.Hello{})
			p.control(control.WelcomeID, &m)
			silent = append(silent, p)
		}
		r.connections(full + most)
		p := r.dial("?nova=2", "")
		p.control(control.GoawayID, &control.Goaway{}) // at once
		p.expectEnd(1013, map[bool]string{true: fullServer, false: fullAddress}[o.MaxConnections > 0])
		for _, p := range silent {
			p.net.Close()
		}
		r.connections(full)
		r.expectBack(old, "", "", one.Session)
		r.connections(full)
	}
}

// Whoever comes, and in whatever order: as many as the limit allows are in, and after
// that as many places are free.
func TestComeBackIsExact(t *testing.T) {
	const most = 16
	r := newRig(t, hub.Options{}, server.Options{MaxConnections: most})
	texts, peers := make([]string, most), make([]*rawPeer, most+200)
	for i := range texts {
		p, m := r.attach("", "", 0)
		texts[i], peers[i] = m.Session, p
	}
	var in, back atomic.Int32
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			text := ""
			if i%4 > 0 {
				text = texts[i%most]
			}
			p, m, _ := r.comeBack("", "", text)
			if peers[most+i] = p; m != nil {
				in.Add(1)
				if m.Recovered {
					back.Add(1)
				}
			}
		})
	}
	wg.Wait()
	r.connections(most)
	if in.Load() != back.Load() || back.Load() == 0 || r.hub.Len() != most {
		t.Errorf("%d entered, %d of them came back, %d sessions", in.Load(), back.Load(), r.hub.Len())
	}
	t.Logf("%d came back", back.Load())
	r.expectFull("", "", "", fullServer)
	for _, p := range peers {
		p.net.Close()
	}
	r.connections(0)
	for range most {
		r.attach("", "", 0)
	}
	r.expectFull("", "", "", fullServer)
}
