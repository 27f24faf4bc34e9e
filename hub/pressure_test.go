package hub_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/session"
)

// stuckPeer is a socket that takes bytes when the test says so.
type stuckPeer struct {
	session *hub.Session
	cursor  session.Cursor
}

func (p *stuckPeer) Flush()            {}
func (p *stuckPeer) Close(int, string) {}
func (p *stuckPeer) Caps() hub.Caps    { return 0 }
func (p *stuckPeer) Near()             {}

func (*stuckPeer) FlushAll(peers []hub.Peer) { hub.FlushEach(peers) }

// take lets the socket take at most n bytes, whole frames of them.
func (p *stuckPeer) take(n int) {
	b := p.session.Begin(&p.cursor, make([]byte, 0, n))
	p.session.Wrote(&p.cursor, len(b), len(b))
	p.session.Next(&p.cursor, 0, 0, nil)
}

func connectStuck(t testing.TB, h *hub.Hub, identity hub.Identity) *stuckPeer {
	t.Helper()
	s, err := h.Open(t.Context(), identity, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := &stuckPeer{session: s}
	s.Attach(p, &p.cursor)
	if _, err := s.Admit(&p.cursor, 0); err != nil {
		t.Fatal(err)
	}
	return p
}

func order(t testing.TB, h *hub.Hub, to nova.Target, pad int) {
	t.Helper()
	if err := market.OrderEvent.Publish(context.Background(), h, to, &market.Order{OrderID: fmt.Sprintf("%0*d", pad, 0)}); err != nil {
		t.Fatal(err)
	}
}

// The hook's calls are those of the definition, applied to what Queued tells
// after each step.
func TestPressure(t *testing.T) {
	const seed = 20261130
	rnd := rand.New(rand.NewPCG(seed, 0))
	for round := range 40 {
		bounds := hub.Backpressure{MaxFrames: 5 + rnd.IntN(40), MaxBytes: 4000 + rnd.IntN(8000)}
		calls := make(chan bool, 1000)
		h := newHub(t, hub.Options{Backpressure: bounds, Shards: 1,
			OnPressure: func(_ context.Context, c *nova.Client, high bool) { calls <- high }})
		p := connectStuck(t, h, hub.Identity{ClientID: "a"})
		want, high := []bool{}, false
		for step := range 400 {
			drain := 2 + step/50%2*6 // of ten
			frames, bytes := p.session.Queued()
			if pad := rnd.IntN(400); rnd.IntN(10) >= drain && frames < bounds.MaxFrames && bytes+pad+200 < bounds.MaxBytes {
				order(t, h, nova.ClientID("a"), pad)
				p.session.Leave("a topic it is not in") // waits for the loop
			} else {
				p.take(1 + rnd.IntN(1500))
			}
			frames, bytes = p.session.Queued()
			switch {
			case !high && (4*frames > 3*bounds.MaxFrames || 4*bytes > 3*bounds.MaxBytes),
				high && 4*frames < bounds.MaxFrames && 4*bytes < bounds.MaxBytes:
				high = !high
				want = append(want, high)
				if got := <-calls; got != high { // so that no swing is left out
					t.Fatalf("seed %d, round %d: high %v, want %v", seed, round, got, high)
				}
			}
		}
		p.session.End()
		if len(calls) > 0 || len(want) < 2 {
			t.Fatalf("seed %d, round %d: %d calls too many after %v", seed, round, len(calls), want)
		}
	}
}

// A hook that is slower than the queue misses whole swings, never the last state.
func TestPressureSlowHook(t *testing.T) {
	calls, begun, gate := make(chan bool), make(chan struct{}, 10), make(chan struct{})
	h := newHub(t, hub.Options{Backpressure: hub.Backpressure{MaxFrames: 4}, Shards: 1,
		OnDisconnect: func(context.Context, *nova.Client, hub.EndReason) { close(calls) },
		OnPressure: func(_ context.Context, _ *nova.Client, high bool) {
			begun <- struct{}{}
			<-gate
			calls <- high
		}})
	p := connectStuck(t, h, hub.Identity{ClientID: "a"})
	for swing := range 300 {
		for range 4 {
			order(t, h, nova.ClientID("a"), 1)
		}
		p.session.Leave("a topic it is not in")
		if swing == 0 {
			<-begun // the first call is under way during all that follows
		}
		if swing < 299 {
			p.take(4000)
		}
	}
	p.session.End()
	close(gate)
	got := []bool{}
	for high := range calls {
		got = append(got, high)
	}
	if want := []bool{true, false, true}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
