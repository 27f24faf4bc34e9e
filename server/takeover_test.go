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

// slowSeed is a rig whose first authorisation of a topic waits, and the hooks told.
func slowSeed(t *testing.T, authenticate func(context.Context, server.Credentials) (server.Identity, error)) (r *rig, entered, finish chan struct{}, log chan string) {
	entered, finish, log = make(chan struct{}), make(chan struct{}), make(chan string, 100)
	var first atomic.Bool
	first.Store(true)
	note := func(what string) func(context.Context, *nova.Client) {
		return func(context.Context, *nova.Client) { log <- what }
	}
	return newRig(t, hub.Options{
		AuthorizeTopic: func(context.Context, *nova.Client, string) error {
			if first.Swap(false) {
				close(entered)
				<-finish
			}
			return nil
		},
		OnConnect: note("connect"), OnRestored: note("restored"),
		OnDisconnect: func(_ context.Context, _ *nova.Client, why hub.EndReason) { log <- why.String() },
	}, server.Options{Authenticate: authenticate}), entered, finish, log
}

func expectHooks(t *testing.T, log chan string, want ...string) {
	t.Helper()
	for _, w := range want {
		if got := <-log; got != w {
			t.Fatalf("hook %q, want %q", got, w)
		}
	}
}

// A session that is replaced while its topics are still being authorised ends after
// it has begun.
func TestConnectIsToldBeforeTheEnd(t *testing.T) {
	r, entered, finish, log := slowSeed(t, func(context.Context, server.Credentials) (server.Identity, error) {
		return server.Identity{ClientID: "me", Topics: []string{"t", "u"}}, nil
	})
	a := r.join("?nova=2", "", "session/1", "topics/1")
	a.send(&control.Attach{})
	<-entered
	r.attach("", "", 0)
	expectHooks(t, log, "connect") // of the newer one
	close(finish)
	expectHooks(t, log, "connect", "replaced")
	a.expectEnd(1000, "replaced by newer session")
	for _, topic := range []string{"t", "u"} {
		if n := r.publish(nova.Topic(topic), 1).Members; n != 1 {
			t.Errorf("%s has %d members", topic, n)
		}
	}
}

// A takeover meanwhile is told behind the connect, and what the first socket still
// had to join is not joined.
func TestConnectIsToldBeforeATakeover(t *testing.T) {
	r, entered, finish, log := slowSeed(t, nil)
	a := r.join("?nova=2", "", "session/1", "topics/1")
	a.send(&control.Attach{Topics: []control.Cursor{{Topic: "t"}, {Topic: "u"}}})
	<-entered
	r.publish(nova.Broadcast(), 1) // takes the session's string along
	var m control.Session
	a.control(control.SessionID, &m)
	b, again := r.attach("", m.Session, 0)
	if !again.Recovered {
		t.Fatalf("%+v", again)
	}
	b.expectQuote(1, 1)
	close(finish)
	expectHooks(t, log, "connect", "restored")
	b.after(2)
	if topics := r.hub.Client(m.ClientID).Topics(); len(topics) != 1 || topics[0] != "after" {
		t.Errorf("topics %v", topics)
	}
}
