package server_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/wire/control"
)

// told returns the next frame, which must be the numbered one of that id.
func (p *rawPeer) told(seq uint64, id uint32, m interface{ UnmarshalNova([]byte) error }) {
	p.t.Helper()
	head, payload, _ := p.frame()
	if head.ID != id || head.Seq != seq || head.Trailer {
		p.t.Fatalf("frame %+v, want %#x with number %d", head, id, seq)
	}
	if err := m.UnmarshalNova(payload); err != nil {
		p.t.Fatal(err)
	}
}

// positioned returns the next quote with its trailer.
func (p *rawPeer) positioned() (ts int64, ref, offset uint64) {
	p.t.Helper()
	head, payload, frame := p.frame()
	if head.ID != market.QuoteEvent.ID() || !head.Trailer {
		p.t.Fatalf("frame %+v, want a quote with a trailer", head)
	}
	var q market.Quote
	if err := q.UnmarshalNova(payload); err != nil {
		p.t.Fatal(err)
	}
	ref, offset = trailer(frame)
	return q.Ts, ref, offset
}

func TestTopicPositions(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	p := r.dial("?nova=2", "")
	var hello control.Hello
	p.control(control.HelloID, &hello)
	if !slices.Contains(hello.Caps, "topics/1") || !slices.Contains(hello.Caps, "schema/"+market.Schema.Fingerprint()) {
		t.Fatalf("capabilities %v", hello.Caps)
	}
	var welcome control.Welcome
	p.control(control.WelcomeID, &welcome)
	p.send(&control.Hello{Version: 2, Caps: []string{"unknown/9", "topics/1"}})
	for n := 1; n <= 5; n++ {
		r.publish(nova.Topic("t"), n)
	}
	p.send(&control.TopicSubscribe{ID: 11, Topic: "t", Limit: 3})
	var sub control.TopicSubscribed
	p.told(1, control.TopicSubscribedID, &sub)
	if sub.ID != 11 || sub.Topic != "t" || sub.Offset != 2 || sub.Recovered || sub.Replayed != 3 || sub.Epoch == "" {
		t.Fatalf("%+v", sub)
	}
	sum := sha256.Sum256([]byte(sub.Epoch + "\x00t"))
	want := binary.LittleEndian.Uint64(sum[:])
	r.publish(nova.Topic("t"), 6)
	for n := uint64(3); n <= 6; n++ {
		if ts, ref, offset := p.positioned(); ts != int64(n) || ref != want || offset != n {
			t.Fatalf("quote %d, ref %x, offset %d; want %d, %x", ts, ref, offset, n, want)
		}
	}
	// Again: the present state, no replay.
	var again control.TopicSubscribed
	p.send(&control.TopicSubscribe{ID: 12, Topic: "t"})
	p.told(6, control.TopicSubscribedID, &again)
	if again.ID != 12 || again.Offset != 6 || again.Replayed != 0 {
		t.Fatalf("%+v", again)
	}
	// From a cursor: exactly what is missing.
	p.send(&control.Unsubscribe{Topic: "t"})
	p.send(&control.TopicSubscribe{ID: 13, Topic: "t", Epoch: sub.Epoch, Offset: 4})
	p.told(7, control.TopicSubscribedID, &again)
	if !again.Recovered || again.Offset != 4 || again.Replayed != 2 {
		t.Fatalf("%+v", again)
	}
	p.positioned()
	p.positioned()
	// From another life: everything kept, and said so.
	p.send(&control.Unsubscribe{Topic: "t"})
	p.send(&control.TopicSubscribe{ID: 14, Topic: "t", Epoch: "other", Offset: 4})
	p.told(10, control.TopicSubscribedID, &again)
	if again.Recovered || again.Offset != 0 || again.Replayed != 6 {
		t.Fatalf("%+v", again)
	}
	for range 6 {
		p.positioned()
	}
	// Live only.
	p.send(&control.Unsubscribe{Topic: "t"})
	p.send(&control.TopicSubscribe{ID: 15, Topic: "t", Offset: -1})
	p.told(17, control.TopicSubscribedID, &again)
	if again.Recovered || again.Offset != 6 || again.Replayed != 0 {
		t.Fatalf("%+v", again)
	}
}

func TestRejectedAndServerSideJoins(t *testing.T) {
	r := newRig(t, hub.Options{
		MaxTopicsPerClient: 1,
		AuthorizeTopic: func(_ context.Context, _ *nova.Client, topic string) error {
			if topic == "secret" {
				return nova.Errorf(nova.Denied, "members only")
			}
			return nil
		},
	}, server.Options{})
	p := r.join("?nova=2", "", "topics/1")
	var no control.TopicRejected
	for i, c := range []struct {
		topic string
		code  nova.Code
	}{{"secret", nova.Denied}, {"", nova.Invalid}, {"a\x01b", nova.Invalid}} {
		p.send(&control.TopicSubscribe{ID: int64(i), Topic: c.topic})
		p.told(uint64(i+1), control.TopicRejectedID, &no)
		if no.ID != int64(i) || no.Topic != c.topic || no.Code != int64(c.code) || no.Message == "" {
			t.Errorf("%+v", no)
		}
	}
	client := r.hub.Client(p.id)
	if err := client.Join(context.Background(), "secret"); nova.CodeOf(err) != nova.Denied {
		t.Errorf("join: %v", err)
	}
	if err := client.Join(context.Background(), "one"); err != nil {
		t.Fatal(err)
	}
	var sub control.TopicSubscribed
	p.told(4, control.TopicSubscribedID, &sub)
	if sub.ID != 0 || sub.Topic != "one" {
		t.Errorf("%+v", sub)
	}
	if err := client.Join(context.Background(), "two"); nova.CodeOf(err) != nova.Exhausted {
		t.Errorf("join beyond the limit: %v", err)
	}
	client.Leave("one")
	var gone control.TopicUnsubscribed
	p.told(5, control.TopicUnsubscribedID, &gone)
	if gone.Topic != "one" {
		t.Errorf("%+v", gone)
	}
	if n := r.srv.Metrics().Hub.Topics; n != 0 {
		t.Errorf("%d topics left", n)
	}
}
