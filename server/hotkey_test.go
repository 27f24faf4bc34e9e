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

// A reader that trickles, and one key that changes with every other frame: it is not
// moved back for ever. A turn of the queue is at most MaxFrames frames, so of twice as
// many that come in a row at least one has that key. All keys have room, so that nothing
// is dropped but what is superseded.
func TestHotKeyIsWrittenEveryTurn(t *testing.T) {
	const frames, keys, bound, hot = 16_000, 80, 200, "hot"
	r := newRig(t, hub.Options{Backpressure: hub.Backpressure{MaxFrames: bound, Policy: session.Disconnect}}, server.Options{})
	p, m := r.attach("", "", 0)
	pad := fmt.Sprintf("%01000d", 0)
	last, since, turns, newest := uint64(0), 0, 0, int64(0)
	read := func() {
		head, payload := p.data()
		if head.ID == control.GapID {
			var gap control.Gap
			if err := gap.UnmarshalNova(payload); err != nil || uint64(gap.From) != last+1 {
				t.Fatalf("%+v after %d, %v", gap, last, err)
			}
			last = uint64(gap.To)
			return
		}
		var q market.Quote
		if err := q.UnmarshalNova(payload); err != nil || head.Seq != last+1 {
			t.Fatalf("%+v after %d, %v", head, last, err)
		}
		last, since = head.Seq, since+1
		if q.Symbol == hot {
			since, newest = 0, q.Ts
			turns++
		}
		if since > 2*bound {
			t.Fatalf("%d frames in a row without the hot key, up to number %d", since, last)
		}
	}
	for n := int64(1); n <= frames; n++ {
		q := &market.Quote{Symbol: hot, Ts: n}
		if n%2 == 1 {
			q.Symbol = fmt.Sprint(n/2%keys, pad) // cold
		}
		if err := market.QuoteEvent.Publish(t.Context(), r.hub, nova.ClientID(m.ClientID), q); err != nil {
			t.Fatal(err)
		}
		if n > 8_000 && n%10 == 0 { // three are taken while ten come
			p.net.SetDeadline(time.Now().Add(patience))
			for range 3 {
				read()
			}
		}
	}
	for last < frames {
		read()
	}
	if newest != frames {
		t.Errorf("the newest value of the hot key is %d, want %d", newest, frames)
	}
	if f := r.srv.Metrics().Hub.Frames; f.Superseded == 0 || f.Dropped > 0 {
		t.Errorf("superseded none, or dropped: %+v", f)
	}
	t.Logf("%d turns", turns)
}
