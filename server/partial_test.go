package server_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/server"
)

// Unfinished messages are bounded over all connections: the one that goes beyond the
// bound ends, the others and those who come after are served.
func TestPartialMessagesAreBounded(t *testing.T) {
	const size, most = 8 << 10, 64 << 10
	r := newRig(t, hub.Options{}, server.Options{MaxMessageSize: size, MaxPartialBytes: most})
	whole := ws.AppendMasked(nil, ws.Binary, make([]byte, size), [4]byte{1, 2, 3, 4})
	held := func() int64 { return r.srv.Metrics().PartialBytes }
	var peers []*rawPeer
	for held() < most-2*size {
		before := held()
		p := r.join("", "")
		p.sync()
		p.write(whole[:size/2])
		eventually(t, "it is counted", func() bool { return held() >= before+size/2-8 })
		peers = append(peers, p)
	}
	var ended *rawPeer
	for ended == nil {
		before := held()
		p := r.join("", "")
		p.sync()
		p.write(whole[:size/2])
		eventually(t, "it is counted or closed", func() bool { return held() > before || r.srv.Metrics().Closed[1013] > 0 })
		if r.srv.Metrics().Closed[1013] > 0 {
			ended = p
		} else {
			peers = append(peers, p)
		}
	}
	ended.expectEnd(1013, "too many unfinished messages")
	if n := held(); n > most || n < most/2 {
		t.Errorf("%d bytes held", n)
	}
	for i, p := range peers {
		if i%2 == 0 {
			p.write(whole[size/2:])
			p.sync()
		} else {
			p.net.Close()
		}
	}
	eventually(t, "nothing is held", func() bool { return held() == 0 })
	if m := r.srv.Metrics(); m.Hub.Undecodable != uint64((len(peers)+1)/2) || m.Closed[1013] != 1 {
		t.Errorf("%d undecodable of %d peers, closed %v", m.Hub.Undecodable, len(peers), m.Closed)
	}
}

// A message has to be complete within 30 s of its beginning, however its bytes
// trickle; each message has its own time.
func TestPartialMessagesAreTimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newQuietRig(t, hub.Options{}, server.Options{})
		p := r.greet(r.dialPipe())
		p.net.SetDeadline(time.Now().Add(time.Hour))
		p.sync()
		message := ping()
		for range 5 { // 25 s each
			for i := range message {
				p.write(message[i : i+1])
				if i < 25 {
					time.Sleep(time.Second)
				}
			}
			p.frame()
		}
		start, done := time.Now(), make(chan struct{})
		go func() {
			defer close(done)
			for i := range message {
				if _, err := p.net.Write(message[i : i+1]); err != nil {
					return
				}
				time.Sleep(2 * time.Second)
			}
		}()
		for p.closed == nil {
			if _, err := p.tryNext(); err != nil {
				t.Fatal(err)
			}
		}
		if d := time.Since(start); p.closed.Code != 1013 || d < 30*time.Second || d > 50*time.Second {
			t.Errorf("closed %v after %v", p.closed, d)
		}
		p.net.Close()
		<-done
		synctest.Wait()
		if m := r.srv.Metrics(); m.Connections != 0 || m.PartialBytes != 0 {
			t.Errorf("%d connections, %d bytes", m.Connections, m.PartialBytes)
		}
	})
}

// A message that the server itself does not read is not late.
func TestPartialMessagesOfHeldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newQuietRig(t, hub.Options{}, server.Options{Heartbeat: -1,
			RateLimit: server.RateLimit{MessagesPerSecond: 0.01, Burst: 1}})
		got := r.times()
		p := r.greet(r.dialPipe())
		p.net.SetDeadline(time.Now().Add(time.Hour))
		block := quotes(t, 1, 2, false)
		half := len(block)*3/4 + 1
		p.write(block[:20]) // a part, before the wait begins
		time.Sleep(time.Second)
		p.write(block[20:half])
		p.write(block[half:]) // read after 100 s
		time.Sleep(300 * time.Second)
		synctest.Wait()
		got.expect(t, map[int]time.Duration{1: 100 * time.Second, 2: 200 * time.Second})
	})
}
