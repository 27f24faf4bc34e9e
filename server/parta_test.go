package server_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/wire/control"
)

// basePeer knows the base protocol and nothing else. It takes frames apart by the table
// of the protocol's document, with no code of ours, and fails on whatever that table
// does not have.
type basePeer struct {
	*rawPeer
	last  uint64 // delivery number
	stall bool   // numbers may be missing: it did not read for a while
}

// baseNames are all frames that a base server may send, and the events of the schema.
var baseNames = func() map[uint32]string {
	names := map[uint32]string{}
	for _, name := range strings.Fields("hello welcome pong resumed rpcResult quote trade portfolio complex order bigVal chat") {
		id := uint32(2166136261)
		for _, c := range []byte(name) {
			id = (id ^ uint32(c)) * 16777619
		}
		names[id] = name
	}
	return names
}()

func (p *basePeer) heard() (name string, table []byte) {
	p.t.Helper()
	for {
		m := p.next()
		switch m.op {
		case ws.Ping:
			p.write(ws.AppendMasked(nil, ws.Pong, m.data, [4]byte{}))
			continue
		case ws.Close:
			return fmt.Sprint("close ", p.closed.Code), nil
		case ws.Binary:
		default:
			p.t.Fatalf("a %v frame", m.op)
		}
		b := m.data
		if len(b) < 18 || b[0] != 2 || b[5] > 1 || int(binary.LittleEndian.Uint32(b[14:])) != len(b)-18 {
			p.t.Fatalf("no frame of the base protocol: % x", b)
		}
		name, seq := baseNames[binary.LittleEndian.Uint32(b[1:])], binary.LittleEndian.Uint64(b[6:])
		app := map[bool]int{true: 1}[strings.Contains("quote trade portfolio complex order bigVal chat", name)]
		switch {
		case name == "":
			p.t.Fatalf("a frame that the base protocol does not have: % x", b)
		case int(b[5]) != app || app == 0 && seq != 0:
			p.t.Fatalf("%s with flags %d and number %d", name, b[5], seq)
		case app == 1 && seq != p.last+1 && !(p.stall && seq > p.last):
			p.t.Fatalf("%s with number %d after %d", name, seq, p.last)
		case app == 1:
			p.last = seq
		}
		return name, b[14:]
	}
}

func (p *basePeer) expect(names ...string) {
	p.t.Helper()
	for _, want := range names {
		if name, _ := p.heard(); name != want {
			p.t.Fatalf("got %s, want %s", name, want)
		}
	}
}

// alike reads a frame of an event whose bytes behind the header must be those published,
// whatever number others got it with.
func (p *basePeer) alike(q *market.Quote) {
	p.t.Helper()
	frame, err := market.QuoteEvent.AppendFrame(nil, q)
	if err != nil {
		p.t.Fatal(err)
	}
	if name, b := p.heard(); name != "quote" || !bytes.Equal(b, frame[14:]) {
		p.t.Fatalf("%s % x, want % x", name, b, frame[14:])
	}
}

// A peer that asks for no capability sees part A of the protocol and not a byte more,
// whatever happens around it.
func TestBasePeerSeesPartAOnly(t *testing.T) {
	deny := func(_ context.Context, _ *nova.Client, name string) error {
		if name == "secret" {
			return nova.Errorf(nova.Denied, "no")
		}
		return nil
	}
	r := newRig(t, hub.Options{AuthorizeTopic: deny, AuthorizeGroup: deny, Backpressure: hub.Backpressure{MaxFrames: 300}},
		server.Options{Authenticate: byQuery, Compression: server.Compression{Level: 1}})
	for n := 1; n <= 3; n++ {
		r.publish(nova.Topic("equities"), n)
	}
	p := &basePeer{rawPeer: r.dial("?id=me&user=ann", "")}
	p.expect("hello", "welcome")
	p.golden("hello")
	p.golden("subscribe")
	for n := 1; n <= 3; n++ {
		p.alike(quote(n))
	}
	p.golden("joinGroup")
	p.golden("ping")
	p.expect("pong")
	c := r.hub.Client("me")

	// Refusals, moves by the application, and what changes the groups, are not told.
	for _, m := range []frameWriter{&control.Subscribe{Topic: "secret"}, &control.JoinGroup{Group: "secret"},
		&control.Subscribe{Topic: ""}, &control.SnapshotRequest{Topic: "secret"}} {
		p.send(m)
	}
	for _, err := range []error{c.Join(t.Context(), "moved"), c.JoinGroup(t.Context(), "moved")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	r.publish(nova.Topic("moved"), 4)
	p.alike(quote(4))
	c.Leave("moved")
	c.LeaveGroup("moved")
	r.publish(nova.Topic("moved"), 5)

	// What belongs to capabilities it does not have is not answered.
	for _, m := range []frameWriter{&control.Attach{}, &control.TopicSubscribe{ID: 1, Topic: "x"}, &control.Ack{Seq: 1},
		&control.Call{ID: 1, Name: "getQuote"}, &control.Cancel{ID: 1}, &control.Auth{ID: 1, Token: "x"}} {
		p.send(m)
	}
	// Every path, with others who have other numbers for the same frames.
	late := &basePeer{rawPeer: r.dial("", "")}
	late.expect("hello", "welcome")
	late.golden("subscribe")
	for n := 1; n <= 3; n++ {
		late.alike(quote(n))
	}
	for n, to := range []nova.Target{nova.Topic("equities"), nova.Topics("equities", "x"), nova.Broadcast()} {
		r.publish(to, 10+n)
		p.alike(quote(10 + n))
		late.alike(quote(10 + n))
	}
	p.send(&control.SnapshotRequest{Topic: "equities", FromSeq: 3})
	p.alike(quote(10))
	p.alike(quote(11))
	for n, to := range []nova.Target{nova.Group("beta"), nova.User("ann"), nova.ClientID("me")} {
		r.publish(to, 20+n)
		p.alike(quote(20 + n))
	}
	p.golden("rpcCall")
	p.expect("rpcResult")
	p.send(&control.Resume{LastSeq: int64(p.last) - 1})
	p.last--
	p.expect("resumed", "quote")
	p.golden("resume") // from number 10, which it has passed
	p.last = 10
	p.expect("resumed")
	for range 2 {
		p.expect("quote")
	}

	// A reader that stalls: what it does not get is a hole, and nothing declares it.
	p.stall = true
	big := quote(0)
	for n := range 12_000 {
		big.Symbol = fmt.Sprintf("%01000d", n%400)
		if err := market.QuoteEvent.Publish(t.Context(), r.hub, nova.User("ann"), big); err != nil {
			t.Fatal(err)
		}
	}
	from := p.last
	for p.last < from+12_000 {
		p.expect("quote")
	}
	if m := r.srv.Metrics().Hub.Frames; m.Superseded+m.Dropped == 0 {
		t.Error("it was not stalled")
	}
	done := make(chan error, 1)
	go func() { done <- r.srv.Shutdown(t.Context()) }()
	p.expect("close 1012")
	p.net.Close()
	late.expect("close 1012")
	late.net.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if m := r.srv.Metrics().Hub; m.Undecodable != 0 {
		t.Errorf("%d undecodable", m.Undecodable)
	}
}
