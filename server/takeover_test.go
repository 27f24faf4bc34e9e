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

// admins is an identity with more rights for connections that ask for it.
func admins(_ context.Context, c server.Credentials) (server.Identity, error) {
	if !c.Request.URL.Query().Has("admin") {
		return server.Identity{UserID: "u", Version: "1"}, nil
	}
	return server.Identity{UserID: "u", Topics: []string{"first", "admin"}, Groups: []string{"admins"}, Version: "2"}, nil
}

// An older connection whose authorisation is slow gives the session none of its
// rights once a newer one has it, and takes none away.
func TestOlderTakeoverChangesNothing(t *testing.T) {
	for _, slow := range []string{"t", "first"} { // a topic that it was in, and one that is new
		t.Run(slow, func(t *testing.T) {
			entered, finish := make(chan struct{}), make(chan error)
			var armed atomic.Bool
			r := newRig(t, hub.Options{AuthorizeTopic: func(_ context.Context, _ *nova.Client, topic string) error {
				if topic == slow && armed.Swap(false) {
					close(entered)
					return <-finish
				}
				return nil
			}}, server.Options{Authenticate: admins})
			p, m := r.attach("", "", 0)
			p.send(&control.TopicSubscribe{ID: 1, Topic: "t"})
			var sub control.TopicSubscribed
			p.expectFrame(control.TopicSubscribedID, 1, &sub)
			armed.Store(true)
			older := r.join("?nova=2&admin", "", "session/1", "topics/1")
			older.send(&control.Attach{Session: m.Session, LastSeq: 1})
			<-entered
			young, again := r.attach("", m.Session, 1)
			if !again.Recovered {
				t.Fatalf("%+v", again)
			}
			var verdict error
			if slow == "t" {
				verdict = nova.Errorf(nova.Denied, "not any more")
			}
			finish <- verdict
			older.expectEnd(1000, "replaced by newer session")
			young.sync()
			c := r.hub.Client(m.ClientID)
			if topics, groups := c.Topics(), c.Groups(); len(topics) != 1 || topics[0] != "t" || len(groups) != 0 {
				t.Errorf("topics %v groups %v", topics, groups)
			}
			// What the older one left undone is not taken for done by its version.
			armed.Store(true)
			entered = make(chan struct{})
			go func() { <-entered; finish <- verdict }()
			p, last := r.attach("&admin", m.Session, 1)
			if !last.Recovered {
				t.Fatalf("%+v", last)
			}
			p.sync()
			if got := c.Groups(); len(got) != 1 || got[0] != "admins" {
				t.Errorf("groups %v", got)
			}
			if slow == "first" {
				return
			}
			if topics := c.Topics(); len(topics) != 2 {
				t.Errorf("topics %v", topics)
			}
		})
	}
}
