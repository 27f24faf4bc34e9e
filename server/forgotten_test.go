package server_test

import (
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/wire/control"
)

// 10,000 topics, once they are empty and their history is forgotten, leave no memory,
// whoever was in them and however they were left.
func TestEmptyTopicsLeaveNoMemory(t *testing.T) {
	const topics, clients = 10_000, 100
	var shift atomic.Int64
	r := newRig(t, hub.Options{
		History: hub.History{Idle: 4 * time.Second},
		Clock:   func() time.Time { return time.Unix(1_700_000_000, shift.Load()) },
		Session: hub.SessionOptions{TTL: -1},
	}, server.Options{AcceptRate: -1})
	stays := r.join("", "", "topics/1")
	stays.sync()
	round := func(round int) {
		for c := range clients {
			nc, err := net.Dial("tcp", r.web.Listener.Addr().String()) // which no clean-up keeps
			if err != nil {
				t.Fatal(err)
			}
			p := r.greet(r.upgrade(nc, "", ""), "topics/1")
			topic := func(n int) string { return fmt.Sprint("round ", round, " client ", c, " topic ", n) }
			for n := range topics / clients {
				p.send(&control.TopicSubscribe{ID: 1, Topic: topic(n), Offset: -1})
			}
			for range topics / clients {
				p.subscribed()
			}
			for n := 0; n < topics/clients; n += 2 {
				r.publish(nova.Topic(topic(n)), n) // has a history
			}
			for n := 0; n < topics/clients; n += 2 {
				p.place()
			}
			for n := 0; n < topics/clients; n += 3 {
				p.send(&control.Unsubscribe{Topic: topic(n)})
			}
			p.sync()
			p.net.Close() // leaves the others
		}
		eventually(t, "the clients are gone", func() bool { return r.hub.Len() == 1 })
		if n := r.hub.Metrics().Topics; n != topics/2 {
			t.Errorf("%d topics are kept, those with a history are %d", n, topics/2)
		}
		shift.Add(int64(time.Minute))
		eventually(t, "the topics are forgotten", func() bool { m := r.hub.Metrics(); return m.Topics == 0 && m.HistoryBytes == 0 })
	}
	round(0)
	round(1) // maps and pools have their size now
	before := int64(heap())
	round(2)
	round(3)
	grown := int64(heap()) - before
	t.Logf("%d bytes after 2 × %d topics", grown, topics)
	if grown > 2*topics*16 { // a name alone, or an entry of a map, is more for each
		t.Errorf("2 × %d topics left %d bytes", topics, grown)
	}
}
