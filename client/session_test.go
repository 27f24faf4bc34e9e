package client_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/client"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/wire"
	"github.com/ignex/nova/wire/control"
)

// attached answers the client's attach, which must be want.
func (p *peer) attached(want string, m control.Session) {
	p.t.Helper()
	p.welcome("session/1", "topics/1")
	p.expect("hello 2 [session/1 topics/1 batch/1 calls/1] 0", want)
	if m.ClientID = "c1"; m.NextSeq == 0 {
		m.NextSeq = 1
	}
	p.control(&m)
}

// session makes a client that is connected to a fake server with sessions.
func (f *fake) session(o client.Options, m control.Session) (*client.Conn, *peer) {
	f.t.Helper()
	c := f.client(o)
	result := make(chan error, 1)
	go func() { result <- c.Connect(f.t.Context()) }()
	p := f.next()
	synctest.Wait()
	if len(result) > 0 {
		f.t.Fatal("connected before nova.session")
	}
	m.Session = "n.1"
	p.attached(`attach "" 0`, m)
	if err := <-result; err != nil {
		f.t.Fatal(err)
	}
	return c, p
}

func (r *record) options() client.Options {
	return client.Options{
		OnError:     func(err error) { r.add("%v", nova.CodeOf(err)) },
		OnGap:       func(g client.Gap) { r.add("gap %s %d-%d %v", g.Topic, g.From, g.To, g.Reason) },
		OnRecovered: func(ok bool) { r.add("recovered %v", ok) },
	}
}

func (p *peer) chats(numbers ...uint64) {
	p.t.Helper()
	for _, n := range numbers {
		p.send(chat(fmt.Sprint(n), n))
	}
}

func TestSessionDelivery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		var r record
		c, p := f.session(r.options(), control.Session{})
		market.ChatEvent.Listen(c, func(_ context.Context, m *market.Chat) error { r.add("%s", m.Text); return nil })
		p.chats(1, 2)
		p.control(&control.Gap{From: 3, To: 4, Reason: 2})
		p.chats(5)
		p.control(&control.Gap{From: 6, To: 9, Reason: 1})
		r.is(t, "1, 2, gap  3-4 connection too slow, 5")
		start := time.Now()
		p.expect("ack 9")
		if d := time.Since(start); d != 2*time.Second {
			t.Errorf("acknowledged after %v", d)
		}
		for n := range uint64(64) {
			p.chats(10 + n)
		}
		p.expect("ack 73")
		if time.Since(start) != 2*time.Second {
			t.Error("64 frames were acknowledged late")
		}
		r.take()
		// Twice in a row, before the first frame, and at the head.
		for range 3 {
			p.conn.Close()
			p = f.next()
			p.chats2(74) // a server that does not wait for attach
			p.attached(`attach "n.1" 73`, control.Session{Session: "n.1", Recovered: true, NextSeq: 74})
			r.is(t, "unavailable, recovered true")
		}
		p.chats(74)
		r.is(t, "74")
		// Another life: new string, numbers from 1.
		p.conn.Close()
		p = f.next()
		p.attached(`attach "n.1" 74`, control.Session{Session: "n.2", Missed: 3})
		p.chats(1, 2)
		r.is(t, "unavailable, recovered false, 1, 2")
		p.conn.Close()
		p = f.next()
		p.attached(`attach "n.2" 2`, control.Session{Session: "n.2", Recovered: true, NextSeq: 3})
		r.is(t, "unavailable, recovered true")
		// A server without sessions takes over.
		p.conn.Close()
		p = f.next()
		p.expect("hello 2 [session/1 topics/1 batch/1 calls/1] 0")
		p.welcome()
		p.chats(1)
		r.is(t, "unavailable, recovered false, 1")
		if n := c.Stats(); n.Missing != 2 || n.Superseded != 4 || n.Stray != 3 || n.Duplicates != 0 {
			t.Errorf("%+v", n)
		}
		shut(t, c, p)
	})
}

// chats2 sends a number before hello, which no client counts as delivered.
func (p *peer) chats2(n uint64) {
	p.t.Helper()
	p.control(&control.Hello{Version: 2, Caps: []string{"session/1", "topics/1"}})
	p.chats(n)
}

func TestSessionViolations(t *testing.T) {
	for name, frame := range map[string][]byte{
		"hole":           chat("x", 3),
		"twice":          chat("x", 1),
		"gap elsewhere":  encode(&control.Gap{From: 3, To: 4, Reason: 2}),
		"gap of nothing": encode(&control.Gap{From: 2, To: 1, Reason: 2}),
		"ack":            encode(&control.Ack{Seq: 1}),
		"offset":         encode(&control.TopicSubscribed{Topic: "t", Epoch: "e", Offset: wire.MaxSafe + 1}),
		"offset below 0": encode(&control.TopicSubscribed{Topic: "t", Epoch: "e", Offset: -1}),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t)
				c, p := f.session(client.Options{}, control.Session{})
				p.chats(1)
				p.send(frame)
				if got := <-p.frames; !strings.HasPrefix(got, "close 1002") {
					t.Errorf("the client answers %q", got)
				}
				p.conn.Close()
				synctest.Wait()
				if s := c.Status(); s.State != client.Closed || nova.CodeOf(s.Err) != nova.FailedPrecondition {
					t.Errorf("status %+v", s)
				}
			})
		})
	}
	for name, m := range map[string]control.Session{
		"other number":       {Recovered: true, NextSeq: 3},
		"received too much":  {Recovered: true, NextSeq: 2, Received: 1},
		"impossible numbers": {NextSeq: -1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t)
				_, p := f.session(client.Options{}, control.Session{})
				p.chats(1)
				p.conn.Close()
				p = f.next()
				p.attached(`attach "n.1" 1`, m)
				if got := <-p.frames; !strings.HasPrefix(got, "close 1002") {
					t.Errorf("the client answers %q", got)
				}
				p.conn.Close()
				synctest.Wait()
			})
		})
	}
}

func encode(m appender) []byte {
	frame, err := m.AppendFrame(nil)
	if err != nil {
		panic(err)
	}
	return frame
}

func say(t *testing.T, conn nova.Conn, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if err := market.ChatEvent.Send(t.Context(), conn, &market.Chat{Text: text}); err != nil {
			t.Errorf("send %s: %v", text, err)
		}
	}
}

func TestSessionUpstream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		var r record
		c, p := f.session(r.options(), control.Session{})
		say(t, c, "a", "b", "c")
		p.expect("chat a #1", "chat b #2", "chat c #3")
		flushed := make(chan error, 1)
		flush := func() { flushed <- c.Flush(t.Context()) }
		go flush()
		p.control(&control.Ack{Seq: 2})
		synctest.Wait()
		if len(flushed) > 0 {
			t.Error("flushed before the last ack")
		}
		p.conn.Close()
		say(t, c, "d")
		p = f.next()
		p.attached(`attach "n.1" 0`, control.Session{Session: "n.1", Recovered: true, NextSeq: 1, Received: 2})
		p.expect("chat c #3", "chat d #4")
		p.control(&control.Ack{Seq: 3})
		if err := <-flushed; err != nil {
			t.Error(err)
		}
		// All arrived, the acknowledgement did not.
		say(t, c, "e")
		p.expect("chat e #5")
		p.conn.Close()
		p = f.next()
		p.attached(`attach "n.1" 0`, control.Session{Session: "n.1", Recovered: true, NextSeq: 1, Received: 5})
		p.quiet()
		r.is(t, "unavailable, recovered true, unavailable, recovered true")
		// The session is lost: what was sent has no known outcome, the rest is sent.
		confirmed := make(chan error, 2)
		send := func(text string) {
			confirmed <- market.ChatEvent.Send(t.Context(), c.Confirmed(), &market.Chat{Text: text})
		}
		go send("f")
		p.expect("chat f #6")
		say(t, c, "g")
		p.expect("chat g #7")
		go flush()
		synctest.Wait()
		p.conn.Close()
		say(t, c, "h") // perhaps in a write that takes nothing
		p = f.next()
		p.attached(`attach "n.1" 0`, control.Session{Session: "n.2"})
		p.expect("chat h #1")
		if err := <-confirmed; nova.CodeOf(err) != nova.UnknownOutcome {
			t.Errorf("confirmed send: %v", err)
		}
		if err := <-flushed; nova.CodeOf(err) != nova.UnknownOutcome {
			t.Errorf("flush: %v", err)
		}
		r.is(t, "unavailable, recovered false, unknown_outcome") // g; the sender of f was told
		go send("i")
		p.expect("chat i #2")
		p.control(&control.Ack{Seq: 2})
		if err := <-confirmed; err != nil {
			t.Error(err)
		}
		// Without sessions nobody can tell.
		say(t, c, "j")
		p.expect("chat j #3")
		p.conn.Close()
		p = f.next()
		p.expect("hello 2 [session/1 topics/1 batch/1 calls/1] 0")
		p.welcome()
		go send("k")
		p.expect("chat k")
		if err := <-confirmed; nova.CodeOf(err) != nova.FailedPrecondition {
			t.Errorf("confirmed send without sessions: %v", err)
		}
		if err := c.Flush(t.Context()); err != nil {
			t.Error(err)
		}
		r.is(t, "unavailable, recovered false, unknown_outcome")
		if n := c.Stats(); n.Unconfirmed != 3 {
			t.Errorf("%+v", n)
		}
		shut(t, c, p)
	})
}

func TestSessionUpstreamBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		c, p := f.session(client.Options{Queue: client.Queue{MaxFrames: 3}}, control.Session{MaxMessage: 200, HeartbeatMs: 4000})
		say(t, c, "1", "2", "3")
		p.expect("chat 1 #1", "chat 2 #2", "chat 3 #3")
		if err := market.ChatEvent.Send(t.Context(), c, &market.Chat{}); nova.CodeOf(err) != nova.Exhausted {
			t.Errorf("a fourth without an acknowledgement: %v", err)
		}
		p.control(&control.Ack{Seq: 1})
		synctest.Wait()
		say(t, c, "4")
		p.expect("chat 4 #4")
		if err := market.ChatEvent.Send(t.Context(), c, &market.Chat{Text: strings.Repeat("x", 200)}); nova.CodeOf(err) != nova.Invalid {
			t.Errorf("larger than the server takes: %v", err)
		}
		if err := c.SendFrame(t.Context(), market.ChatEvent.Info(), []byte("no frame")); nova.CodeOf(err) != nova.Invalid {
			t.Errorf("no frame: %v", err)
		}
		start := time.Now()
		p.expect("ping")
		if d := time.Since(start); d != 4*time.Second {
			t.Errorf("pings after %v, the server said 4 s", d)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := c.Flush(ctx); nova.CodeOf(err) != nova.DeadlineExceeded {
			t.Errorf("flush without acknowledgement: %v", err)
		}
		flushed := make(chan error, 1)
		go func() { flushed <- c.Flush(t.Context()) }()
		synctest.Wait()
		shut(t, c, p)
		if err := <-flushed; nova.CodeOf(err) != nova.UnknownOutcome {
			t.Errorf("flush over a close: %v", err)
		}
		if err := c.Flush(t.Context()); nova.CodeOf(err) != nova.Unavailable {
			t.Errorf("flush after the end: %v", err)
		}
	})
}

func TestSessionRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		c, p := f.session(client.Options{}, control.Session{Rate: 10, Burst: 20})
		start := time.Now()
		for i := range 50 {
			say(t, c, fmt.Sprint(i))
		}
		for i := range 50 {
			p.expect(fmt.Sprintf("chat %d #%d", i, i+1))
		}
		if d := time.Since(start); d < 3*time.Second || d > 5*time.Second {
			t.Errorf("50 frames at 10 a second and 20 at once took %v", d)
		}
		shut(t, c, p)
	})
}

func TestSessionTopics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		var r record
		c, p := f.session(r.options(), control.Session{})
		c.ListenFrame(market.ChatEvent.Info(), func(_ context.Context, d nova.Delivery) error {
			r.add("%s@%d", d.Topic, d.Offset)
			return nil
		})
		number := uint64(0)
		numbered := func(m appender) {
			number++
			frame := encode(m)
			wire.Stamp(frame, number)
			p.send(frame)
		}
		send := func(topic, epoch string, offset uint64) {
			number++
			p.send(trailed(chat("x", number), ref(epoch, topic), offset))
		}
		a, _ := c.Subscribe(t.Context(), "a")
		_, _ = c.Subscribe(t.Context(), "b", client.FromNow())
		_ = c.JoinGroup(t.Context(), "g")
		p.expect(`nova.subscribe 1 a "" 0`, `nova.subscribe 2 b "" -1`, "joinGroup g")
		numbered(&control.TopicSubscribed{ID: 1, Topic: "a", Epoch: "A", Offset: 3})
		send("a", "A", 4)
		p.control(&control.Gap{Topic: "a", From: 5, To: 7, Reason: 5})
		send("a", "A", 8)
		numbered(&control.TopicSubscribed{Topic: "seed", Epoch: "S", Offset: 1})
		r.is(t, "a@4, gap a 5-7 lost by the log, a@8")
		// Recovered: what was acknowledged stays, the rest is asked for again.
		p.conn.Close()
		p = f.next()
		p.attached(`attach "n.1" 4 a@A:8 seed@S:1`, control.Session{Session: "n.1", Recovered: true, NextSeq: 5})
		p.expect(`nova.subscribe 2 b "" -1`, "joinGroup g")
		send("a", "A", 9)
		send("seed", "S", 2)
		// Both answers come; the second does not move the position back.
		numbered(&control.TopicSubscribed{ID: 2, Topic: "b", Epoch: "B", Offset: 1})
		send("b", "B", 2)
		numbered(&control.TopicSubscribed{ID: 2, Topic: "b", Epoch: "B", Offset: 1})
		send("b", "B", 2)
		send("b", "B", 3)
		r.is(t, "unavailable, recovered true, a@9, seed@2, b@2, b@3")
		if !a.Recovered() {
			t.Error("a is not recovered")
		}
		// Left in the moment of the loss: told again, until a pong shows it is known.
		p.conn.Close()
		a.Close()
		_ = c.LeaveGroup(t.Context(), "g")
		p = f.next()
		p.attached(fmt.Sprintf(`attach "n.1" %d b@B:3 seed@S:2`, number), control.Session{Session: "n.1", Recovered: true, NextSeq: int64(number) + 1})
		p.expect("unsubscribe a", "leaveGroup g", "ping")
		p.control(&control.Pong{Ts: time.Now().UnixMilli()})
		synctest.Wait()
		p.conn.Close()
		p = f.next()
		p.attached(fmt.Sprintf(`attach "n.1" %d b@B:3 seed@S:2`, number), control.Session{Session: "n.1", Recovered: true, NextSeq: int64(number) + 1})
		p.quiet()
		r.take()
		shut(t, c, p)
	})
}

func TestSessionTopicsRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		var r record
		c, p := f.session(r.options(), control.Session{})
		c.ListenFrame(market.ChatEvent.Info(), func(_ context.Context, d nova.Delivery) error {
			r.add("%s@%d", d.Topic, d.Offset)
			return nil
		})
		_, _ = c.Subscribe(t.Context(), "a", client.From(client.Position{Epoch: "A", Offset: 5}))
		_, _ = c.Subscribe(t.Context(), "b")
		_, _ = c.Subscribe(t.Context(), "gone", client.From(client.Position{Epoch: "G", Offset: 5}))
		p.expect(`nova.subscribe 1 a "A" 5`, `nova.subscribe 2 b "" 0`, `nova.subscribe 3 gone "G" 5`)
		p.conn.Close()
		p = f.next()
		p.attached(`attach "n.1" 0 a@A:5 gone@G:5`, control.Session{Session: "n.2"})
		p.expect(`nova.subscribe 2 b "" 0`)
		for i, m := range []appender{
			&control.TopicSubscribed{Topic: "a", Epoch: "A", Offset: 7},
			&control.TopicRejected{Topic: "gone", Code: 7},
			&control.TopicSubscribed{ID: 2, Topic: "b", Epoch: "B"},
		} {
			frame := encode(m)
			wire.Stamp(frame, uint64(i+1))
			p.send(frame)
		}
		p.send(trailed(chat("x", 4), ref("A", "a"), 8))
		p.send(trailed(chat("x", 5), ref("B", "b"), 1))
		r.is(t, "unavailable, recovered false, gap a 6-7 unknown reason, denied, a@8, b@1")
		shut(t, c, p)
	})
}
