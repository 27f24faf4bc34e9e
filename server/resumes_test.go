package server_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/wire/control"
)

// A base client that asks again and again for everything, and reads nothing, gets one
// replay after the other, no more than 128 of them promised, and costs no memory: the
// original pushed all it had for each.
func TestResumesDoNotAmplify(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{WriteStall: time.Hour})
	p := r.join("", "")
	p.sync()
	for n := 1; n <= 30; n++ { // 900 KB of history
		v := &market.Trade{Symbol: strings.Repeat("x", 30_000), Ts: int64(n)}
		if err := market.TradeEvent.Publish(t.Context(), r.hub, nova.Broadcast(), v); err != nil {
			t.Fatal(err)
		}
		p.trade()
	}
	before := int64(heap())
	resume, err := (&control.Resume{}).AppendFrame(nil)
	if err != nil {
		t.Fatal(err)
	}
	one := ws.AppendMasked(nil, ws.Binary, resume, [4]byte{1, 2, 3, 4})
	for range 5000 {
		if _, err := p.net.Write(one); err != nil {
			break // it is closed
		}
	}
	eventually(t, "it is closed for them", func() bool { return r.srv.Metrics().Closed[1008] == 1 })
	if grown := int64(heap()) - before; grown > 4<<20 {
		t.Errorf("%d bytes are held for the resumes", grown)
	}
	if n := r.srv.Metrics().SentBytes; n > 128*1_000_000 {
		t.Errorf("%d bytes were sent", n)
	}
	for p.closed == nil {
		if _, err := p.tryNext(); err != nil {
			t.Fatalf("no close frame: %v", err)
		}
	}
	if p.closed.Code != 1008 || p.closed.Reason != "too many resumes" {
		t.Errorf("%+v", p.closed)
	}
}

// Resumes that the client reads go on for ever, one replay each.
func TestResumesOneByOne(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	p := r.join("", "")
	p.sync()
	for n := 1; n <= 3; n++ {
		r.publish(nova.Broadcast(), n)
		p.quote(uint64(n))
	}
	for range 300 {
		p.send(&control.Resume{LastSeq: 1})
		var m control.Resumed
		p.control(control.ResumedID, &m)
		if !m.Ok || m.From != 2 {
			t.Fatalf("%+v", m)
		}
		p.quote(2)
		p.quote(3)
	}
}
