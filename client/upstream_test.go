package client_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/client"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/wire/control"
)

// A server closes for a frame larger than it takes, for good: such frames are never
// sent, also when nobody knew the limit while they were queued.
func TestTooLargeForTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		var r record
		c := f.client(r.options())
		big := &market.Chat{Text: strings.Repeat("x", 1000)}
		say(t, c, "1")
		if err := market.ChatEvent.Send(t.Context(), c, big); err != nil {
			t.Fatal(err)
		}
		confirmed := make(chan error, 1)
		go func() { confirmed <- market.ChatEvent.Send(t.Context(), c.Confirmed(), big) }()
		synctest.Wait()
		say(t, c, "2")
		go func() { _ = c.Connect(t.Context()) }()
		p := f.next()
		p.attached(`attach "" 0`, control.Session{Session: "n.1", MaxMessage: 1000})
		p.expect("chat 1 #1", "chat 2 #2")
		if err := <-confirmed; nova.CodeOf(err) != nova.Invalid {
			t.Errorf("confirmed: %v", err)
		}
		r.is(t, "invalid")
		// The limit is known over a loss.
		f.set("", true)
		p.conn.Close()
		synctest.Wait()
		if err := market.ChatEvent.Send(t.Context(), c, big); nova.CodeOf(err) != nova.Invalid {
			t.Errorf("while reconnecting: %v", err)
		}
		say(t, c, "3")
		f.set("", false)
		p = f.next()
		p.attached(`attach "n.1" 0`, control.Session{Session: "n.1", Recovered: true, NextSeq: 1, MaxMessage: 1000})
		p.expect("chat 1 #1", "chat 2 #2", "chat 3 #3")
		shut(t, c, p)
	})
}

// A server without sessions says no limit.
func TestNoLimitOfABaseServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		c, p := f.session(client.Options{}, control.Session{MaxMessage: 100})
		p.conn.Close()
		p = f.next()
		p.welcome()
		p.expect("hello 2 [session/1 topics/1 batch/1 calls/1] 0")
		synctest.Wait()
		long := strings.Repeat("x", 200)
		say(t, c, long)
		p.expect("chat " + long)
		shut(t, c, p)
	})
}

// Who waits for the outcome of a frame learns when it waited for a connection for too
// long, though there is none to take it out of the queue.
func TestConfirmedEndsWithoutAConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		var r record
		o := r.options()
		o.Queue.MaxAge = time.Minute
		c := f.client(o) // not connected: as while it is paused
		start := time.Now()
		say(t, c, "with a flush")
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		outcomes := make(chan error, 2)
		go func() {
			outcomes <- market.ChatEvent.Send(ctx, c.Confirmed(), &market.Chat{Text: "confirmed"})
		}()
		go func() { outcomes <- c.Flush(ctx) }()
		for range 2 {
			if err := <-outcomes; nova.CodeOf(err) != nova.DeadlineExceeded || time.Since(start) > 61*time.Second {
				t.Errorf("after %v: %v", time.Since(start), err)
			}
		}
		r.is(t, "deadline_exceeded") // of the frame that nobody waits for by itself
	})
}

// A server that ends the client for good has ended the session, too: what it may or
// may not have handled is told like after any other loss of the session.
func TestServersEndTellsWhatIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		var r record
		c, p := f.session(r.options(), control.Session{})
		say(t, c, "acknowledged", "not")
		p.expect("chat acknowledged #1", "chat not #2")
		p.control(&control.Ack{Seq: 1})
		p.close(4403, "banned")
		r.is(t, "denied, unknown_outcome")
		if n := c.Stats().Unconfirmed; n != 1 {
			t.Errorf("%d unconfirmed", n)
		}
	})
}
