//go:build !race

// Not under the race detector: this is about bytes, and it is ten times slower there.

package hub_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/session"
	"github.com/ignex/nova/wire"
	"github.com/ignex/nova/wire/control"
)

// What docs/limits.md says that things cost besides what the totals count.
const (
	heapSession = 2 << 10 // an idle session, here with the smallest of peers
	heapTopic   = 1 << 10 // a topic
	heapMember  = 256     // a session in a topic, group or the like
	heapSlack   = 256 << 10
)

// heapRig is a hub in a bubble of fake time, with sockets that take everything or
// nothing.
type heapRig struct {
	t      *testing.T
	hub    *hub.Hub
	events map[string]*wire.Event
	peers  []*heapPeer
	empty  int64 // the heap before anybody came
}

// heapKind says what a client and its socket do.
type heapKind struct {
	caps    hub.Caps
	stalled bool
	acks    bool // the client has what was written
	deflate bool
}

// heapPeer is one socket.
type heapPeer struct {
	heapKind
	session *hub.Session
	cursor  session.Cursor
	buf     []byte
	closed  int
}

func (p *heapPeer) Caps() hub.Caps { return p.caps }
func (p *heapPeer) Near()          {}

func (*heapPeer) FlushAll(peers []hub.Peer)  { hub.FlushEach(peers) }
func (p *heapPeer) Close(code int, _ string) { p.closed = code }

func (p *heapPeer) Flush() {
	if p.stalled {
		return
	}
	for b := p.session.Begin(&p.cursor, p.buf); b != nil; {
		n := len(b) + len(p.cursor.Shared())
		b = p.session.Next(&p.cursor, n, n, p.buf)
	}
	if p.acks {
		p.session.SimLook(func(q *session.Queue) { q.Ack(q.Written()) })
	}
}

// heapSchema is that of the simulator with all events worth compressing.
func heapSchema() *nova.Schema {
	layout := *simSchema().Layout()
	for i := range layout.Events {
		layout.Events[i].Compress = true
	}
	layout.Calls = market.Schema.Layout().Calls
	return nova.NewSchema(&layout)
}

func newHeapRig(t *testing.T, o hub.Options) *heapRig {
	o.Schema, o.Shards = heapSchema(), 1
	r := &heapRig{t: t, hub: newHub(t, o), events: map[string]*wire.Event{}}
	for i, e := range o.Schema.Layout().Events {
		r.events[e.Name] = &o.Schema.Layout().Events[i]
	}
	r.empty = r.heap()
	return r
}

// heap returns the bytes that are reachable once nothing moves.
func (r *heapRig) heap() int64 {
	r.settle()
	runtime.GC()
	runtime.GC() // pools are emptied by the second
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func (r *heapRig) settle() {
	synctest.Wait()
	time.Sleep(10 * time.Millisecond) // a busy loop waits a little before it looks again
	synctest.Wait()
}

// connect brings n more clients.
func (r *heapRig) connect(n int, like heapKind) []*heapPeer {
	buf := make([]byte, 0, 64<<10)
	first := len(r.peers)
	for range n {
		p := &heapPeer{heapKind: like, buf: buf}
		s, err := r.hub.Open(r.t.Context(), hub.Identity{ClientID: fmt.Sprint("c", len(r.peers))}, 0)
		if err != nil {
			r.t.Fatal(err)
		}
		p.session = s
		p.cursor.Deflate = like.deflate
		s.Attach(p, &p.cursor)
		if p.caps&hub.CapSession != 0 {
			_, err = s.AttachClient(&p.cursor, &control.Attach{}, hub.Terms{})
		} else {
			_, err = s.Admit(&p.cursor, 0)
		}
		if err != nil {
			r.t.Fatal(err)
		}
		r.peers = append(r.peers, p)
	}
	return r.peers[first:]
}

// publish publishes one event with a key of that many bytes or more.
func (r *heapRig) publish(event string, to nova.Target, key string) {
	frame := simFrame(event, 0, key)
	_, err := r.hub.PublishFrame(context.Background(), nova.Publication{Event: r.events[event], Frame: frame, Target: to})
	if err != nil {
		r.t.Fatal(err)
	}
}

// each publishes n events to every client alone, not too many at once.
func (r *heapRig) each(n int, event string, key func(i int) string) {
	for i := range n {
		if i%500 == 0 {
			r.settle()
		}
		for k := range r.peers {
			r.publish(event, nova.ClientID(fmt.Sprint("c", k)), key(i))
		}
	}
}

// burst publishes what one turn of the shard takes together.
func (r *heapRig) burst(publish func()) {
	release := r.hold()
	publish()
	release()
	r.settle()
}

// hold stops the shard until release.
func (r *heapRig) hold() (release func()) {
	r.settle()
	release = r.hub.SimHold(0)
	synctest.Wait()
	return release
}

// counted returns the bytes that the hub knows of.
func (r *heapRig) counted() int64 {
	m := r.hub.Metrics()
	return m.SessionBytes + m.HistoryBytes + r.hub.SimInbox()
}

// holds compares the heap with what is counted, and that with its bound.
func (r *heapRig) holds(c *heapCase) {
	counted := r.counted()
	grown := r.heap() - r.empty
	most := counted + counted/4 + int64(len(r.peers))*(heapSession+c.lane) + int64(c.topics)*heapTopic + int64(c.members)*heapMember + heapSlack
	if grown > most {
		r.t.Errorf("invariant 15: the heap has grown by %d bytes, %d of them are counted: at most %d", grown, counted, most)
	}
	if counted > c.most {
		r.t.Errorf("invariant 15: %d bytes are counted, the bounds allow %d", counted, c.most)
	}
	r.t.Logf("grown by %d, counted %d of at most %d", grown, counted, c.most)
}

// over ends everything, which must leave nothing.
func (r *heapRig) over() {
	for _, p := range r.peers {
		if s := p.session; r.hub.Client(s.ID()) != nil {
			s.End()
		}
	}
	r.peers = nil
	time.Sleep(time.Hour)
	r.settle()
	if counted := r.counted(); counted != 0 {
		r.t.Errorf("invariant 15: %d bytes are counted although everything is over", counted)
	}
	if grown := r.heap() - r.empty; grown > heapSlack {
		r.t.Errorf("invariant 15: %d bytes of heap are left", grown)
	}
}

// heapCase is a kind of growth.
type heapCase struct {
	name    string
	options hub.Options
	grow    func(r *heapRig)
	topics  int   // that there are in the end
	members int   // memberships
	lane    int64 // bytes of a session in its own lists, which no total counts
	most    int64 // bound of all that is counted
}

// What is counted is what there is: each kind of growth that clients can cause, the
// heap after it beside the bytes that the hub counts, these beside their bounds, and
// both when it is over.
func TestHeap(t *testing.T) {
	for _, c := range heapCases() {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newHeapRig(t, c.options)
				c.grow(r)
				r.settle()
				r.holds(&c)
				r.over()
			})
		})
	}
}

// Whoever reads a socket waits while too much is on the way to the shard.
func TestFullWaitsForTheShard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newHeapRig(t, hub.Options{})
		p := r.connect(1, heapKind{acks: true})[0]
		r.hub.SimInboxBound(10_000)
		release := r.hold()
		for r.hub.SimInbox() < 10_000 {
			p.session.Unsubscribe(&p.cursor, "t")
			p.session.Subscribe(&p.cursor, hub.SubscribeRequest{Topic: "t"})
		}
		done := make(chan bool, 1)
		go func() { done <- p.session.Full(&p.cursor) }()
		synctest.Wait()
		if len(done) > 0 {
			t.Error("it did not wait")
		}
		release()
		if <-done {
			t.Error("it waits although there is room")
		}
	})
}
