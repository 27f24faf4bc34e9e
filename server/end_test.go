package server_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/wire/control"
)

func TestEndReasons(t *testing.T) {
	bye := func(code int) func(*rig, *rawPeer) {
		return func(_ *rig, p *rawPeer) {
			p.write(ws.AppendMasked(nil, ws.Close, ws.AppendClosePayload(nil, code, ""), [4]byte{}))
		}
	}
	for name, c := range map[string]struct {
		want hub.EndReason
		do   func(r *rig, p *rawPeer)
	}{
		"close":     {hub.EndByClient, bye(1000)},
		"page gone": {hub.EndByClient, bye(1001)},
		"text": {hub.EndViolation, func(_ *rig, p *rawPeer) {
			p.write(ws.AppendMasked(nil, ws.Text, []byte("x"), [4]byte{}))
			p.expectEnd(1003, "text frame received")
		}},
		"disconnect": {hub.EndDisconnect, func(r *rig, p *rawPeer) { r.hub.Client(p.id).Disconnect(1008, "bye"); p.expectEnd(1008, "bye") }},
		"shutdown":   {hub.EndShutdown, func(r *rig, _ *rawPeer) { r.hub.Close(context.Background()) }},
		"no way back": {hub.EndLost, func(r *rig, _ *rawPeer) {
			p := r.join("", "")
			p.sync()
			p.net.Close()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			ends := make(chan hub.EndReason, 10)
			r := newRig(t, hub.Options{OnDisconnect: func(_ context.Context, _ *nova.Client, why hub.EndReason) { ends <- why }}, server.Options{})
			p, _ := r.attach("", "", 0)
			c.do(r, p)
			if got := <-ends; got != c.want {
				t.Errorf("ended: %v, want %v", got, c.want)
			}
		})
	}
}

// A session that ends with its socket is over once the close is decided, not when the
// client has gone: it may be in no hurry and come back over another socket first.
func TestDoomedSessionIsNotGivenBack(t *testing.T) {
	for name, c := range map[string]struct {
		want hub.EndReason
		do   func(r *rig, p *rawPeer, id string)
	}{
		"kicked": {hub.EndDisconnect, func(r *rig, _ *rawPeer, id string) { r.hub.Client(id).Disconnect(4403, "banned") }},
		"kicked with a code that others survive": {hub.EndDisconnect, func(r *rig, _ *rawPeer, id string) {
			r.hub.Client(id).Disconnect(4000, "not now")
		}},
		"violation": {hub.EndViolation, func(_ *rig, p *rawPeer, _ string) {
			p.send(&control.Ack{Seq: 99})
			p.ended()
		}},
		"said good-bye": {hub.EndByClient, func(_ *rig, p *rawPeer, _ string) {
			p.write(ws.AppendMasked(nil, ws.Close, ws.AppendClosePayload(nil, 1000, ""), [4]byte{}))
			p.ended()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			ends := make(chan hub.EndReason, 10)
			r := newRig(t, hub.Options{OnDisconnect: func(_ context.Context, _ *nova.Client, why hub.EndReason) { ends <- why }}, server.Options{})
			p, m := r.attach("", "", 0)
			c.do(r, p, m.ClientID) // and the close frame stays without an answer
			_, again := r.attach("", m.Session, 0)
			if again.Recovered {
				t.Fatalf("%+v", again)
			}
			if got := <-ends; got != c.want {
				t.Errorf("ended: %v, want %v", got, c.want)
			}
			if n := r.hub.Len(); n != 1 {
				t.Errorf("%d sessions", n)
			}
		})
	}
}

// Close comes to its end while publishes look at who is in a topic, joins have hooks,
// and clients send.
func TestCloseUnderLoad(t *testing.T) {
	names := make([]string, 2000)
	for i := range names {
		names[i] = fmt.Sprint("n", i)
	}
	for range 10 {
		r := newRig(t, hub.Options{OnJoin: func(context.Context, *nova.Client, hub.Move) {}}, server.Options{})
		var handled atomic.Int64
		market.QuoteEvent.On(r.hub, func(context.Context, *nova.Client, *market.Quote) error { handled.Add(1); return nil })
		p := r.join("", "")
		p.sync()
		c := r.hub.Client(p.id)
		event, err := market.QuoteEvent.AppendFrame(nil, quote(1))
		if err != nil {
			t.Fatal(err)
		}
		event = ws.AppendMasked(nil, ws.Binary, event, [4]byte{})
		var load sync.WaitGroup
		for _, again := range []func() bool{
			func() bool {
				return market.QuoteEvent.Publish(context.Background(), r.hub, nova.Topics(names...).But(p.id), quote(1)) == nil
			},
			func() bool { _, err := p.net.Write(event); return err == nil },
			func() bool { defer c.Leave("j"); return c.Join(context.Background(), "j") == nil },
			func() bool { _, err := p.tryNext(); return err == nil },
		} {
			load.Go(func() {
				for again() {
				}
			})
		}
		eventually(t, "all is under way", func() bool { return handled.Load() > 50 && r.hub.Metrics().Topics > len(names) })
		// A panic of this goroutine would run the clean-ups, which would hang too.
		watch := time.AfterFunc(patience, func() { panic("Close hangs") })
		if err := r.hub.Close(context.Background()); err != nil {
			t.Error(err)
		}
		watch.Stop()
		p.net.Close()
		load.Wait()
	}
}
