package server_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/wire/control"
)

// storm makes n upgrades at once and counts the answers by status.
func (r *rig) storm(n int, header func(i int) string) map[int]int {
	r.t.Helper()
	var mu sync.Mutex
	counts := map[int]int{}
	var wg sync.WaitGroup
	begin := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-begin
			_, res := r.tryDial("", header(i))
			mu.Lock()
			defer mu.Unlock()
			counts[res.StatusCode]++
		})
	}
	close(begin)
	wg.Wait()
	return counts
}

func nothing(int) string { return "" }

func TestMaxConnectionsIsExact(t *testing.T) {
	for _, slow := range []bool{false, true} {
		o := server.Options{MaxConnections: 100}
		var asked atomic.Int32
		if slow { // a hook that lets upgrades pile up behind the gate
			all := make(chan struct{})
			o.Authenticate = func(ctx context.Context, _ server.Credentials) (server.Identity, error) {
				if asked.Add(1) == 100 {
					close(all)
				}
				<-all
				return server.Identity{}, nil
			}
		}
		r := newRig(t, hub.Options{}, o)
		if got := r.storm(500, nothing); got[101] != 100 || got[503] != 400 {
			t.Fatalf("slow %v: %v", slow, got)
		}
		eventually(t, "the last one is counted", func() bool { return r.srv.Metrics().Accepted >= 100 }) // its answer went out before
		if m := r.srv.Metrics(); m.Connections != 100 || m.Refused != 400 || m.Accepted != 100 {
			t.Errorf("%+v", m)
		}
		if slow && asked.Load() != 100 {
			t.Errorf("the hook was asked %d times", asked.Load())
		}
	}
}

// Refused clients that are told so after the upgrade take no place, however long they
// stay; and a place comes back from an upgrade that failed for another reason.
func TestRefusedTakeNoPlace(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{MaxConnections: 2, MaxConnectionsPerIP: 2, Token: "x"})
	const good = "Authorization: Bearer x\r\n"
	for range 5 {
		r.dial("?nova=2", "") // 4401, and does not go
	}
	for range 5 {
		req, _ := http.NewRequest(http.MethodGet, r.web.URL+"/ws", nil)
		req.Header.Set("Authorization", "Bearer x")
		res, err := r.web.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusBadRequest {
			t.Fatal(res.Status)
		}
	}
	a, b := r.dial("", good), r.dial("", good)
	for range 3 {
		r.expectFull("", good, "", fullServer)
	}
	a.net.Close()
	eventually(t, "it is gone", func() bool { return r.srv.Metrics().Connections == 1 })
	r.dial("", good)
	b.frame()
}

func TestMaxConnectionsPerIP(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{MaxConnectionsPerIP: 3, TrustedProxies: []string{"127.0.0.0/8"}})
	from := func(i int) string { return fmt.Sprintf("X-Forwarded-For: 198.51.100.%d\r\n", i%10) }
	if got := r.storm(100, from); got[101] != 30 || got[503] != 70 {
		t.Errorf("%v", got)
	}
	// Of IPv6 a network of 64 bits is one.
	v6 := func(i int) string { return fmt.Sprintf("Forwarded: for=\"[2001:db8:0:%x::%x]:99\"\r\n", i%5, i) }
	if got := r.storm(50, v6); got[101] != 15 || got[503] != 35 {
		t.Errorf("IPv6: %v", got)
	}
	// Whoever is no trusted proxy is counted as who he is.
	r = newRig(t, hub.Options{}, server.Options{MaxConnectionsPerIP: 3})
	if got := r.storm(20, from); got[101] != 3 || got[503] != 17 {
		t.Errorf("untrusted: %v", got)
	}
}

func TestMaxConnectionsPerUser(t *testing.T) {
	var ends, begun atomic.Int32
	r := newRig(t, hub.Options{
		OnConnect:    func(context.Context, *nova.Client) { begun.Add(1) },
		OnDisconnect: func(context.Context, *nova.Client, hub.EndReason) { ends.Add(1) },
	}, server.Options{MaxConnectionsPerUser: 3, Authenticate: byQuery})
	// Exactly, and without a hook for those who are turned away.
	var in, out atomic.Int32
	var wg sync.WaitGroup
	for range 40 {
		wg.Go(func() {
			p := r.join("?nova=2&user=ann", "", "session/1")
			p.send(&control.Attach{})
			head, payload := p.data()
			switch head.ID {
			case control.SessionID:
				in.Add(1)
			case control.GoawayID:
				var away control.Goaway
				if err := away.UnmarshalNova(payload); err != nil || away.RetryAfterMs <= 0 {
					t.Errorf("%+v %v", away, err)
				}
				if code, reason := p.ended(); code != 1013 || reason != "too many connections of this user" {
					t.Errorf("closed %d %q", code, reason)
				}
				p.net.Close()
				out.Add(1)
			}
		})
	}
	wg.Wait()
	eventually(t, "the hooks ran", func() bool { return begun.Load() >= 3 })
	if in.Load() != 3 || out.Load() != 37 || r.hub.Len() != 3 || begun.Load() != 3 || ends.Load() != 0 {
		t.Errorf("%d in, %d out, %d sessions, %d begun, %d ended", in.Load(), out.Load(), r.hub.Len(), begun.Load(), ends.Load())
	}
	// Others are not concerned; nobody is not limited; a base client is.
	r.attach("&user=bob", "", 0)
	for range 5 {
		r.join("", "").sync()
	}
	p := r.join("?user=ann", "")
	if code, _ := p.ended(); code != 1013 {
		t.Errorf("a base client: closed %d", code)
	}
}

// A connection that takes a session over or replaces another one does not count twice,
// also while the network of the older one is dead and nobody knows.
func TestTakeoverAtTheLimit(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{MaxConnectionsPerUser: 2, Authenticate: byQuery})
	old, one := r.attach("&user=ann", "", 0)
	second, _ := r.attach("&user=ann&id=two", "", 0)
	for range 5 {
		p, again := r.attach("&user=ann", one.Session, 0)
		if !again.Recovered {
			t.Fatalf("%+v", again)
		}
		p.sync()
		q, _ := r.attach("&user=ann&id=two", "", 0)
		for _, replaced := range []*rawPeer{old, second} {
			replaced.expectEnd(1000, "replaced by newer session")
		}
		old, second = p, q
	}
	eventually(t, "two are left", func() bool { return r.srv.Metrics().Connections == 2 })
	p := r.join("?nova=2&user=ann", "", "session/1")
	p.send(&control.Attach{Session: "unknown.string"})
	if code, _ := p.ended(); code != 1013 {
		t.Errorf("a third: closed %d", code)
	}
	// A session whose socket is gone made room already.
	p, m := r.attach("&user=bob", "", 0)
	p.net.Close()
	r.detached(1)
	r.attach("&user=bob", "", 0)
	r.attach("&user=bob", "", 0)
	p = r.join("?nova=2&user=bob", "", "session/1")
	p.send(&control.Attach{Session: m.Session})
	if code, _ := p.ended(); code != 1013 {
		t.Errorf("bob's third: closed %d", code)
	}
	if r.srv.Metrics().Hub.Detached != 1 {
		t.Error("his session is gone")
	}
}

func TestAcceptRate(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{AcceptRate: 0.001, AcceptBurst: 7})
	if got := r.storm(20, nothing); got[101] != 7 || got[503] != 13 {
		t.Errorf("%v", got)
	}
	_, res := r.tryDial("?nova=2", "") // stays HTTP, it must stay cheap
	if res.StatusCode != 503 || res.Header.Get("Retry-After") == "" {
		t.Errorf("%s %v", res.Status, res.Header)
	}
}

// Thousands of handshakes that never end keep nobody out, and go by themselves.
func TestSlowloris(t *testing.T) {
	const half, silent = 4000, 1000
	r := newQuietRig(t, hub.Options{}, server.Options{HandshakeTimeout: 2 * time.Second, AcceptRate: -1})
	mux := http.NewServeMux()
	mux.Handle("/ws", r.srv)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	web := r.srv.HTTPServer(mux)
	var serving sync.WaitGroup
	serving.Go(func() { web.Serve(listener) })
	defer serving.Wait()
	defer web.Close()
	addr := listener.Addr().String()

	hold := make([]net.Conn, 0, half+silent)
	defer func() {
		for _, c := range hold {
			c.Close()
		}
	}()
	for i := range half + silent {
		from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(2+i%5))}}
		c, err := from.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		hold = append(hold, c)
		fmt.Fprintf(c, "GET /ws?nova=2 HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\n", addr)
		if i >= half { // upgraded, and no hello comes
			fmt.Fprint(c, "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
		}
	}
	began := time.Now()
	for range 50 {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(patience))
		fmt.Fprintf(c, "GET /ws HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
			"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", addr)
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || res.StatusCode != 101 {
			t.Fatal(res, err)
		}
	}
	t.Logf("50 upgrades beside %d open handshakes: %v", len(hold), time.Since(began))
	for i, c := range hold {
		c.SetReadDeadline(time.Now().Add(patience))
		var read []byte
		for buf := make([]byte, 1<<10); i < half || !bytes.Contains(read, []byte("no hello")); {
			n, err := c.Read(buf)
			if read = append(read, buf[:n]...); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatal("a handshake was never given up")
			} else if err != nil {
				break
			}
		}
		c.Close()
	}
	hold = nil
	eventually(t, "those who said nothing are gone", func() bool { return r.srv.Metrics().Connections == 50 && r.srv.Metrics().Closed[1002] == silent })
}
