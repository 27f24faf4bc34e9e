package server_test

import (
	"bufio"
	"fmt"
	"net"
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
	"github.com/ignex/nova/session"
	"github.com/ignex/nova/wire/control"
)

// pipeWriter hands over one end of a pipe as the connection of a request.
type pipeWriter struct {
	*httptest.ResponseRecorder
	nc net.Conn
}

func (w pipeWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return w.nc, bufio.NewReadWriter(bufio.NewReader(w.nc), bufio.NewWriter(w.nc)), nil
}

// dialPipe connects over a pipe: each write waits until the peer has read all of it.
func (r *rig) dialPipe(query ...string) *rawPeer {
	r.t.Helper()
	ours, theirs := net.Pipe()
	ours.SetDeadline(time.Now().Add(patience))
	r.t.Cleanup(func() { ours.Close() })
	req := httptest.NewRequest(http.MethodGet, "/ws?"+strings.Join(query, "&"), nil)
	for name, value := range map[string]string{"Upgrade": "websocket", "Connection": "Upgrade",
		"Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="} {
		req.Header.Set(name, value)
	}
	go r.srv.ServeHTTP(pipeWriter{httptest.NewRecorder(), theirs}, req)
	in := bufio.NewReader(ours)
	res, err := http.ReadResponse(in, nil)
	if err != nil || res.StatusCode != http.StatusSwitchingProtocols {
		r.t.Fatal(res, err)
	}
	return &rawPeer{t: r.t, net: ours, in: in, parser: ws.NewParser(false, 0)}
}

// attachPipe is attach over a pipe.
func (r *rig) attachPipe() *rawPeer {
	r.t.Helper()
	p := r.greet(r.dialPipe(), "session/1", "topics/1")
	p.attach(control.Attach{})
	return p
}

// unsent waits until so many frames are queued.
func (r *rig) unsent(n int) {
	r.t.Helper()
	eventually(r.t, fmt.Sprint(n, " frames are queued"), func() bool { return r.hub.Metrics().Frames.Unsent == uint64(n) })
}

// A connection that had nothing to write for long has all of WriteStall for what
// comes then, and no more.
func TestWriteStallCountsFromTheWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newQuietRig(t, hub.Options{}, server.Options{WriteStall: 2 * time.Second, Heartbeat: -1})
		p := r.greet(r.dialPipe())
		p.sync()
		time.Sleep(time.Minute)
		r.publish(nova.Broadcast(), 1)
		time.Sleep(time.Second)
		if m := r.srv.Metrics(); m.Connections != 1 {
			t.Fatalf("%d connections, closed %v", m.Connections, m.Closed)
		}
		time.Sleep(2 * time.Second)
		if m := r.srv.Metrics(); m.Connections != 0 || m.Closed[1013] != 1 {
			t.Errorf("%d connections, closed %v", m.Connections, m.Closed)
		}
	})
}

// What a snapshot brought is withdrawn when the application takes the client out,
// from the log as well.
func TestSnapshotsAreWithdrawn(t *testing.T) {
	const frames = 20
	for _, logged := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			options := hub.Options{}
			if logged {
				options = loggedOptions(memoryLog(t, 1000))
			}
			r := newQuietRig(t, options, server.Options{})
			for n := 1; n <= frames; n++ {
				r.publish(nova.Topic("t"), n)
			}
			if logged {
				synctest.Wait() // the log has them
				r = newQuietRig(t, options, server.Options{})
			}
			p := r.attachPipe()
			p.send(&control.TopicSubscribe{ID: 1, Topic: "t", Offset: -1})
			p.subscribed()
			r.publish(nova.Broadcast(), 100)
			synctest.Wait() // it is being written, and nobody reads: what follows is queued
			p.send(&control.SnapshotRequest{Topic: "t"})
			r.unsent(1 + frames)
			r.hub.Client(p.id).Leave("t")
			p.expectQuote(2, 100)
			var gap control.Gap
			p.expectFrame(control.GapID, 0, &gap)
			if gap.Reason != int64(session.Withdrawn) || gap.To-gap.From+1 != frames {
				t.Errorf("logged %v: %+v, want %d frames withdrawn", logged, gap, frames)
			}
		})
	}
}

// Snapshots of several topics do not supersede each other's newest values, from the
// log as well.
func TestSnapshotsKeepTopicsApart(t *testing.T) {
	const keys = 10
	topics := []string{"a", "b", "c"}
	for _, logged := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			options := hub.Options{}
			if logged {
				options = loggedOptions(memoryLog(t, 1000))
			}
			options.Backpressure.Policy = session.Disconnect
			r := newQuietRig(t, options, server.Options{})
			for i, topic := range topics {
				for n := range keys {
					q := quote(n)
					q.Ts = int64(1000*i + n)
					if err := market.QuoteEvent.Publish(t.Context(), r.hub, nova.Topic(topic), q); err != nil {
						t.Fatal(err)
					}
				}
			}
			if logged {
				synctest.Wait() // the log has them
				r = newQuietRig(t, options, server.Options{})
			}
			p := r.attachPipe()
			r.publish(nova.ClientID(p.id), 100)
			synctest.Wait() // it is being written
			r.publish(nova.ClientID(p.id), 200)
			r.publish(nova.ClientID(p.id), 200) // supersedes the one before
			for _, topic := range topics {
				p.send(&control.SnapshotRequest{Topic: topic})
			}
			r.unsent(3 + len(topics)*keys)
			time.Sleep(time.Second) // a write waits for the reader that long
			seen := map[int64]bool{}
			for len(seen) < 2+len(topics)*keys {
				head, payload := p.data()
				var q market.Quote
				if head.ID == market.QuoteEvent.ID() && q.UnmarshalNova(payload) == nil {
					seen[q.Ts] = true
				}
			}
			if f := r.hub.Metrics().Frames; f.Superseded != 1 {
				t.Errorf("logged %v: %d superseded", logged, f.Superseded)
			}
		})
	}
}
