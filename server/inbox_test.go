package server_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
)

// fullInbox is a client whose handler waits and whose inbox takes no more.
func fullInbox(t *testing.T) (r *rig, p *rawPeer, text string, handled *atomic.Int64, release chan struct{}) {
	handled, release = new(atomic.Int64), make(chan struct{})
	r = newRig(t, hub.Options{}, server.Options{})
	market.QuoteEvent.On(r.hub, func(context.Context, *nova.Client, *market.Quote) error {
		<-release
		handled.Add(1)
		return nil
	})
	p, m := r.attach("", "", 0)
	for n := 1; n <= 600; n++ { // more than an inbox takes
		p.stamped(uint64(n), n)
	}
	return r, p, m.Session, handled, release
}

// Readers of sockets that are gone wait for the inbox no longer, and the one that is
// there is woken.
func TestInboxWakesTheLiveReader(t *testing.T) {
	r, p, text, handled, release := fullInbox(t)
	var received int64
	for range 20 {
		p.net.Close()
		var next *rawPeer
		next, m := r.attach("", text, 0)
		if !m.Recovered {
			t.Fatalf("%+v", m)
		}
		p, received = next, m.Received
		for n := int64(1); n <= 300; n++ {
			p.stamped(uint64(received+n), 1)
		}
	}
	eventually(t, "one socket is left", func() bool { return r.srv.Metrics().Connections == 1 })
	close(release)
	eventually(t, "all is handled", func() bool { return handled.Load() == received+300 })
}

// Close does not wait for handlers.
func TestCloseWithAFullInbox(t *testing.T) {
	r, _, _, _, release := fullInbox(t)
	defer close(release)
	done := make(chan struct{})
	go func() {
		r.srv.Close()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(patience):
		t.Error("the server waits for a handler")
	}
}
