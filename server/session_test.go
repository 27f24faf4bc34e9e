package server_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/wire"
	"github.com/ignex/nova/wire/control"
)

// attach connects as a client with session/1 and returns the answer.
func (r *rig) attach(query, text string, last int64, topics ...control.Cursor) (*rawPeer, control.Session) {
	r.t.Helper()
	p := r.join("?nova=2"+query, "", "session/1", "topics/1")
	return p, p.attach(control.Attach{Session: text, LastSeq: last, Topics: topics})
}

func (p *rawPeer) attach(say control.Attach) (m control.Session) {
	p.t.Helper()
	p.send(&say)
	p.control(control.SessionID, &m)
	return m
}

// data returns the next frame that is not an unnumbered word about groups.
func (p *rawPeer) data() (wire.Header, []byte) {
	p.t.Helper()
	for {
		head, payload, _ := p.frame()
		if head.ID != control.GroupsID && head.ID != control.AckID {
			return head, payload
		}
	}
}

func (p *rawPeer) expectQuote(seq uint64, ts int64) {
	p.t.Helper()
	head, payload := p.data()
	var q market.Quote
	if err := q.UnmarshalNova(payload); head.ID != market.QuoteEvent.ID() || err != nil || head.Seq != seq || q.Ts != ts {
		p.t.Fatalf("frame %+v (quote %d, %v), want quote %d with number %d", head, q.Ts, err, ts, seq)
	}
}

// expectFrame decodes the next frame, which must be of that id and number.
func (p *rawPeer) expectFrame(id uint32, seq uint64, m interface{ UnmarshalNova([]byte) error }) {
	p.t.Helper()
	head, payload := p.data()
	if head.ID != id || head.Seq != seq {
		p.t.Fatalf("frame %+v, want %#x with number %d", head, id, seq)
	}
	if err := m.UnmarshalNova(payload); err != nil {
		p.t.Fatal(err)
	}
}

func (r *rig) detached(n int) {
	r.t.Helper()
	eventually(r.t, "the socket's loss is noticed", func() bool { return r.srv.Metrics().Hub.Detached == n })
}

func TestRecoverTwiceInARow(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	p, m := r.attach("", "", 0)
	if m.Recovered || m.NextSeq != 1 || !strings.Contains(m.Session, ".") || m.TTLMs != 60_000 || m.ClientID != p.id || m.Received != 0 {
		t.Fatalf("%+v", m)
	}
	r.publish(nova.Broadcast(), 1)
	p.expectQuote(1, 1)
	for round := range int64(2) {
		p.net.Close()
		r.detached(1)
		for _, to := range []nova.Target{nova.Broadcast(), nova.ClientID(m.ClientID)} {
			if got := r.publish(to, int(2+2*round)).Members; got != 1 {
				t.Fatalf("%+v reaches %d without a socket", to, got)
			}
		}
		var again control.Session
		p, again = r.attach("", m.Session, 1+round*2)
		if !again.Recovered || again.Session != m.Session || again.ClientID != m.ClientID || again.NextSeq != 2+round*2 {
			t.Fatalf("%+v", again)
		}
		p.expectQuote(uint64(2+round*2), 2+2*round)
		p.expectQuote(uint64(3+round*2), 2+2*round)
	}
	// At the head, before anything came, and from another life.
	p.net.Close()
	r.detached(1)
	p, head := r.attach("", m.Session, 5)
	if !head.Recovered || head.NextSeq != 6 {
		t.Fatalf("%+v", head)
	}
	p.net.Close()
	r.detached(1)
	_, other := r.attach("", m.Session, 99)
	if other.Recovered || other.Session == m.Session || other.NextSeq != 1 {
		t.Fatalf("%+v", other)
	}
	eventually(t, "the old session is gone", func() bool { return r.hub.Len() == 1 })
}

func TestInstantReconnectTakesOver(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	old, m := r.attach("", "", 0)
	r.publish(nova.Broadcast(), 1)
	old.expectQuote(1, 1)
	young, again := r.attach("", m.Session, 0)
	if !again.Recovered || again.NextSeq != 1 {
		t.Fatalf("%+v", again)
	}
	young.expectQuote(1, 1)
	old.expectEnd(1000, "replaced by newer session")
	eventually(t, "the older socket is gone", func() bool { return r.srv.Metrics().Connections == 1 })
	r.publish(nova.Broadcast(), 2)
	young.expectQuote(2, 2)
	if r.hub.Len() != 1 || r.srv.Metrics().Hub.Detached != 0 {
		t.Errorf("%d sessions", r.hub.Len())
	}
}

func TestFlappingConnectsGiveOneSocket(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	_, m := r.attach("", "", 0)
	for range 30 {
		if _, again := r.attach("", m.Session, 0); !again.Recovered {
			t.Fatalf("%+v", again)
		}
	}
	eventually(t, "one socket is left", func() bool { return r.srv.Metrics().Connections == 1 && r.hub.Len() == 1 })
}

func TestSessionStringOfAnotherUser(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{Authenticate: func(_ context.Context, c server.Credentials) (server.Identity, error) {
		return server.Identity{UserID: c.Request.URL.Query().Get("user")}, nil
	}})
	ann, m := r.attach("&user=ann", "", 0)
	_, thief := r.attach("&user=eve", m.Session, 0)
	if thief.Recovered || thief.Session == m.Session {
		t.Fatalf("%+v", thief)
	}
	r.publish(nova.User("ann"), 1)
	ann.expectQuote(1, 1)
}

func TestClosingByTheClient(t *testing.T) {
	for code, kept := range map[int]int{1000: 0, 1001: 0, 4000: 1} {
		r := newRig(t, hub.Options{}, server.Options{})
		p, _ := r.attach("", "", 0)
		p.write(ws.AppendMasked(nil, ws.Close, ws.AppendClosePayload(nil, code, ""), [4]byte{}))
		eventually(t, "the socket is gone", func() bool { return r.srv.Metrics().Connections == 0 })
		eventually(t, "the session ends or stays", func() bool { return r.hub.Len() == kept })
	}
}

func TestTTL(t *testing.T) {
	var now atomic.Int64
	now.Store(time.Now().UnixNano())
	hooks := make(chan string, 10)
	r := newRig(t, hub.Options{
		Clock:        func() time.Time { return time.Unix(0, now.Load()) },
		Session:      hub.SessionOptions{TTL: 2 * time.Second},
		OnLost:       func(context.Context, *nova.Client, int) { hooks <- "lost" },
		OnRestored:   func(context.Context, *nova.Client) { hooks <- "restored" },
		OnDisconnect: func(_ context.Context, _ *nova.Client, why hub.EndReason) { hooks <- "end: " + why.String() },
	}, server.Options{})
	p, m := r.attach("", "", 0)
	p.net.Close()
	if got := <-hooks; got != "lost" {
		t.Fatal(got)
	}
	now.Add(int64(time.Second))
	p, again := r.attach("", m.Session, 0)
	if got := <-hooks; got != "restored" || !again.Recovered {
		t.Fatal(got, again)
	}
	p.net.Close()
	if got := <-hooks; got != "lost" {
		t.Fatal(got)
	}
	now.Add(int64(3 * time.Second))
	if got := <-hooks; got != "end: expired" {
		t.Fatal(got)
	}
	if _, late := r.attach("", m.Session, 0); late.Recovered || late.Missed != -1 {
		t.Fatalf("%+v", late)
	}
}

func TestTopicsComeBackByCursor(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	p, _ := r.attach("", "", 0)
	p.send(&control.TopicSubscribe{ID: 1, Topic: "t"})
	var sub control.TopicSubscribed
	p.expectFrame(control.TopicSubscribedID, 1, &sub)
	r.publish(nova.Topic("t"), 1)
	p.expectQuote(2, 1)
	r.publish(nova.Topic("t"), 2)
	_, m := r.attach("", "node.unknown", 7)
	if m.Recovered || m.Missed != -1 {
		t.Fatalf("%+v", m)
	}
	p, _ = r.attach("", "node.unknown", 7, control.Cursor{Topic: "t", Epoch: sub.Epoch, Offset: 1})
	var back control.TopicSubscribed
	p.expectFrame(control.TopicSubscribedID, 1, &back)
	if back.ID != 0 || !back.Recovered || back.Offset != 1 || back.Replayed != 1 {
		t.Fatalf("%+v", back)
	}
	p.expectQuote(2, 2)
}

func TestAuthorisedAgainOnAttach(t *testing.T) {
	var banned atomic.Bool
	r := newRig(t, hub.Options{AuthorizeTopic: func(_ context.Context, _ *nova.Client, topic string) error {
		if topic == "secret" && banned.Load() {
			return nova.Errorf(nova.Denied, "not any more")
		}
		return nil
	}}, server.Options{})
	p, m := r.attach("", "", 0)
	for i, topic := range []string{"secret", "open"} {
		p.send(&control.TopicSubscribe{ID: int64(i), Topic: topic})
		var sub control.TopicSubscribed
		p.expectFrame(control.TopicSubscribedID, uint64(i+1), &sub)
	}
	p.net.Close()
	r.detached(1)
	r.publish(nova.Topic("secret"), 1)
	r.publish(nova.Topic("open"), 2)
	banned.Store(true)
	p, m = r.attach("", m.Session, 2)
	if !m.Recovered {
		t.Fatalf("%+v", m)
	}
	var gap control.Gap
	p.expectFrame(control.GapID, 0, &gap)
	if gap.From != 3 || gap.To != 3 || gap.Reason != 3 || gap.Topic != "" {
		t.Fatalf("%+v", gap)
	}
	p.expectQuote(4, 2)
	var gone control.TopicUnsubscribed
	p.expectFrame(control.TopicUnsubscribedID, 5, &gone)
	if gone.Topic != "secret" || gone.Code != int64(nova.Denied) {
		t.Fatalf("%+v", gone)
	}
	if got := r.publish(nova.Topic("secret"), 3).Members; got != 0 {
		t.Errorf("%d members", got)
	}
}

func (p *rawPeer) stamped(seq uint64, n int) {
	p.t.Helper()
	frame, err := market.QuoteEvent.AppendFrame(nil, quote(n))
	if err != nil {
		p.t.Fatal(err)
	}
	wire.Stamp(frame, seq)
	p.write(ws.AppendMasked(nil, ws.Binary, frame, [4]byte{5, 6, 7, 8}))
}

func TestUpstreamOnceInOrder(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	got := make(chan int64, 200)
	market.QuoteEvent.On(r.hub, func(_ context.Context, _ *nova.Client, q *market.Quote) error {
		got <- q.Ts
		return nil
	})
	p, m := r.attach("", "", 0)
	for n := 1; n <= 70; n++ {
		p.stamped(uint64(n), n)
	}
	for n := int64(1); n <= 70; n++ {
		if ts := <-got; ts != n {
			t.Fatalf("handled %d, want %d", ts, n)
		}
	}
	for {
		head, payload, _ := p.frame()
		var ack control.Ack
		if head.ID == control.AckID && ack.UnmarshalNova(payload) == nil && ack.Seq == 70 {
			break
		}
	}
	p, m = r.attach("", m.Session, 0)
	if m.Received != 70 {
		t.Fatalf("%+v", m)
	}
	p.stamped(69, 69) // again: dropped
	p.stamped(71, 71)
	if ts := <-got; ts != 71 {
		t.Fatalf("handled %d", ts)
	}
	p.stamped(73, 73)
	p.expectEnd(1002, "frame number does not follow")
}

func TestAckAboveWhatWasWritten(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	p, _ := r.attach("", "", 0)
	r.publish(nova.Broadcast(), 1)
	p.expectQuote(1, 1)
	p.send(&control.Ack{Seq: 1})
	p.send(&control.Ack{Seq: 2})
	p.expectEnd(1002, "acknowledges what was never sent")
}

func TestGroupsAreTold(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	p, m := r.attach("", "", 0)
	groups := func(p *rawPeer, want ...string) {
		t.Helper()
		for {
			head, payload, _ := p.frame()
			var g control.Groups
			if head.ID == control.GroupsID && g.UnmarshalNova(payload) == nil && slices.Equal(g.Groups, want) {
				return
			}
		}
	}
	p.send(&control.JoinGroup{Group: "a"})
	groups(p, "a")
	r.hub.Client(m.ClientID).JoinGroup(context.Background(), "b")
	groups(p, "a", "b")
	r.hub.Client(m.ClientID).LeaveGroup("a")
	groups(p, "b")
	p, _ = r.attach("", m.Session, 0)
	groups(p, "b")
}

func TestGoaway(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	p, _ := r.attach("", "", 0)
	done := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		done <- r.srv.Shutdown(ctx)
	}()
	var m control.Goaway
	p.expectFrame(control.GoawayID, 0, &m)
	if m.Reason == "" || m.RetryAfterMs < 0 {
		t.Errorf("%+v", m)
	}
	p.expectEnd(1012, "service restart")
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestBasePinnedResume(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{Authenticate: pinned})
	p := r.join("?id=me", "")
	p.sync()
	r.publish(nova.Broadcast(), 1)
	p.quote(1)
	p.net.Close()
	r.detached(1)
	r.publish(nova.Broadcast(), 2)
	p = r.dial("?id=me", "")
	p.frame()
	p.frame()
	p.send(&control.Hello{Version: 2, LastSeq: 1})
	var resumed control.Resumed
	p.control(control.ResumedID, &resumed)
	if !resumed.Ok || resumed.From != 0 {
		t.Fatalf("%+v", resumed)
	}
	if q := p.quote(2); q.Ts != 2 {
		t.Fatal(q.Ts)
	}
	// From 0 the session held ends, and numbers start again.
	p = r.join("?id=me", "")
	p.sync()
	r.publish(nova.Broadcast(), 3)
	if q := p.quote(1); q.Ts != 3 {
		t.Fatal(q.Ts)
	}
}

func TestDataBeforeAttachCloses(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	p := r.join("?nova=2", "", "session/1", "topics/1")
	r.publish(nova.Broadcast(), 1) // nobody is there yet
	p.send(&control.Subscribe{Topic: "t"})
	p.expectEnd(1002, "no attach")
}

// A history larger than the queue breaks nobody and is served whole.
func TestReplayLargerThanTheQueue(t *testing.T) {
	r := newRig(t, hub.Options{History: hub.History{Size: 500}, Backpressure: hub.Backpressure{MaxFrames: 100}}, server.Options{})
	for range 400 {
		if err := market.OrderEvent.Publish(t.Context(), r.hub, nova.Topic("t"), &market.Order{}); err != nil {
			t.Fatal(err)
		}
	}
	p, _ := r.attach("", "", 0)
	p.send(&control.TopicSubscribe{ID: 1, Topic: "t"})
	var sub control.TopicSubscribed
	p.expectFrame(control.TopicSubscribedID, 1, &sub)
	if sub.Replayed != 400 || sub.Offset != 0 || sub.Recovered {
		t.Fatalf("%+v", sub)
	}
	for seq := uint64(2); seq <= 401; seq++ {
		if head, _ := p.data(); head.Seq != seq || head.ID != market.OrderEvent.ID() {
			t.Fatalf("%+v, want number %d", head, seq)
		}
	}
}
