package server_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/wire/control"
)

// While AuthorizeTopic takes its time over one client the others, on real sockets, join,
// leave and get what is published as without it: all of their round trips are over before
// the hook is let go on.
func TestSlowAuthorizeTopicOverSockets(t *testing.T) {
	const others, rounds = 20, 20
	begun, finish := make(chan struct{}), make(chan struct{})
	r := newRig(t, hub.Options{AuthorizeTopic: func(_ context.Context, c *nova.Client, _ string) error {
		if c.User() == "slow" {
			close(begun)
			<-finish
		}
		return nil
	}}, server.Options{Authenticate: userFromQuery})
	var peers []*rawPeer
	for range others {
		p := r.join("", "", "topics/1")
		p.sync()
		peers = append(peers, p)
	}
	trips := func(what string) time.Duration {
		took := make([]time.Duration, others*rounds)
		var all sync.WaitGroup
		for i, p := range peers {
			all.Go(func() {
				for n := range rounds {
					topic := fmt.Sprint(what, i, n)
					began := time.Now()
					p.net.SetDeadline(began.Add(patience))
					p.send(&control.TopicSubscribe{ID: 1, Topic: topic, Offset: -1})
					p.subscribed()
					r.publish(nova.Topic(topic), n)
					if ts, _ := p.place(); ts != int64(n) {
						t.Errorf("quote %d, want %d", ts, n)
					}
					p.send(&control.Unsubscribe{Topic: topic})
					p.sync()
					took[i*rounds+n] = time.Since(began)
				}
			})
		}
		all.Wait()
		slices.Sort(took)
		return took[len(took)*99/100]
	}
	alone := trips("alone")
	slow := r.join("?user=slow", "", "topics/1")
	slow.send(&control.TopicSubscribe{ID: 7, Topic: "t", Offset: -1})
	<-begun
	beside := trips("beside")
	t.Logf("p99 %v alone, %v beside", alone, beside)
	slow.net.SetDeadline(time.Now().Add(patience))
	slow.sync() // nor do its own pings wait
	if n := r.publish(nova.Topic("t"), 1).Members; n != 0 {
		t.Error("it is in before it was allowed")
	}
	close(finish)
	if m := slow.subscribed(); m.ID != 7 {
		t.Errorf("%+v", m)
	}
}

// A reader that waits because the inbox is full of joins is no silent client, however
// long the hook takes.
func TestReaderBehindSlowJoinsIsNotDead(t *testing.T) {
	const beat, joins = 10 * time.Second, 300 // more than the inbox takes
	synctest.Test(t, func(t *testing.T) {
		finish := make(chan struct{})
		r := newQuietRig(t, hub.Options{MaxTopicsPerClient: 2 * joins, AuthorizeTopic: func(context.Context, *nova.Client, string) error {
			<-finish
			return nil
		}}, server.Options{Heartbeat: beat})
		p := r.greet(r.dialPipe(), "topics/1")
		p.net.SetDeadline(time.Time{})
		go func() { // an answer to a ping would not be read
			for {
				if _, err := p.tryNext(); err != nil {
					return
				}
			}
		}()
		go func() {
			for n := range joins {
				p.send(&control.Subscribe{Topic: fmt.Sprint(n)})
			}
		}()
		if n := r.openAfter(10 * beat); n != 1 {
			t.Errorf("%d connections, closed %v", n, r.srv.Metrics().Closed)
		}
		close(finish)
		synctest.Wait()
		if n := len(r.hub.Topics()); n != joins {
			t.Errorf("%d topics, want %d", n, joins)
		}
	})
}
