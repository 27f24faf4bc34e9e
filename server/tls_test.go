package server_test

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/server"
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
		nc, err := tls.Dial("tcp", secure.Listener.Addr().String(), &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
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
