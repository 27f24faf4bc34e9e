package client_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/client"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/wire/control"
)

func TestHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		var r record
		c, p := f.start(client.Options{OnError: func(err error) { r.add("%v", err) }})
		var off func()
		market.ChatEvent.Listen(c, func(_ context.Context, m *market.Chat) error {
			r.add("1 %s", m.Text)
			if m.Text == "a" {
				panic("boom")
			}
			// Not for the present event.
			market.ChatEvent.Listen(c, func(_ context.Context, m *market.Chat) error { r.add("3 %s", m.Text); return nil })
			off()
			return nil
		})
		off = market.ChatEvent.Listen(c, func(_ context.Context, m *market.Chat) error {
			r.add("2 %s", m.Text)
			return errors.New("no luck")
		})
		c.ListenAny(func(_ context.Context, d nova.Delivery) error {
			r.add("any %s", d.Event.Name)
			return nil
		})
		p.send(chat("a", 0))
		r.is(t, "1 a, internal: handler of chat panicked: boom, 2 a, handler of chat: no luck, any chat")
		p.send(chat("b", 0))
		r.is(t, "1 b, any chat")
		off()
		off()
		if n := c.Stats(); n.HandlerErrors != 2 || n.Received != 2 {
			t.Errorf("%+v", n)
		}
		shut(t, c, p)
	})
}

func TestCallbackPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		c, p := f.start(client.Options{
			OnStatus: func(client.Status) { panic("status") },
			OnError:  func(error) { panic("error") },
			OnGap:    func(client.Gap) { panic("gap") },
		})
		p.send(chat("1", 1))
		p.send(chat("3", 3))
		p.expect("resume 1")
		p.control(&control.Resumed{})
		synctest.Wait()
		if n := c.Stats(); n.Received != 2 {
			t.Errorf("%+v", n)
		}
		shut(t, c, p)
	})
}

func TestMalformed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		var r record
		c, p := f.start(client.Options{Schema: market.Schema, OnError: func(err error) { r.add("%v", nova.CodeOf(err)) }})
		var got []string
		market.ChatEvent.Listen(c, func(_ context.Context, m *market.Chat) error { got = append(got, m.Text); return nil })
		good := chat("good", 0)
		bad := [][]byte{
			nil, good[:13], good[:len(good)-1], append(chat("long", 0), 0),
			append([]byte{3}, good[1:]...),        // version
			trailed(chat("no topics/1", 0), 1, 1), // unknown ref
			chat("beyond 2^53", 1<<53),
		}
		broken := chat("broken", 0)
		broken[18] = 0xff // root offset
		bad = append(bad, broken)
		hello, _ := (&control.Welcome{ClientID: "x"}).AppendFrame(nil)
		hello[18] = 0xff
		bad = append(bad, hello)
		for _, b := range bad {
			p.send(b)
		}
		p.write(ws.AppendFrame(nil, ws.Text, []byte("hi")))
		p.send(good)
		synctest.Wait()
		if n := c.Stats(); n.Undecodable+n.Stray != uint64(len(bad)+1) || n.Connects != 1 {
			t.Errorf("%+v for %d bad frames", n, len(bad)+1)
		}
		if strings.Join(got, ",") != "good" {
			t.Errorf("handled %q", got)
		}
		r.take()
		// Unknown events are told once each, and are no error of the frame's.
		unknown := chat("x", 0)
		unknown[1]++
		for range 3 {
			p.send(unknown)
		}
		p.control(&control.Subscribe{Topic: "not for a client"})
		r.is(t, "unimplemented")
		if n := c.Stats(); n.Unknown != 3 || n.Connects != 1 {
			t.Errorf("%+v", n)
		}
		shut(t, c, p)
	})
}

func TestViolations(t *testing.T) {
	for name, set := range map[string]struct {
		bytes []byte
		code  int
		state client.State
	}{
		"masked":        {ws.AppendMasked(nil, ws.Binary, []byte("x"), [4]byte{1}), 1002, client.Closed},
		"reserved bits": {[]byte{0xf2, 0}, 1002, client.Closed},
		"too big":       {ws.AppendHeader(nil, ws.Binary, 16<<20+1), 1009, client.Closed},
		"bad reason":    {[]byte{0x88, 3, 3, 0xe8, 0xff}, 1007, client.Reconnecting},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t)
				c, p := f.start(client.Options{})
				p.write(set.bytes)
				if got := <-p.frames; !strings.HasPrefix(got, fmt.Sprintf("close %d", set.code)) {
					t.Errorf("the client answers %q, want %d", got, set.code)
				}
				p.conn.Close()
				synctest.Wait()
				if s := c.Status(); s.State != set.state {
					t.Errorf("status %+v", s)
				}
				if err := c.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		var r record
		o := client.Options{
			OnGap:       func(g client.Gap) { r.add("gap %d-%d", g.From, g.To) },
			OnRecovered: func(ok bool) { r.add("recovered %v", ok) },
		}
		c, p := f.start(o)
		market.ChatEvent.Listen(c, func(_ context.Context, m *market.Chat) error { r.add("%s", m.Text); return nil })
		send := func(numbers ...uint64) {
			for _, n := range numbers {
				p.send(chat(fmt.Sprint(n), n))
			}
		}
		send(1, 2, 0)
		r.is(t, "1, 2, 0")
		send(4, 5)
		p.expect("resume 2")
		r.is(t, "")
		p.control(&control.Resumed{Ok: true, From: 3})
		send(3, 4, 5, 6)
		r.is(t, "3, 4, 5, 6")
		send(8)
		p.expect("resume 6")
		start := time.Now()
		for r.take() != "gap 7-7, 8" {
			if time.Since(start) > 10*time.Second {
				t.Fatal("the gap is not told")
			}
			time.Sleep(100 * time.Millisecond)
		}
		if d := time.Since(start); d < 4900*time.Millisecond || d > 5200*time.Millisecond {
			t.Errorf("let go after %v", d)
		}
		send(10)
		p.expect("resume 8")
		p.conn.Close()
		p = f.next()
		p.expect("hello 2 [session/1 topics/1 batch/1 calls/1] 8")
		p.welcome()
		p.control(&control.Resumed{Ok: true, From: 9})
		send(9, 10, 11)
		r.is(t, "recovered true, 9, 10, 11")
		p.conn.Close()
		p = f.next()
		p.welcome()
		p.control(&control.Resumed{})
		send(12)
		r.is(t, "recovered false, 12")
		p.conn.Close()
		p = f.next() // a server that started again and knows nothing of resuming
		p.welcome()
		send(1, 2)
		r.is(t, "1, 2")
		if n := c.Stats(); n.Missing != 1 || n.Duplicates != 2 {
			t.Errorf("%+v", n)
		}
		shut(t, c, p)
	})
}

func ref(epoch, topic string) uint64 {
	sum := sha256.Sum256([]byte(epoch + "\x00" + topic))
	return binary.LittleEndian.Uint64(sum[:8])
}

func TestTopics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		var r record
		c, p := f.start(client.Options{
			OnGap:   func(g client.Gap) { r.add("gap %s %d-%d", g.Topic, g.From, g.To) },
			OnError: func(err error) { r.add("%v", nova.CodeOf(err)) },
		}, "topics/1")
		c.ListenFrame(market.ChatEvent.Info(), func(_ context.Context, d nova.Delivery) error {
			r.add("%s@%d", d.Topic, d.Offset)
			return nil
		})
		a, _ := c.Subscribe(t.Context(), "a")
		b, _ := c.Subscribe(t.Context(), "b", client.FromNow())
		_, _ = c.Subscribe(t.Context(), "e", client.From(client.Position{Epoch: "E", Offset: 40}))
		p.expect(`nova.subscribe 1 a "" 0`, `nova.subscribe 2 b "" -1`, `nova.subscribe 3 e "E" 40`)
		p.control(&control.TopicSubscribed{ID: 1, Topic: "a", Epoch: "A1", Offset: 3})
		p.control(&control.TopicSubscribed{ID: 2, Topic: "b", Epoch: "B1", Offset: 9})
		p.control(&control.TopicSubscribed{ID: 3, Topic: "e", Epoch: "E", Offset: 50, Replayed: 1})
		r.is(t, "gap e 41-50") // more was missed than may be replayed
		send := func(topic, epoch string, offsets ...uint64) {
			for _, o := range offsets {
				p.send(trailed(chat(fmt.Sprint(topic, o), 0), ref(epoch, topic), o))
			}
		}
		send("a", "A1", 4, 5, 5, 4, 8)
		send("b", "B1", 9, 10)
		send("a", "old epoch", 9)
		p.send(chat("broadcast", 0))
		r.is(t, "a@4, a@5, a@8, b@10, @0")
		if n := c.Stats(); n.Duplicates != 3 || n.Stray != 1 {
			t.Errorf("%+v", n)
		}
		if a.Position() != (client.Position{Epoch: "A1", Offset: 8}) || a.Recovered() {
			t.Errorf("position %+v", a.Position())
		}
		if got := chats(t, b, 1); got != "b10" {
			t.Errorf("the iterator of b has %s", got)
		}
		// The position goes into the next connection.
		p.conn.Close()
		p = f.next()
		p.welcome("topics/1")
		p.expect("hello 2 [session/1 topics/1 batch/1 calls/1] 0", `nova.subscribe 4 a "A1" 8`, `nova.subscribe 5 b "B1" 10`, `nova.subscribe 6 e "E" 50`)
		send("a", "A1", 9) // before it is acknowledged
		p.control(&control.TopicSubscribed{ID: 4, Topic: "a", Epoch: "A1", Offset: 8, Recovered: true})
		p.control(&control.TopicSubscribed{ID: 5, Topic: "b", Epoch: "B2", Offset: 0})
		send("a", "A1", 9)
		send("b", "B2", 1)
		r.is(t, "unavailable, gap b 11-0, a@9, b@1") // the loss first
		if !a.Recovered() || b.Recovered() {
			t.Errorf("recovered: a %v, b %v", a.Recovered(), b.Recovered())
		}
		// Refusals and kicks end the iterators with their code.
		p.control(&control.TopicRejected{ID: 6, Topic: "e", Code: 7, Message: "not yours"})
		p.control(&control.TopicRejected{ID: 5, Topic: "a", Code: 7, Message: "of an old request"})
		p.control(&control.TopicUnsubscribed{Topic: "b", Code: 7, Message: "kicked"})
		r.is(t, "denied, denied")
		for _, err := range market.ChatEvent.All(t.Context(), b) {
			if nova.CodeOf(err) == nova.Denied && strings.Contains(err.Error(), "kicked") {
				r.add("ended")
			}
		}
		r.is(t, "ended")
		if nova.CodeOf(b.Err()) != nova.Denied || a.Err() != nil {
			t.Errorf("b %v, a %v", b.Err(), a.Err())
		}
		// The server may put a client into a topic.
		p.control(&control.TopicSubscribed{Topic: "seed", Epoch: "S", Offset: 1})
		send("seed", "S", 2)
		r.is(t, "seed@2")
		// An answer that is among the missing frames is asked for again.
		lost, _ := c.Subscribe(t.Context(), "lost")
		p.expect(`nova.subscribe 7 lost "" 0`)
		p.send(chat("1", 1))
		p.send(chat("3", 3))
		p.expect("resume 1")
		p.control(&control.Resumed{})
		p.expect(`nova.subscribe 7 lost "" 0`)
		r.is(t, "@0, gap  2-2, @0")
		lost.Close()
		p.expect("unsubscribe lost")
		_ = c.JoinGroup(t.Context(), "vip")
		p.expect("joinGroup vip")
		p.control(&control.TopicRejected{Group: "vip", Code: 7})
		r.is(t, "denied")
		b.Close()
		p.conn.Close()
		p = f.next()
		p.welcome("topics/1")
		p.expect("hello 2 [session/1 topics/1 batch/1 calls/1] 3", `nova.subscribe 8 a "A1" 9`)
		a.Close()
		p.expect("unsubscribe a")
		p.control(&control.TopicSubscribed{ID: 8, Topic: "a", Epoch: "A1", Offset: 9}) // too late
		send("a", "A1", 10)
		r.take()
		if n := c.Stats(); n.Stray != 3 {
			t.Errorf("%+v", n)
		}
		shut(t, c, p)
	})
}

// chats takes n texts from a new iterator.
func chats(t *testing.T, sub *client.Subscription, n int) string {
	t.Helper()
	var got []string
	for m, err := range market.ChatEvent.All(t.Context(), sub) {
		if err != nil {
			got = append(got, nova.CodeOf(err).String())
			break
		}
		if got = append(got, m.Text); len(got) == n {
			break
		}
	}
	return strings.Join(got, ",")
}

func TestIterators(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		c, p := f.start(client.Options{}) // a base server, and no schema
		sub, _ := c.Subscribe(t.Context(), "a")
		p.expect("subscribe a")
		quote, err := market.QuoteEvent.AppendFrame(nil, &market.Quote{Symbol: "Q"})
		if err != nil {
			t.Fatal(err)
		}
		p.send(chat("1", 0))
		p.send(quote)
		p.send(chat("2", 0))
		synctest.Wait()
		if got := chats(t, sub, 2); got != "1,2" {
			t.Errorf("the first iterator begins with %s", got)
		}
		p.send(chat("nobody", 0))
		synctest.Wait()
		// Two at once, each with all.
		ctx, cancel := context.WithCancel(t.Context())
		var r record
		for i := range 2 {
			go func() {
				for d, err := range sub.Frames(ctx, nil) {
					name := "?" // nobody has named quotes to this connection
					if d.Event != nil {
						name = d.Event.Name
					}
					r.add("%d %s %v", i, name, err)
				}
				r.add("%d ends", i)
			}()
		}
		synctest.Wait()
		p.send(chat("x", 0))
		p.send(quote)
		if got := r.take(); strings.Count(got, "chat <nil>") != 2 || strings.Count(got, "? <nil>") != 2 {
			t.Errorf("got %s", got)
		}
		cancel()
		if got := r.take(); strings.Count(got, "ends") != 2 || len(got) > 15 {
			t.Errorf("got %s", got)
		}
		// A consumer that falls behind has what waits, and then the error.
		n := 0
		go func() {
			time.Sleep(time.Millisecond) // until the loop below waits
			p.send(chat("first", 0))
		}()
		for _, err := range market.ChatEvent.All(t.Context(), sub) {
			if err != nil {
				if nova.CodeOf(err) != nova.Exhausted || n != 1025 {
					t.Errorf("after %d: %v", n, err)
				}
				break
			}
			if n++; n == 1 {
				for range 1100 {
					p.send(chat("more", 0))
				}
				synctest.Wait()
			}
		}
		shut(t, c, p)
	})
}

func TestIteratorOverflow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		c, p := f.start(client.Options{Schema: market.Schema})
		sub, _ := c.Subscribe(t.Context(), "a")
		p.expect("subscribe a")
		// A subscription that nobody iterates over gives its backlog up.
		for i := range 1100 {
			p.send(chat(fmt.Sprint(i), 0))
		}
		synctest.Wait()
		result := make(chan string)
		go func() { result <- chats(t, sub, 1) }()
		synctest.Wait()
		p.send(chat("now", 0))
		if got := <-result; got != "now" {
			t.Errorf("a late iterator begins with %s", got)
		}
		// Closing ends quietly, losing the connection for good does not.
		other, _ := c.Subscribe(t.Context(), "b")
		go func() { result <- chats(t, sub, 1) }()
		go func() { result <- chats(t, other, 1) }()
		synctest.Wait()
		sub.Close()
		if got := <-result; got != "" {
			t.Errorf("after Close of the subscription: %q", got)
		}
		p.expect("subscribe b", "unsubscribe a")
		go shut(t, c, p)
		if got := <-result; got != "unavailable" {
			t.Errorf("after Close of the connection: %q", got)
		}
		synctest.Wait()
	})
}

// Payloads of iterators may be kept: they do not lie in the read buffer.
func TestIteratorPayloads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		c, p := f.start(client.Options{Schema: market.Schema})
		sub, _ := c.Subscribe(t.Context(), "a")
		p.expect("subscribe a")
		for i := range 100 {
			p.send(chat(strings.Repeat(fmt.Sprint(i%10), 700), 0))
		}
		var kept []nova.Delivery
		for d := range sub.Frames(t.Context(), market.ChatEvent.Info()) {
			if kept = append(kept, d); len(kept) == 100 {
				break
			}
		}
		for i, d := range kept {
			var m market.Chat
			if err := m.UnmarshalNova(d.Payload); err != nil || m.Text != strings.Repeat(fmt.Sprint(i%10), 700) {
				t.Fatalf("frame %d: %v %.20s", i, err, m.Text)
			}
		}
		shut(t, c, p)
	})
}
