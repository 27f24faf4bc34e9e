package server_test

import (
	"context"
	"strings"
	"testing"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/wire"
	"github.com/ignex/nova/wire/control"
)

func TestBaseFlow(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	ctx := context.Background()
	p := r.join("", "")
	if len(p.id) != 36 {
		t.Errorf("client id %q is no UUID", p.id)
	}
	p.send(&control.Subscribe{Topic: "equities"})
	p.send(&control.JoinGroup{Group: "desk"})
	p.sync()

	publish := func(to nova.Target, n, members int, offset uint64) {
		t.Helper()
		var result nova.Result
		if err := market.QuoteEvent.Publish(ctx, r.hub, to, quote(n), nova.Report(&result)); err != nil {
			t.Fatal(err)
		}
		if result.Members != members || result.Offset != offset {
			t.Errorf("publish %d: %+v, want %d members, offset %d", n, result, members, offset)
		}
	}
	publish(nova.Broadcast(), 1, 1, 0)
	publish(nova.Topic("equities"), 2, 1, 1)
	publish(nova.Group("desk"), 3, 1, 0)
	publish(nova.ClientID(p.id), 4, 1, 0)
	publish(nova.Topics("equities", "bonds", "equities"), 5, 1, 0)
	publish(nova.Broadcast().But(p.id), 6, 0, 0)
	publish(nova.Topic("nobody"), 7, 0, 1)
	publish(nova.Broadcast(), 8, 1, 0)
	for seq, n := range []int64{1, 2, 3, 4, 5, 8} {
		if q := p.quote(uint64(seq + 1)); q.Ts != n {
			t.Errorf("frame %d is quote %d, want %d", seq+1, q.Ts, n)
		}
	}
	p.send(&control.Unsubscribe{Topic: "equities"})
	p.send(&control.LeaveGroup{Group: "desk"})
	p.sync()
	publish(nova.Topic("equities"), 9, 0, 3)
	publish(nova.Group("desk"), 10, 0, 0)
}

func TestHistoryReplay(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	for n := range 70 {
		if err := market.QuoteEvent.Publish(context.Background(), r.hub, nova.Topic("t"), quote(n)); err != nil {
			t.Fatal(err)
		}
	}
	p := r.join("", "")
	p.send(&control.Subscribe{Topic: "t"})
	for n := range 64 {
		if q := p.quote(uint64(n + 1)); q.Ts != int64(n+6) {
			t.Fatalf("replayed quote %d, want %d", q.Ts, n+6)
		}
	}
	p.send(&control.Subscribe{Topic: "t"}) // again: nothing
	p.send(&control.SnapshotRequest{Topic: "t", FromSeq: 68})
	if q := p.quote(65); q.Ts != 68 {
		t.Errorf("snapshot begins with quote %d, want 68", q.Ts)
	}
	p.quote(66)
	p.send(&control.SnapshotRequest{Topic: "unknown"})
	p.sync()
	if topics := r.srv.Metrics().Hub.Topics; topics != 1 {
		t.Errorf("%d topics, a snapshot must create none", topics)
	}
}

func TestResume(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	p := r.join("", "")
	p.sync()
	for n := 1; n <= 5; n++ {
		if err := market.QuoteEvent.Publish(context.Background(), r.hub, nova.Broadcast(), quote(n)); err != nil {
			t.Fatal(err)
		}
		p.quote(uint64(n))
	}
	p.send(&control.Resume{LastSeq: 2})
	var resumed control.Resumed
	p.control(control.ResumedID, &resumed)
	if !resumed.Ok || resumed.From != 3 {
		t.Fatalf("%+v", resumed)
	}
	for n := 3; n <= 5; n++ {
		p.quote(uint64(n))
	}
	for lastSeq, want := range map[int64]control.Resumed{5: {Ok: true}, 6: {}, -1: {}} {
		p.send(&control.Resume{LastSeq: lastSeq})
		p.control(control.ResumedID, &resumed)
		if resumed != want {
			t.Errorf("resume %d: %+v, want %+v", lastSeq, resumed, want)
		}
	}
}

func TestUnnumbered(t *testing.T) {
	r := newRig(t, hub.Options{Session: hub.SessionOptions{Off: true}}, server.Options{})
	p := r.join("", "")
	p.sync()
	for n := 1; n <= 3; n++ {
		r.publish(nova.Broadcast(), n)
		if q := p.quote(0); q.Ts != int64(n) {
			t.Errorf("quote %d, want %d", q.Ts, n)
		}
	}
	p.send(&control.Resume{LastSeq: 1})
	var resumed control.Resumed
	p.control(control.ResumedID, &resumed)
	if resumed.Ok {
		t.Errorf("%+v", resumed)
	}
}

func TestGoOnFromLastSeq(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	p := r.dial("", "")
	p.frame()
	p.frame()
	p.send(&control.Hello{Version: 2, LastSeq: 41})
	var resumed control.Resumed
	p.control(control.ResumedID, &resumed)
	if resumed.Ok || resumed.From != 0 {
		t.Fatalf("%+v", resumed)
	}
	if err := market.QuoteEvent.Publish(context.Background(), r.hub, nova.Broadcast(), quote(1)); err != nil {
		t.Fatal(err)
	}
	p.quote(42)
}

func TestRPCWithoutHandler(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	p := r.join("", "")
	p.send(&control.RpcCall{ID: "7", Name: "quote"})
	var result control.RpcResult
	p.control(control.RpcResultID, &result)
	if result.ID != "7" || result.Ok || result.Err != "no handler for quote" {
		t.Errorf("%+v", result)
	}
}

func TestInbound(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	got := make(chan int64, 100)
	market.QuoteEvent.On(r.hub, func(ctx context.Context, from *nova.Client, q *market.Quote) error {
		got <- q.Ts
		if q.Ts == 1 {
			panic("handler")
		}
		return market.QuoteEvent.Publish(ctx, nil, nova.ClientID(from.ID()), q) // the hub of ctx
	})
	p := r.join("", "")
	for n := 1; n <= 3; n++ {
		p.event(t, quote(n))
	}
	for n := int64(1); n <= 3; n++ {
		if ts := <-got; ts != n {
			t.Fatalf("handled %d, want %d", ts, n)
		}
	}
	p.quote(1)
	p.quote(2)
	// Not allowed, unknown: counted, never fatal.
	frame, _ := market.TradeEvent.AppendFrame(nil, &market.Trade{})
	p.write(ws.AppendMasked(nil, ws.Binary, frame, [4]byte{}))
	p.write(ws.AppendMasked(nil, ws.Binary, append(wire.AppendHeader(nil, 12345), 0, 0, 0, 0), [4]byte{}))
	p.sync()
	m := r.srv.Metrics().Hub
	if m.NotAllowed != 1 || m.UnknownEvents != 1 || m.Inbound["quote"] != 3 || m.HandlerErrors["quote"] != 1 {
		t.Errorf("counters %+v", m)
	}
}

func (p *rawPeer) event(t *testing.T, q *market.Quote) {
	t.Helper()
	frame, err := market.QuoteEvent.AppendFrame(nil, q)
	if err != nil {
		t.Fatal(err)
	}
	p.write(ws.AppendMasked(nil, ws.Binary, frame, [4]byte{9, 8, 7, 6}))
}

func TestViolationsClose(t *testing.T) {
	quotes := func(n int) []byte {
		var out []byte
		for range n {
			out = ws.AppendMasked(out, ws.Binary, []byte("rubbish"), [4]byte{})
		}
		return out
	}
	hello := func(version int64) []byte {
		m := control.Hello{Version: version}
		frame, _ := m.AppendFrame(nil)
		return ws.AppendMasked(nil, ws.Binary, frame, [4]byte{})
	}
	for _, c := range []struct {
		name, query string
		send        []byte
		code        int
		reason      string
	}{
		{"text", "", ws.AppendMasked(nil, ws.Text, []byte("hi"), [4]byte{}), 1003, "text frame received"},
		{"oversize", "", ws.AppendMasked(nil, ws.Binary, make([]byte, 65<<10), [4]byte{}), 1009, "message too big"},
		{"undecodable", "", quotes(16), 1002, "too many undecodable frames"},
		{"version", "", hello(1), 1002, "wire version mismatch"},
		{"no hello", "?nova=2", append(quotes(15), ping()...), 1002, "no hello"},
		{"unmasked", "", ws.AppendFrame(nil, ws.Binary, []byte("x")), 1002, "unmasked frame from a client"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, hub.Options{}, server.Options{})
			p := r.dial(c.query, "")
			p.frame()
			p.frame()
			p.write(c.send)
			p.expectEnd(c.code, c.reason)
			eventually(t, "the session ends", func() bool { return r.hub.Len() == 0 && r.srv.Metrics().Connections == 0 })
			if n := r.srv.Metrics().Closed[c.code]; n != 1 {
				t.Errorf("closed counters: %v", r.srv.Metrics().Closed)
			}
		})
	}
}

func ping() []byte {
	m := control.Ping{}
	frame, _ := m.AppendFrame(nil)
	return ws.AppendMasked(nil, ws.Binary, frame, [4]byte{})
}

func TestBudgetLeavesRoom(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	market.QuoteEvent.On(r.hub, func(context.Context, *nova.Client, *market.Quote) error { return nil })
	p := r.join("", "")
	for range 14 {
		p.write(ws.AppendMasked(nil, ws.Binary, []byte(strings.Repeat("x", 40)), [4]byte{}))
	}
	bad, _ := market.QuoteEvent.AppendFrame(nil, quote(1))
	bad[20] = 0xff // the root offset
	p.write(ws.AppendMasked(nil, ws.Binary, bad, [4]byte{}))
	eventually(t, "all are counted", func() bool { return r.srv.Metrics().Hub.Undecodable == 15 })
	p.sync()
	p.write(ws.AppendMasked(nil, ws.Binary, bad, [4]byte{}))
	p.expectEnd(1002, "too many undecodable frames")
}

// Each connection of a session has the whole budget.
func TestBudgetOfEachConnection(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	p, m := r.attach("", "", 0)
	for range 3 {
		for range 15 {
			p.message([]byte("x"))
		}
		p.sync()
		p.net.Close()
		r.detached(1)
		p, m = r.attach("", m.Session, 0)
		if !m.Recovered {
			t.Fatalf("%+v", m)
		}
	}
	for range 16 {
		p.message([]byte("x"))
	}
	p.expectEnd(1002, "too many undecodable frames")
}
