package server_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/session"
	"github.com/ignex/nova/wire/control"
)

// A reader that stalls gets the newest value of each key; every number that does
// not come is declared, and what the server counted adds up.
func TestConflation(t *testing.T) {
	const frames, keys = 12_000, 5
	r := newRig(t, hub.Options{Backpressure: hub.Backpressure{Policy: session.Disconnect}}, server.Options{})
	p, _ := r.attach("", "", 0)
	pad := fmt.Sprintf("%01000d", 0)
	for n := 1; n <= frames; n++ {
		q := quote(n)
		q.Symbol = fmt.Sprint(pad, n%keys)
		if err := market.QuoteEvent.Publish(t.Context(), r.hub, nova.Broadcast(), q); err != nil {
			t.Fatal(err)
		}
	}
	last, declared, newest := uint64(0), 0, map[string]int64{}
	for last < frames {
		head, payload := p.data()
		if head.ID == control.GapID {
			var gap control.Gap
			if err := gap.UnmarshalNova(payload); err != nil || uint64(gap.From) != last+1 || gap.Reason != 1 {
				t.Fatalf("%+v after %d, %v", gap, last, err)
			}
			last = uint64(gap.To)
			declared += int(gap.To - gap.From + 1)
			continue
		}
		var q market.Quote
		if err := q.UnmarshalNova(payload); err != nil || head.Seq != last+1 || q.Ts != int64(head.Seq) {
			t.Fatalf("%+v, quote %d after %d, %v", head, q.Ts, last, err)
		}
		last, newest[q.Symbol] = head.Seq, q.Ts
	}
	if declared == 0 {
		t.Error("nothing was superseded: the reader was not stalled")
	}
	for key, ts := range newest {
		if ts <= frames-keys {
			t.Errorf("the newest of %s is %d", key[len(pad):], ts)
		}
	}
	eventually(t, "the counts add up", func() bool {
		f := r.srv.Metrics().Hub.Frames
		return f.Numbered == frames && f.Unsent == 0 && f.Written+f.Superseded == frames && f.Superseded == uint64(declared)
	})
}

// Must frames are never dropped: the session breaks and says so.
func TestMustBreaks(t *testing.T) {
	r := newRig(t, hub.Options{Backpressure: hub.Backpressure{MaxFrames: 50}}, server.Options{})
	p, m := r.attach("", "", 0)
	note := fmt.Sprintf("%030000d", 0)
	for n := 1; r.srv.Metrics().Hub.SlowClosed == 0; n++ {
		if n > 5000 {
			t.Fatal("the session never broke")
		}
		if err := market.OrderEvent.Publish(t.Context(), r.hub, nova.Broadcast(), &market.Order{OrderID: note}); err != nil {
			t.Fatal(err)
		}
	}
	if code, reason := p.ended(); code != 1013 || reason != "slow consumer" {
		t.Fatalf("closed %d %q", code, reason)
	}
	p.net.Close()
	_, again := r.attach("", m.Session, 1)
	if again.Recovered {
		t.Fatalf("%+v", again)
	}
}

func TestEmptyTopicsAreForgotten(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	p, m := r.attach("", "", 0)
	for n := range 100 {
		p.net.SetDeadline(time.Now().Add(patience))
		for k := range 100 {
			topic := fmt.Sprint("t", n*100+k)
			p.send(&control.TopicSubscribe{ID: 1, Topic: topic})
			p.send(&control.Unsubscribe{Topic: topic})
		}
		for range 100 {
			var sub control.TopicSubscribed
			head, payload := p.data()
			if err := sub.UnmarshalNova(payload); err != nil || head.ID != control.TopicSubscribedID {
				t.Fatalf("%+v %v", head, err)
			}
		}
	}
	p.sync()
	if got := r.srv.Metrics().Hub.Topics; got != 0 {
		t.Errorf("%d topics left", got)
	}
	if got := r.hub.Client(m.ClientID).Topics(); len(got) != 0 {
		t.Errorf("still in %v", got)
	}
}
