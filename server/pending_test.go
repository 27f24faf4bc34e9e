package server_test

import (
	"context"
	"testing"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/wire/control"
)

// slowTopic is a rig whose topic "slow" is authorised when the test says so.
func slowTopic(t *testing.T) (r *rig, begun chan struct{}, finish chan error) {
	begun, finish = make(chan struct{}), make(chan error)
	r = newRig(t, hub.Options{AuthorizeTopic: func(_ context.Context, _ *nova.Client, topic string) error {
		if topic != "slow" {
			return nil
		}
		begun <- struct{}{}
		return <-finish
	}}, server.Options{})
	return r, begun, finish
}

// after waits until everything the session had to do is done.
func (p *rawPeer) after(seq uint64) {
	p.t.Helper()
	p.send(&control.TopicSubscribe{ID: 99, Topic: "after"})
	var sub control.TopicSubscribed
	p.expectFrame(control.TopicSubscribedID, seq, &sub)
	if sub.ID != 99 || sub.Topic != "after" {
		p.t.Fatalf("%+v", sub)
	}
}

// What a replaced socket asked for, allowed or not, touches the session no more.
func TestTakeoverVoidsAPendingSubscribe(t *testing.T) {
	for _, verdict := range []error{nil, nova.Errorf(nova.Denied, "no")} {
		r, begun, finish := slowTopic(t)
		p, m := r.attach("", "", 0)
		p.send(&control.TopicSubscribe{ID: 1, Topic: "slow"})
		p.send(&control.TopicSubscribe{ID: 2, Topic: "queued"})
		<-begun
		p, again := r.attach("", m.Session, 0)
		if !again.Recovered {
			t.Fatalf("%+v", again)
		}
		finish <- verdict
		p.after(1)
		for _, topic := range []string{"slow", "queued"} {
			if n := r.publish(nova.Topic(topic), 1).Members; n != 0 {
				t.Errorf("%s has %d members", topic, n)
			}
		}
	}
}

// Who left before the answer came is not in the topic afterwards.
func TestLeavingVoidsAPendingSubscribe(t *testing.T) {
	for name, leave := range map[string]func(r *rig, p *rawPeer){
		"frame": func(_ *rig, p *rawPeer) {
			p.send(&control.Unsubscribe{Topic: "slow"})
			p.sync()
		},
		"api": func(r *rig, p *rawPeer) { r.hub.Client(p.id).Leave("slow") },
	} {
		t.Run(name, func(t *testing.T) {
			r, begun, finish := slowTopic(t)
			r.publish(nova.Topic("slow"), 1) // a history that would be replayed
			p, _ := r.attach("", "", 0)
			p.send(&control.TopicSubscribe{ID: 1, Topic: "slow"})
			<-begun
			leave(r, p)
			finish <- nil
			var no control.TopicRejected
			p.expectFrame(control.TopicRejectedID, 1, &no)
			if no.ID != 1 || no.Topic != "slow" || no.Code != int64(nova.Cancelled) {
				t.Fatalf("%+v", no)
			}
			p.after(2)
			if n := r.publish(nova.Topic("slow"), 2).Members; n != 0 {
				t.Errorf("%d members", n)
			}
		})
	}
}

// A snapshot whose topic the application took from the client, or whose identity is another,
// before the answer came is not sent; leaving by itself takes nothing from the client.
func TestRevokingVoidsAPendingSnapshot(t *testing.T) {
	for name, c := range map[string]struct {
		change func(r *rig, p *rawPeer)
		again  bool // asked once more, and refused
		sent   bool
	}{
		"api": {change: func(r *rig, p *rawPeer) { r.hub.Client(p.id).Leave("slow") }},
		"renewal": {again: true, change: func(r *rig, p *rawPeer) {
			p.send(&control.Auth{ID: 1, Token: claims{User: "ann", Meta: map[string]any{"age": 2}}.String()})
			p.authed()
		}},
		"frame": {sent: true, change: func(_ *rig, p *rawPeer) {
			p.send(&control.Unsubscribe{Topic: "slow"})
			p.sync()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			begun, finish := make(chan struct{}), make(chan error)
			r := newRig(t, hub.Options{AuthorizeTopic: func(_ context.Context, _ *nova.Client, topic string) error {
				if topic != "slow" {
					return nil
				}
				begun <- struct{}{}
				return <-finish
			}}, server.Options{Authenticate: readClaims(time.Now)})
			r.publish(nova.Topic("slow"), 7)
			p, _ := r.admitted(claims{User: "ann", Meta: map[string]any{"age": 1}})
			p.send(&control.SnapshotRequest{Topic: "slow"})
			<-begun
			c.change(r, p)
			finish <- nil
			if c.again {
				<-begun
				finish <- nova.Errorf(nova.Denied, "no")
			}
			seq := uint64(1)
			if c.sent {
				p.expectQuote(seq, 7)
				seq++
			}
			p.after(seq)
		})
	}
}
