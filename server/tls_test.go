package server_test

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/session"
	"github.com/ignex/nova/wire/control"

	"bufio"
)

// TestTLS takes the ordinary path: no file descriptor, blocking writes.
func TestTLS(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	secure := httptest.NewTLSServer(r.srv)
	defer secure.Close()
	peers := make([]*rawPeer, 3)
	for i := range peers {
		p := dialTLS(t, secure)
		p.send(&control.Hello{Version: 2})
		p.sync()
		peers[i] = p
	}
	for n := 1; n <= 1000; n++ {
		r.publish(nova.Broadcast(), n)
	}
	for _, p := range peers {
		for n := 1; n <= 1000; n++ {
			if q := p.quote(uint64(n)); q.Ts != int64(n) {
				t.Fatalf("quote %d, want %d", q.Ts, n)
			}
		}
	}
	peers[0].write(ws.AppendMasked(nil, ws.Text, []byte("hi"), [4]byte{}))
	peers[0].expectEnd(1003, "text frame received")
	for _, p := range peers[1:] {
		p.net.Close()
	}
	eventually(t, "all are gone", func() bool { return r.srv.Metrics().Connections == 0 })
}

// dialTLS connects and reads hello and welcome.
func dialTLS(t *testing.T, secure *httptest.Server) *rawPeer {
	t.Helper()
	nc, err := tls.Dial("tcp", secure.Listener.Addr().String(), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	nc.SetDeadline(time.Now().Add(patience))
	fmt.Fprintf(nc, "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
	in := bufio.NewReader(nc)
	res, err := http.ReadResponse(in, nil)
	if err != nil || res.StatusCode != 101 {
		t.Fatal(res, err)
	}
	p := &rawPeer{t: t, net: nc, in: in, parser: ws.NewParser(false, 0)}
	p.frame()
	p.frame()
	return p
}

// When a stalled reader takes bytes again it gets the newest of each key, though
// its queue never reached a bound.
func TestConflationOverTLS(t *testing.T) {
	const frames, keys = 4000, 5
	r := newRig(t, hub.Options{Backpressure: hub.Backpressure{MaxFrames: 1 << 20, MaxBytes: 1 << 30, Policy: session.Disconnect}}, server.Options{})
	secure := httptest.NewTLSServer(r.srv)
	defer secure.Close()
	p := dialTLS(t, secure)
	p.send(&control.Hello{Version: 2, Caps: []string{"session/1"}})
	p.send(&control.Attach{})
	var m control.Session
	p.control(control.SessionID, &m)
	pad := fmt.Sprintf("%016000d", 0)
	for n := 1; n <= frames; n++ {
		q := quote(n)
		q.Symbol = fmt.Sprint(pad, n%keys)
		if err := market.QuoteEvent.Publish(t.Context(), r.hub, nova.Broadcast(), q); err != nil {
			t.Fatal(err)
		}
		if n != frames/2 {
			continue
		}
		written, same := uint64(0), 0 // what comes now stands behind the mark
		eventually(t, "the socket has been full for a while", func() bool {
			f := r.srv.Metrics().Hub.Frames
			if same++; f.Written != written {
				written, same = f.Written, 0
			}
			return f.Numbered == frames/2 && f.Unsent > keys && same > 20 // looks, a millisecond apart
		})
	}
	eventually(t, "all is queued", func() bool { return r.srv.Metrics().Hub.Frames.Numbered == frames })
	last, newest := uint64(0), map[string]int64{}
	for last < frames {
		head, payload := p.data()
		if head.ID == control.GapID {
			var gap control.Gap
			if err := gap.UnmarshalNova(payload); err != nil || uint64(gap.From) != last+1 || gap.Reason != 1 {
				t.Fatalf("%+v after %d, %v", gap, last, err)
			}
			last = uint64(gap.To)
			continue
		}
		var q market.Quote
		if err := q.UnmarshalNova(payload); err != nil || head.Seq != last+1 {
			t.Fatalf("%+v after %d, %v", head, last, err)
		}
		last, newest[q.Symbol] = head.Seq, q.Ts
	}
	for key, ts := range newest {
		if ts <= frames-keys {
			t.Errorf("the newest of %s is %d", key[len(pad):], ts)
		}
	}
	if n := r.srv.Metrics().Hub.Frames.Superseded; n == 0 {
		t.Error("nothing was superseded")
	}
}

// The shard writes to a TLS connection itself as long as its socket has room, in
// writes of every size. One that nobody reads must not hold up the others.
func TestStalledTLSHoldsUpNobody(t *testing.T) {
	for _, size := range []int{100, 3000, 15 << 10, 100 << 10} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			r := newRig(t, hub.Options{Shards: 1}, server.Options{})
			secure := httptest.NewTLSServer(r.srv)
			defer secure.Close()
			stalled, reading := dialTLS(t, secure), dialTLS(t, secure)
			stalled.net.(*tls.Conn).NetConn().(*net.TCPConn).SetReadBuffer(16 << 10)
			stalled.send(&control.Hello{Version: 2})
			reading.send(&control.Hello{Version: 2})
			stalled.sync()
			reading.sync()
			pad := strings.Repeat("x", size)
			for n, sent := 1, 0; sent < 1<<20; n, sent = n+1, sent+size {
				q := quote(n)
				q.Symbol = pad
				if err := market.QuoteEvent.Publish(t.Context(), r.hub, nova.Broadcast(), q); err != nil {
					t.Fatal(err)
				}
				if got := reading.quote(uint64(n)); got.Ts != int64(n) {
					t.Fatalf("quote %d, want %d", got.Ts, n)
				}
			}
			if n := r.srv.Metrics().Hub.Frames.Unsent; n == 0 {
				t.Error("the stalled socket took everything: nothing was tested")
			}
		})
	}
}

func TestHTTP2IsRefused(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	secure := httptest.NewUnstartedServer(r.srv)
	secure.EnableHTTP2 = true
	secure.StartTLS()
	defer secure.Close()
	res, err := secure.Client().Get(secure.URL)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusHTTPVersionNotSupported {
		t.Errorf("HTTP/2: %s", res.Status)
	}
}
