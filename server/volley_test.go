package server_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/internal/uring"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
)

// Everybody gets everything in order, whatever the messages are like, while some read
// late, so that their sockets are full, and others vanish: with one system call for many
// sockets and with one for each.
func TestManySockets(t *testing.T) {
	for _, one := range []bool{false, true} {
		t.Run(fmt.Sprintf("NoURing=%v", one), func(t *testing.T) { manySockets(t, one) })
	}
}

func manySockets(t *testing.T, one bool) {
	const peers, rounds, burst = 130, 40, 12
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	room := hub.Backpressure{MaxFrames: 10_000, MaxBytes: 64 << 20}
	r := newRig(t, hub.Options{Backpressure: room, Session: hub.SessionOptions{MaxFrames: 10}}, server.Options{NoURing: one})
	live := make([]*rawPeer, peers)
	for i := range live {
		live[i] = r.join("", "")
		live[i].sync()
	}
	texts := map[uint64]string{}
	n := uint64(0)
	read := func(p *rawPeer, from uint64) {
		for k := from; k <= n; k++ {
			var m market.Chat
			p.expectFrame(market.ChatEvent.ID(), k, &m)
			if m.Text != texts[k] {
				t.Fatalf("message %d has %d bytes of text, want %d", k, len(m.Text), len(texts[k]))
			}
		}
	}
	late := live[:peers/10]
	live = live[peers/10:]
	for round := range rounds {
		from := n + 1
		for range burst {
			n++
			size := []int{0, 100, 1000, 3000, 6000, 40_000}[random.IntN(6)]
			if round%2 == 0 {
				size = random.IntN(40)
			}
			texts[n] = strings.Repeat(string(rune('a'+n%26)), size)
			if err := market.ChatEvent.Publish(context.Background(), r.hub, nova.Broadcast(), &market.Chat{Text: texts[n]}); err != nil {
				t.Fatal(err)
			}
		}
		if round%3 == 0 {
			k := random.IntN(len(live))
			live[k].net.Close()
			live = append(live[:k], live[k+1:]...)
		}
		for _, p := range live {
			read(p, from)
		}
	}
	for _, p := range late {
		read(p, 1)
	}
	if free, some := r.srv.Volleys(); some == one && haveURing(t) || !one && some && free == 0 {
		t.Errorf("%d volleys, may have some: %v", free, some)
	}
}

func haveURing(t *testing.T) bool {
	ring, err := uring.New(8)
	if err != nil {
		t.Logf("no io_uring here: %v", err)
		return false
	}
	ring.Close()
	return true
}

// A closed server leaves no ring behind, also when its hub still publishes.
func TestNoRingIsLeft(t *testing.T) {
	if !haveURing(t) {
		return
	}
	rings := func() (n int) {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range list {
			if to, _ := os.Readlink("/proc/self/fd/" + f.Name()); strings.Contains(to, "io_uring") {
				n++
			}
		}
		return n
	}
	before := rings()
	r := newRig(t, hub.Options{}, server.Options{})
	peers := make([]*rawPeer, 20)
	for i := range peers {
		peers[i] = r.join("", "")
		peers[i].sync()
	}
	r.publish(nova.Broadcast(), 1)
	for _, p := range peers {
		p.quote(1)
	}
	eventually(t, "a ring", func() bool { return rings() > before })
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := range 2000 {
			r.publish(nova.Broadcast(), n)
		}
	}()
	r.srv.Close()
	<-done
	r.hub.Settle(t.Context())
	eventually(t, "the end of all rings", func() bool { return rings() == before })
}
