package client_test

import (
	"testing"
	"testing/synctest"

	"github.com/ignex/nova"
	"github.com/ignex/nova/client"
	"github.com/ignex/nova/wire"
	"github.com/ignex/nova/wire/control"
)

// numbered sends a control frame at its place in the stream.
func (p *peer) numbered(seq uint64, m appender) {
	p.t.Helper()
	frame := encode(m)
	wire.Stamp(frame, seq)
	p.send(frame)
}

// The server's word that it put us into a topic may be older than our leave: who
// subscribes again asks, whatever was told meanwhile.
func TestSubscribeAsksAfterACrossedJoin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		var r record
		c, p := f.session(r.options(), control.Session{})
		s, _ := c.Subscribe(t.Context(), "t")
		p.expect(`nova.subscribe 1 t "" 0`)
		p.numbered(1, &control.TopicSubscribed{ID: 1, Topic: "t", Epoch: "e"})
		synctest.Wait()
		s.Close()
		p.expect("unsubscribe t")
		// A handler put the client there before the server read that.
		p.numbered(2, &control.TopicSubscribed{Topic: "t", Epoch: "e", Offset: 5})
		synctest.Wait()
		again, _ := c.Subscribe(t.Context(), "t")
		p.expect(`nova.subscribe 2 t "e" 5`)
		p.numbered(3, &control.TopicUnsubscribed{Topic: "t"}) // of the time before it, too
		r.is(t, "")
		// The answer is lost with the socket.
		p.conn.Close()
		p = f.next()
		p.attached(`attach "n.1" 3`, control.Session{Session: "n.1", Recovered: true, NextSeq: 4})
		p.expect("unsubscribe t", `nova.subscribe 2 t "e" 5`)
		p.numbered(4, &control.TopicSubscribed{ID: 2, Topic: "t", Epoch: "e", Offset: 5, Recovered: true})
		r.is(t, "unavailable, recovered true")
		if !again.Recovered() {
			t.Error("the subscription is not known to be whole")
		}
		p.numbered(5, &control.TopicUnsubscribed{Topic: "t", Code: int64(nova.Denied)})
		r.is(t, "denied")
		shut(t, c, p)
	})
}

// Topics of an attach without an answer are asked for like the others when the next
// server has no sessions.
func TestListedTopicsAfterALostAttach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		c, p := f.session(client.Options{}, control.Session{})
		_, _ = c.Subscribe(t.Context(), "t")
		p.expect(`nova.subscribe 1 t "" 0`)
		p.numbered(1, &control.TopicSubscribed{ID: 1, Topic: "t", Epoch: "e"})
		synctest.Wait()
		p.conn.Close()
		p = f.next()
		p.welcome("session/1", "topics/1")
		p.expect("hello 2 [session/1 topics/1 batch/1 calls/1] 0", `attach "n.1" 1 t@e:0`)
		p.conn.Close()
		p = f.next()
		p.welcome()
		p.expect("hello 2 [session/1 topics/1 batch/1 calls/1] 0", "subscribe t")
		shut(t, c, p)
	})
}

// A limit of nothing is refused, also where the options have no effect, and leaves
// no trace.
func TestBadLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		c, p := f.session(client.Options{}, control.Session{})
		for _, limit := range []int{0, -1} {
			if _, err := c.Subscribe(t.Context(), "t", client.Limit(limit)); nova.CodeOf(err) != nova.Invalid {
				t.Errorf("limit %d: %v", limit, err)
			}
		}
		if _, err := c.Subscribe(t.Context(), "t"); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Subscribe(t.Context(), "t", client.Limit(0)); nova.CodeOf(err) != nova.Invalid {
			t.Errorf("second subscription: %v", err)
		}
		p.expect(`nova.subscribe 1 t "" 0`)
		shut(t, c, p)
	})
}
