package server_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/session"
	"github.com/ignex/nova/wire/control"
)

// What a snapshot brought of a topic that the client never joined is not written again
// once the client may not have it any more: authorised again when it comes back, or
// taken from it by the application, from the log of a topic nobody is in as well.
func TestRevokedSnapshots(t *testing.T) {
	const frames = 3
	for name, c := range map[string]struct {
		logged  bool
		revoke  func(c *nova.Client, banned *atomic.Bool)
		written bool
	}{
		"denied":             {false, func(_ *nova.Client, banned *atomic.Bool) { banned.Store(true) }, false},
		"left":               {false, func(c *nova.Client, _ *atomic.Bool) { c.Leave("t") }, false},
		"denied, of the log": {true, func(_ *nova.Client, banned *atomic.Bool) { banned.Store(true) }, false},
		"left, of the log":   {true, func(c *nova.Client, _ *atomic.Bool) { c.Leave("t") }, false},
		"not revoked":        {false, func(c *nova.Client, _ *atomic.Bool) { c.Leave("other") }, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var banned atomic.Bool
				options := hub.Options{}
				if c.logged {
					options = loggedOptions(memoryLog(t, 1000))
				}
				options.AuthorizeTopic = func(_ context.Context, _ *nova.Client, topic string) error {
					if topic == "t" && banned.Load() {
						return nova.Errorf(nova.Denied, "not any more")
					}
					return nil
				}
				r := newQuietRig(t, options, server.Options{})
				for n := 1; n <= frames; n++ {
					r.publish(nova.Topic("t"), n)
				}
				if c.logged {
					synctest.Wait() // the log has them
					r = newQuietRig(t, options, server.Options{})
				}
				p := r.greet(r.dialPipe(), "session/1", "topics/1")
				m := p.attach(control.Attach{})
				p.send(&control.SnapshotRequest{Topic: "t"})
				for n := 1; n <= frames; n++ {
					p.expectQuote(uint64(n), int64(n))
				}
				p.net.Close()
				r.detached(1)
				c.revoke(r.hub.Client(m.ClientID), &banned)
				p = r.greet(r.dialPipe(), "session/1", "topics/1")
				if again := p.attach(control.Attach{Session: m.Session}); !again.Recovered {
					t.Fatalf("%+v", again)
				}
				if c.written {
					p.expectQuote(1, 1)
					return
				}
				var gap control.Gap
				p.expectFrame(control.GapID, 0, &gap)
				if gap.From != 1 || gap.To != frames || gap.Reason != int64(session.Withdrawn) {
					t.Errorf("%+v, want %d frames withdrawn", gap, frames)
				}
			})
		})
	}
}

// Of the snapshots of more topics than are remembered all are written, and only the
// newest of them again.
func TestSnapshotsBeyondTheBound(t *testing.T) {
	r := newRig(t, hub.Options{MaxTopicsPerClient: 2}, server.Options{})
	p, m := r.attach("", "", 0)
	topics := []string{"a", "b", "c", "d"}
	for i, topic := range topics {
		r.publish(nova.Topic(topic), i+1)
		p.send(&control.SnapshotRequest{Topic: topic})
		p.expectQuote(uint64(i+1), int64(i+1))
	}
	p.net.Close()
	r.detached(1)
	p, again := r.attach("", m.Session, 0)
	if !again.Recovered {
		t.Fatalf("%+v", again)
	}
	var gap control.Gap
	p.expectFrame(control.GapID, 0, &gap)
	if gap.From != 1 || gap.To != 2 || gap.Reason != int64(session.Withdrawn) {
		t.Errorf("%+v", gap)
	}
	for i := 2; i < len(topics); i++ {
		p.expectQuote(uint64(i+1), int64(i+1))
	}
}
