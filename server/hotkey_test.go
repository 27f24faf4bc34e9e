package server_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/session"
	"github.com/ignex/nova/wire/control"
)

// narrow is a listener whose sockets take little at once, so that the queue is what waits.
type narrow struct{ net.Listener }

func (n narrow) Accept() (net.Conn, error) {
	nc, err := n.Listener.Accept()
	if err == nil {
		err = nc.(*net.TCPConn).SetWriteBuffer(8 << 10)
	}
	return nc, err
}

// A reader that trickles, and one key that changes with every other frame: it is not
// moved back for ever. A turn of the queue is at most MaxFrames frames, so of twice as
// many that come in a row at least one has that key. All keys have room.
func TestHotKeyIsWrittenEveryTurn(t *testing.T) {
	const frames, keys, bound, hot = 12_000, 60, 200, "hot"
	r := newQuietRig(t, hub.Options{Backpressure: hub.Backpressure{MaxFrames: bound, Policy: session.Disconnect}}, server.Options{})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.web = &httptest.Server{Listener: narrow{listener}, Config: &http.Server{Handler: r.srv}}
	r.web.Start()
	nc, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if err := nc.(*net.TCPConn).SetReadBuffer(16 << 10); err != nil {
		t.Fatal(err)
	}
	p := r.greet(r.upgrade(nc, "?nova=2", ""), "session/1")
	m := p.attach(control.Attach{})
	pad := fmt.Sprintf("%01000d", 0)
	last, since, turns, newest := uint64(0), 0, 0, int64(0)
	read := func() {
		head, payload := p.data()
		if head.ID == control.GapID {
			var gap control.Gap
			if err := gap.UnmarshalNova(payload); err != nil || uint64(gap.From) != last+1 {
				t.Fatalf("%+v after %d, %v", gap, last, err)
			}
			last = uint64(gap.To)
			return
		}
		var q market.Quote
		if err := q.UnmarshalNova(payload); err != nil || head.Seq != last+1 {
			t.Fatalf("%+v after %d, %v", head, last, err)
		}
		last, since = head.Seq, since+1
		if q.Symbol == hot {
			since, newest = 0, q.Ts
			turns++
		}
		if since > 2*bound {
			t.Fatalf("%d frames in a row without the hot key, up to number %d", since, last)
		}
	}
	for n := int64(1); n <= frames; n++ {
		q := &market.Quote{Symbol: hot, Ts: n}
		if n%2 == 1 {
			q.Symbol = fmt.Sprint(n/2%keys, pad) // cold
		}
		if err := market.QuoteEvent.Publish(t.Context(), r.hub, nova.ClientID(m.ClientID), q); err != nil {
			t.Fatal(err)
		}
		if n > 1_000 && n%10 == 0 { // three are taken while ten come
			p.net.SetDeadline(time.Now().Add(patience))
			for range 3 {
				read()
			}
		}
	}
	for last < frames {
		read()
	}
	if newest != frames {
		t.Errorf("the newest value of the hot key is %d, want %d", newest, frames)
	}
	if f := r.srv.Metrics().Hub.Frames; f.Superseded == 0 {
		t.Errorf("nothing was superseded: %+v", f)
	}
	t.Logf("%d turns", turns)
}
