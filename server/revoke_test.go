package server_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/wire/control"
)

// What was queued of a topic or group that the client left by itself is written all
// the same, also again over another socket, unless it is revoked: then never again.
func TestRevokedAfterTheClientLeft(t *testing.T) {
	topicIn, topicOut := &control.Subscribe{Topic: "t"}, &control.Unsubscribe{Topic: "t"}
	groupIn, groupOut := &control.JoinGroup{Group: "g"}, &control.LeaveGroup{Group: "g"}
	for name, c := range map[string]struct {
		enter   frameWriter
		exit    frameWriter
		to      nova.Target
		revoke  func(c *nova.Client, banned *atomic.Bool)
		written bool
	}{
		"topic":        {topicIn, topicOut, nova.Topic("t"), func(c *nova.Client, _ *atomic.Bool) { c.Leave("t") }, false},
		"group":        {groupIn, groupOut, nova.Group("g"), func(c *nova.Client, _ *atomic.Bool) { c.LeaveGroup("g") }, false},
		"topic denied": {topicIn, topicOut, nova.Topic("t"), func(_ *nova.Client, banned *atomic.Bool) { banned.Store(true) }, false},
		"group denied": {groupIn, groupOut, nova.Group("g"), func(_ *nova.Client, banned *atomic.Bool) { banned.Store(true) }, false},
		"not revoked":  {topicIn, topicOut, nova.Topic("t"), func(c *nova.Client, _ *atomic.Bool) { c.Leave("other") }, true},
	} {
		t.Run(name, func(t *testing.T) {
			var banned atomic.Bool
			may := func(context.Context, *nova.Client, string) error {
				if banned.Load() {
					return nova.Errorf(nova.Denied, "not any more")
				}
				return nil
			}
			r := newRig(t, hub.Options{AuthorizeTopic: may, AuthorizeGroup: may}, server.Options{})
			p := r.join("?nova=2", "", "session/1")
			p.send(&control.Attach{})
			var m control.Session
			p.control(control.SessionID, &m)
			client := r.hub.Client(m.ClientID)
			rooms := func() int { return len(client.Topics()) + len(client.Groups()) }
			p.send(c.enter)
			eventually(t, "the client is in", func() bool { return rooms() == 1 })
			r.publish(c.to, 1)
			p.expectQuote(1, 1)
			p.send(c.exit)
			eventually(t, "the client is out", func() bool { return rooms() == 0 })
			p.net.Close()
			r.detached(1)
			c.revoke(client, &banned)
			p, again := r.attach("", m.Session, 0)
			if !again.Recovered {
				t.Fatalf("%+v", again)
			}
			if c.written {
				p.expectQuote(1, 1)
				return
			}
			var gap control.Gap
			p.expectFrame(control.GapID, 0, &gap)
			if gap.From != 1 || gap.To != 1 || gap.Reason != 3 {
				t.Fatalf("%+v", gap)
			}
		})
	}
}

// Of what a client leaves faster than it reads, only so much is remembered: the rest
// is withdrawn with the leave.
func TestLeavesBeyondTheBound(t *testing.T) {
	r := newRig(t, hub.Options{MaxTopicsPerClient: 1}, server.Options{})
	p, m := r.attach("", "", 0)
	for i, topic := range []string{"a", "b"} {
		p.send(&control.TopicSubscribe{ID: 1, Topic: topic})
		var sub control.TopicSubscribed
		p.expectFrame(control.TopicSubscribedID, uint64(2*i+1), &sub)
		r.publish(nova.Topic(topic), i+1)
		p.expectQuote(uint64(2*i+2), int64(i+1))
		p.send(&control.Unsubscribe{Topic: topic})
		p.sync()
	}
	r.publish(nova.Broadcast(), 9)
	p.expectQuote(5, 9) // behind the withdrawal
	p.net.Close()
	r.detached(1)
	p, _ = r.attach("", m.Session, 1)
	p.expectQuote(2, 1)
	var sub control.TopicSubscribed
	p.expectFrame(control.TopicSubscribedID, 3, &sub)
	var gap control.Gap
	p.expectFrame(control.GapID, 0, &gap)
	if gap.From != 4 || gap.To != 4 || gap.Reason != 3 {
		t.Fatalf("%+v", gap)
	}
}
