package server_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/wire/control"
)

func setUser(t *testing.T, c *nova.Client, user string) *nova.Client {
	t.Helper()
	now, err := c.SetUser(user)
	if err != nil {
		t.Fatal(err)
	}
	return now
}

func TestNobodyBecomesSomebody(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	p, m := r.attach("", "", 0)
	r.publish(nova.Broadcast(), 1)
	p.expectQuote(1, 1)
	c := r.hub.Client(m.ClientID)
	c.Set("kept", true)
	if now := setUser(t, c, "ann"); now != c || c.User() != "ann" || len(r.hub.ClientsOf("ann")) != 1 {
		t.Fatalf("the client is another one, or user %q", c.User())
	}
	var again control.Session
	p.expectFrame(control.SessionID, 0, &again)
	if !again.Recovered || again.Session == m.Session || again.ClientID != m.ClientID || again.NextSeq != 2 {
		t.Fatalf("%+v", again)
	}
	if n := r.publish(nova.User("ann"), 2).Members; n != 1 || c.Get("kept") != true {
		t.Fatalf("%d members", n)
	}
	p.expectQuote(2, 2)
	if same := setUser(t, c, "ann"); same != c {
		t.Error("no change made another client")
	}
	if _, err := c.SetUser("a\x00"); nova.CodeOf(err) != nova.Invalid {
		t.Error(err)
	}
}

func TestAnotherUserIsAnotherSession(t *testing.T) {
	ends := make(chan hub.EndReason, 10)
	inbound := make(chan string, 10)
	r := newRig(t, hub.Options{OnDisconnect: func(_ context.Context, _ *nova.Client, why hub.EndReason) { ends <- why }}, server.Options{})
	market.QuoteEvent.On(r.hub, func(_ context.Context, from *nova.Client, q *market.Quote) error {
		inbound <- fmt.Sprint(from.User(), " ", q.Ts)
		return nil
	})
	p, m := r.attach("", "", 0)
	ann := setUser(t, r.hub.Client(m.ClientID), "ann")
	var again control.Session
	p.expectFrame(control.SessionID, 0, &again)
	if err := ann.Join(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	var sub control.TopicSubscribed
	p.expectFrame(control.TopicSubscribedID, 1, &sub)
	p.stamped(1, 1)
	if got := <-inbound; got != "ann 1" {
		t.Fatal(got)
	}
	ann.Set("secret", 1)
	eve := setUser(t, ann, "eve")
	if why := <-ends; why != hub.EndUser {
		t.Errorf("ended: %v", why)
	}
	if eve == ann || eve.User() != "eve" || ann.User() != "ann" || eve.ID() != m.ClientID || len(eve.Topics()) > 0 || len(eve.All()) > 0 ||
		r.hub.Client(m.ClientID) != eve || r.hub.Len() != 1 {
		t.Errorf("eve is %+v", eve)
	}
	if err := ann.Join(t.Context(), "t"); nova.CodeOf(err) != nova.NotFound {
		t.Errorf("the old client joins: %v", err)
	}
	for _, to := range []nova.Target{nova.User("ann"), nova.Topic("t")} {
		if n := r.publish(to, 2).Members; n != 0 {
			t.Errorf("%+v reaches %d", to, n)
		}
	}
	var fresh control.Session
	p.expectFrame(control.SessionID, 0, &fresh)
	if fresh.Recovered || fresh.Session == again.Session || fresh.NextSeq != 2 || fresh.ClientID != m.ClientID {
		t.Fatalf("%+v", fresh)
	}
	// What was under way is dropped, acknowledgements too; the new numbers count.
	p.stamped(2, 2)
	p.send(&control.Ack{Seq: 1})
	p.stamped(uint64(fresh.Received)+1, 3)
	if got := <-inbound; got != "eve 3" {
		t.Fatal(got)
	}
	r.publish(nova.User("eve"), 4)
	p.expectQuote(2, 4)
	p.send(&control.TopicSubscribe{ID: 7, Topic: "u"})
	p.expectFrame(control.TopicSubscribedID, 3, &sub)
	p.net.Close()
	r.detached(1)
	if _, err := eve.SetUser("bob"); nova.CodeOf(err) != nova.NotFound {
		t.Errorf("without a socket: %v", err)
	}
	if r.hub.Len() != 0 {
		t.Errorf("%d clients", r.hub.Len())
	}
}

// While frames for both users are on the way and the socket takes few of them, what
// comes after nova.session is for the new user alone.
func TestNothingForTheOldUserAfterTheChange(t *testing.T) {
	r := newRig(t, hub.Options{Backpressure: hub.Backpressure{MaxFrames: 10_000, MaxBytes: 256 << 20}}, server.Options{})
	pad := fmt.Sprintf("%020000d", 0)
	send := func(user string) {
		err := market.OrderEvent.Publish(t.Context(), r.hub, nova.User(user), &market.Order{OrderID: user + pad})
		if err != nil {
			t.Fatal(err)
		}
	}
	for round := range 20 {
		p, m := r.attach("", "", 0)
		c := setUser(t, r.hub.Client(m.ClientID), "ann")
		var told control.Session
		p.expectFrame(control.SessionID, 0, &told)
		for range 20 * (round + 1) { // from what a socket takes to far beyond
			send("ann")
		}
		setUser(t, c, "eve")
		send("ann")
		send("eve")
		changed := false
		for want := uint64(1); ; want++ {
			head, payload := p.data()
			if head.ID == control.SessionID {
				if err := told.UnmarshalNova(payload); err != nil || told.Recovered || changed {
					t.Fatalf("%+v %v", told, err)
				}
				changed = true
				head, payload = p.data()
				want = uint64(told.NextSeq)
			}
			var o market.Order
			if err := o.UnmarshalNova(payload); err != nil || head.Seq != want {
				t.Fatalf("round %d: %+v, want number %d, %v", round, head, want, err)
			}
			if user := o.OrderID[:3]; changed != (user == "eve") {
				t.Fatalf("round %d: a frame of %s, changed: %v", round, user, changed)
			} else if changed {
				break
			}
		}
		p.write(ws.AppendMasked(nil, ws.Close, ws.AppendClosePayload(nil, 1000, ""), [4]byte{}))
		p.net.Close()
	}
	eventually(t, "the counts add up", func() bool {
		f := r.srv.Metrics().Hub.Frames
		return f.Numbered == f.Written+f.Discarded+f.Dropped+f.Superseded+f.Withdrawn+f.Unsent
	})
}

// A base client keeps its numbers.
func TestAnotherUserOfABaseClient(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	p := r.join("", "")
	p.sync()
	ann := setUser(t, r.hub.Client(p.id), "ann")
	r.publish(nova.User("ann"), 1)
	p.quote(1)
	setUser(t, ann, "eve")
	r.publish(nova.User("ann"), 2)
	r.publish(nova.User("eve"), 3)
	if q := p.quote(2); q.Ts != 3 {
		t.Errorf("quote %d", q.Ts)
	}
	setUser(t, r.hub.Client(p.id), "")
	p.send(&control.Subscribe{Topic: "t"})
	p.sync()
	r.publish(nova.Topic("t"), 4)
	if q := p.quote(3); q.Ts != 4 {
		t.Errorf("quote %d", q.Ts)
	}
}

// A change of user while the client sends: each session tells of its connection first,
// and one handler runs at a time.
func TestUserChangesUnderEvents(t *testing.T) {
	const changes = 300
	var handled atomic.Int64
	var running, connected sync.Map
	r := newRig(t, hub.Options{OnConnect: func(_ context.Context, c *nova.Client) { connected.Store(c, true) }}, server.Options{})
	market.QuoteEvent.On(r.hub, func(_ context.Context, from *nova.Client, q *market.Quote) error {
		if _, ok := connected.Load(from); !ok {
			t.Error("a handler ran before OnConnect")
		}
		if _, twice := running.LoadOrStore(from, true); twice {
			t.Error("two handlers of one client ran at a time")
		}
		runtime.Gosched()
		running.Delete(from)
		handled.Add(1)
		return nil
	})
	p := r.join("", "")
	p.sync()
	stop := make(chan struct{})
	var sender sync.WaitGroup
	sender.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
				p.event(t, quote(n))
			}
		}
	})
	for n := range changes {
		before := handled.Load()
		setUser(t, r.hub.Client(p.id), fmt.Sprint("u", n))
		eventually(t, "an event is handled", func() bool { return handled.Load() > before })
	}
	close(stop)
	sender.Wait()
}
