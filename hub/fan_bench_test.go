package hub_test

import (
	"context"
	"testing"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/session"
)

// round tells when all n were written to.
type round struct {
	n, wrote int
	over     chan struct{}
}

// nullPeer takes everything at once and looks at nothing.
type nullPeer struct {
	session *hub.Session
	cursor  session.Cursor
	buf     []byte // shared
	round   *round
	_       [512]byte // the rest of a connection
}

func (p *nullPeer) Caps() hub.Caps { return 0 }
func (p *nullPeer) Near()          {}

func (*nullPeer) FlushAll(peers []hub.Peer) { hub.FlushEach(peers) }
func (p *nullPeer) Close(int, string)       {}

func (p *nullPeer) Flush() {
	for b := p.session.Begin(&p.cursor, p.buf); b != nil; b = p.session.Next(&p.cursor, len(b), len(b), p.buf) {
		if p.round.wrote++; p.round.wrote == p.round.n {
			p.round.wrote = 0
			p.round.over <- struct{}{}
		}
	}
}

// What one delivery costs besides the write call, for more sessions than fit into
// a processor's cache.
func BenchmarkFan(b *testing.B) {
	const n = 8000
	h := newHub(b, hub.Options{Shards: 1})
	buf := make([]byte, 0, 64<<10)
	r := &round{n: n, over: make(chan struct{}, 1)}
	for range n {
		s, err := h.Open(context.Background(), hub.Identity{}, 0)
		if err != nil {
			b.Fatal(err)
		}
		p := &nullPeer{session: s, buf: buf, round: r}
		s.Attach(p, &p.cursor)
		if _, err := s.Admit(&p.cursor, 0); err != nil {
			b.Fatal(err)
		}
	}
	q := market.Quote{Symbol: "ACME"}
	for b.Loop() {
		if err := market.QuoteEvent.Publish(context.Background(), h, nova.Broadcast(), &q); err != nil {
			b.Fatal(err)
		}
		<-r.over
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n*b.N), "ns/delivery")
}
