package server_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/session"
	"github.com/ignex/nova/wire/control"
)

// publish sends a quote whose number is n.
func (r *rig) publish(to nova.Target, n int) nova.Result {
	r.t.Helper()
	var result nova.Result
	if err := market.QuoteEvent.Publish(context.Background(), r.hub, to, quote(n), nova.Report(&result)); err != nil {
		r.t.Error(err)
	}
	return result
}

func TestSubscribeRacesPublishes(t *testing.T) {
	const publishes = 1000
	r := newRig(t, hub.Options{History: hub.History{Size: publishes}}, server.Options{})
	peers := make([]*rawPeer, 8)
	for i := range peers {
		if i%2 == 0 {
			peers[i] = r.join("", "", "topics/1")
		} else {
			peers[i] = r.join("", "")
		}
		peers[i].sync()
	}
	var publisher sync.WaitGroup
	publisher.Go(func() {
		for n := 1; n <= publishes; n++ {
			r.publish(nova.Topic("race"), n)
			if n%120 == 0 {
				peers[n/120-1].send(subscribe(n/120-1, "race"))
			}
		}
	})
	publisher.Wait()
	for i, p := range peers {
		seq := uint64(0)
		if i%2 == 0 {
			head, payload, _ := p.frame()
			var m control.TopicSubscribed
			if err := m.UnmarshalNova(payload); err != nil || head.ID != control.TopicSubscribedID || head.Seq != 1 {
				t.Fatalf("peer %d: %+v %+v %v", i, head, m, err)
			}
			if m.Offset != 0 || m.ID != int64(i) {
				t.Fatalf("peer %d: %+v", i, m)
			}
			seq = 1
		}
		for n := 1; n <= publishes; n++ {
			if q := p.quote(seq + uint64(n)); q.Ts != int64(n) {
				t.Fatalf("peer %d: quote %d where %d was due", i, q.Ts, n)
			}
		}
	}
}

// subscribe is a subscription in the dialect of peer i.
func subscribe(i int, topic string) frameWriter {
	if i%2 == 0 {
		return &control.TopicSubscribe{ID: int64(i), Topic: topic, Limit: 1 << 16}
	}
	return &control.Subscribe{Topic: topic}
}

func TestStalledReaderHarmsNobody(t *testing.T) {
	const frames = 10_000
	for name, policy := range map[string]session.Policy{"oldest": session.DropOldest, "newest": session.DropNewest, "disconnect": session.Disconnect} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, hub.Options{Backpressure: hub.Backpressure{Policy: policy, MaxFrames: 2000}}, server.Options{})
			stalled, healthy := r.join("", ""), r.join("", "")
			healthy.sync()
			stalled.sync()
			note := fmt.Sprintf("%01000d", 0)
			for n := 1; n <= frames; n++ {
				v := &market.Trade{Symbol: note, Ts: int64(n)} // an event without a class
				if err := market.TradeEvent.Publish(context.Background(), r.hub, nova.Broadcast(), v); err != nil {
					t.Fatal(err)
				}
				if n%500 == 0 { // the healthy client keeps up and gets every one
					began := time.Now()
					for k := n - 499; k <= n; k++ {
						if v := healthy.trade(); v.Ts != int64(k) {
							t.Fatalf("healthy client: trade %d, want %d", v.Ts, k)
						}
					}
					healthy.sync()
					if d := time.Since(began); d > 15*time.Second { // the heartbeat of a client
						t.Fatalf("its pong came after %v", d)
					}
				}
			}
			healthy.sync()
			if policy == session.Disconnect {
				eventually(t, "the slow client is given up", func() bool { return r.srv.Metrics().Hub.SlowClosed == 1 })
				if code, reason := stalled.ended(); code != 1013 || reason != "slow consumer" {
					t.Errorf("closed %d %q", code, reason)
				}
				return
			}
			checkStalled(t, stalled, policy, frames)
			if r.srv.Metrics().Hub.Dropped == 0 {
				t.Error("nothing was dropped: the reader was not stalled")
			}
		})
	}
}

// trade returns the next frame, which must be a trade whose ts is its number.
func (p *rawPeer) trade() *market.Trade {
	p.t.Helper()
	head, payload, _ := p.frame()
	v := new(market.Trade)
	if err := v.UnmarshalNova(payload); err != nil || head.ID != market.TradeEvent.ID() || head.Seq != uint64(v.Ts) {
		p.t.Fatalf("frame %+v %+v %v, want a trade", head, v, err)
	}
	return v
}

// checkStalled reads what the policy left: numbers in order, each with its own
// frame, and with DropOldest the newest at the end.
func checkStalled(t *testing.T, p *rawPeer, policy session.Policy, frames int) {
	t.Helper()
	last, got := uint64(0), 0
	p.send(&control.Ping{})
	for ponged := false; !ponged || last < uint64(frames) && policy == session.DropOldest; {
		head, payload, _ := p.frame()
		if head.ID == control.PongID {
			ponged = true
			continue
		}
		q := new(market.Trade)
		if err := q.UnmarshalNova(payload); err != nil {
			t.Fatal(err)
		}
		if head.Seq <= last || q.Ts != int64(head.Seq) {
			t.Fatalf("trade %d with number %d after %d", q.Ts, head.Seq, last)
		}
		last = head.Seq
		got++
	}
	if got == 0 {
		t.Error("the stalled client got nothing at all")
	}
}

func TestWriteStallEnds(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{WriteStall: 200 * time.Millisecond})
	p := r.join("", "")
	p.sync()
	q := quote(1)
	q.Symbol = fmt.Sprintf("%032000d", 0)
	ended := func() bool { return r.srv.Metrics().Closed[1013] == 1 && r.hub.Len() == 0 }
	eventually(t, "the stalled connection ends", func() bool {
		if err := market.QuoteEvent.Publish(context.Background(), r.hub, nova.Broadcast(), q); err != nil {
			t.Fatal(err)
		}
		return ended()
	})
}

func TestHeartbeat(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{Heartbeat: 50 * time.Millisecond})
	p := r.join("", "")
	p.sync()
	pings := 0
	for {
		m, err := p.tryNext() // the client never answers
		if err != nil {
			break
		}
		if m.op == ws.Ping {
			pings++
		}
	}
	if pings != 2 {
		t.Errorf("%d pings before the end, want 2", pings)
	}
	eventually(t, "the dead connection is gone", func() bool { return r.hub.Len() == 0 })
}

// When the server itself had no time, everybody seems silent for long: they are asked
// first, and who answers lives.
func TestLateSweeperEndsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const beat = 10 * time.Second
		var late atomic.Bool
		r := newQuietRig(t, hub.Options{}, server.Options{Heartbeat: beat, Clock: func() time.Time {
			if late.CompareAndSwap(true, false) {
				time.Sleep(20 * beat) // the sweeper's own time
			}
			return time.Now()
		}})
		answers, deaf := r.greet(r.dialPipe()), r.greet(r.dialPipe())
		for _, p := range []*rawPeer{answers, deaf} {
			p.net.SetDeadline(time.Time{})
		}
		go answers.drain()
		go func() {
			for {
				if _, err := deaf.tryNext(); err != nil {
					return
				}
			}
		}()
		late.Store(true)
		if n := r.openAfter(20*beat + 5*beat); n != 1 {
			t.Errorf("%d connections, want the one that answers", n)
		}
		if n := r.openAfter(5 * beat); n != 1 {
			t.Errorf("%d connections in the end", n)
		}
	})
}

func TestHandlersOfSlowClientHarmNobody(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	release := make(chan struct{})
	handled := make(chan int64, 1000)
	market.QuoteEvent.On(r.hub, func(_ context.Context, from *nova.Client, q *market.Quote) error {
		if q.Symbol == "S0" {
			<-release
		}
		handled <- q.Ts
		return nil
	})
	slow, quick := r.join("", ""), r.join("", "")
	for range 600 { // more than the inbox holds: reading stops
		slow.event(t, quote(0))
	}
	for n := 1; n <= 50; n++ {
		quick.event(t, quote(n))
		if ts := <-handled; ts != int64(n) {
			t.Fatalf("handled %d, want %d", ts, n)
		}
	}
	close(release)
	for range 600 {
		<-handled
	}
	slow.sync()
}

func TestOrderAcrossTargets(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	p := r.join("", "")
	p.send(&control.Subscribe{Topic: "t"})
	p.send(&control.JoinGroup{Group: "g"})
	p.sync()
	targets := []nova.Target{nova.Broadcast(), nova.Topic("t"), nova.Group("g"), nova.ClientID(p.id), nova.Broadcast().But("someone")}
	for n := 1; n <= 500; n++ {
		r.publish(targets[n%len(targets)], n)
	}
	for n := 1; n <= 500; n++ {
		if q := p.quote(uint64(n)); q.Ts != int64(n) {
			t.Fatalf("quote %d, want %d", q.Ts, n)
		}
	}
}

func TestExceptHoldsInHistory(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	p := r.join("", "")
	p.sync()
	r.publish(nova.Topic("room").But(p.id), 1)
	r.publish(nova.Topic("room"), 2)
	p.send(&control.Subscribe{Topic: "room"})
	if q := p.quote(1); q.Ts != 2 {
		t.Errorf("got quote %d, which is for everyone else", q.Ts)
	}
}

func TestLargeFrames(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	p := r.join("", "", "topics/1")
	p.send(&control.TopicSubscribe{ID: 1, Topic: "big"})
	p.frame()
	q := quote(7)
	for n := range 3 {
		q.Symbol = fmt.Sprintf("%0300000d", n) // another key each time: none supersedes
		if err := market.QuoteEvent.Publish(context.Background(), r.hub, nova.Topic("big"), q); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 3 {
		if got := p.quote(uint64(n + 2)); got.Symbol != fmt.Sprintf("%0300000d", n) || got.Ts != 7 {
			t.Fatalf("frame %d came damaged", n)
		}
	}
	q.Symbol = fmt.Sprintf("%02000000d", 1)
	err := market.QuoteEvent.Publish(context.Background(), r.hub, nova.Broadcast(), q)
	if nova.CodeOf(err) != nova.Invalid {
		t.Errorf("a frame above the bound: %v", err)
	}
}

func TestGroupsAndUsersOfIdentity(t *testing.T) {
	authorize := func(_ context.Context, _ *nova.Client, name string) error {
		if name == "secret" {
			return nova.Errorf(nova.Denied, "no")
		}
		return nil
	}
	r := newRig(t, hub.Options{AuthorizeGroup: authorize, AuthorizeTopic: authorize}, server.Options{
		Authenticate: func(_ context.Context, c server.Credentials) (server.Identity, error) {
			return server.Identity{UserID: c.Request.URL.Query().Get("user"), Groups: []string{"a", "secret", "b"}, Topics: []string{"seeded", "secret"}}, nil
		},
	})
	p := r.dial("?user=ann", "")
	p.frame()
	var welcome control.Welcome
	p.control(control.WelcomeID, &welcome)
	if !slices.Equal(welcome.Groups, []string{"a", "b"}) {
		t.Errorf("welcome names %v", welcome.Groups)
	}
	p.send(&control.Hello{Version: 2})
	p.send(&control.Subscribe{Topic: "secret"})
	p.send(&control.Subscribe{Topic: "open"})
	eventually(t, "the joins are done", func() bool {
		c := r.hub.Client(welcome.ClientID)
		return c != nil && slices.Equal(c.Topics(), []string{"open", "seeded"}) && slices.Equal(c.Groups(), []string{"a", "b"})
	})
	for n, to := range []nova.Target{nova.User("ann"), nova.Group("b"), nova.Topic("seeded")} {
		if got := r.publish(to, n).Members; got != 1 {
			t.Errorf("target %d reaches %d", n, got)
		}
		p.quote(uint64(n + 1))
	}
	if err := r.hub.UserGroup("staff").Add("ann"); err != nil {
		t.Fatal(err)
	}
	if got := r.publish(nova.UserGroup("staff"), 9).Members; got != 1 {
		t.Errorf("the user group reaches %d", got)
	}
	p.quote(4)
	if got := r.srv.Metrics().Hub.RejectedJoins; got != 3 { // of the identity a group and a topic, and the frame
		t.Errorf("%d joins refused, want 3", got)
	}
}
