package server_test

import (
	"context"
	"testing"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/server"
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
