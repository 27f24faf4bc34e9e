package client_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/client"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/wire/control"
)

func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		var r record
		o := r.options()
		o.OnStatus = r.status
		c, p := f.session(o, control.Session{})
		market.ChatEvent.Listen(c, func(context.Context, *market.Chat) error { return nil })
		p.chats(1)
		say(t, c, "before")
		paused := make(chan error, 1)
		go func() { paused <- c.Pause(t.Context()) }()
		p.expect("chat before #1", "close 4000")
		p.chats(2) // under way
		p.write(ws.AppendClose(nil, 4000, ""))
		p.conn.Close()
		if err := <-paused; err != nil || c.Status().State != client.Idle {
			t.Errorf("%v, %v", err, c.Status())
		}
		say(t, c, "meanwhile")
		time.Sleep(10 * time.Second)
		if n := len(f.dialled()); n != 1 {
			t.Errorf("dials %d times while paused", n)
		}
		resumed := make(chan error, 1)
		go func() { resumed <- c.Resume(t.Context()) }()
		p = f.next()
		p.attached(`attach "n.1" 2`, control.Session{Session: "n.1", Recovered: true, NextSeq: 3, Received: 1})
		p.expect("chat meanwhile #2")
		if err := <-resumed; err != nil {
			t.Error(err)
		}
		r.is(t, "connecting, connected, idle, connecting, connected, recovered true")
		// In the middle of an attempt, and of a wait.
		f.set("", true)
		p.conn.Close()
		time.Sleep(time.Second)
		if err := c.Pause(t.Context()); err != nil {
			t.Error(err)
		}
		f.set("", false)
		go func() { resumed <- c.Resume(t.Context()) }()
		f.next()
		if err := c.Pause(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-resumed; nova.CodeOf(err) != nova.Cancelled {
			t.Errorf("resume over a pause: %v", err)
		}
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if err := c.Pause(t.Context()); nova.CodeOf(err) != nova.Unavailable {
			t.Errorf("pause after the end: %v", err)
		}
	})
}

// A pause that is over before there is no socket any more: the status does not go on
// as connected.
func TestPauseResumedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		var r record
		c, p := f.start(client.Options{OnStatus: r.status})
		market.ChatEvent.Listen(c, func(ctx context.Context, _ *market.Chat) error {
			if err := c.Pause(ctx); err != nil {
				t.Error(err)
			}
			over, cancel := context.WithCancel(ctx)
			cancel()
			_ = c.Resume(over)
			return nil
		})
		p.send(chat("x", 0))
		p.expect("close 4000")
		p.write(ws.AppendClose(nil, 4000, ""))
		p.conn.Close()
		p = f.next()
		r.is(t, "connecting, connected, idle, connecting")
		<-p.frames
		p.welcome()
		r.is(t, "connected")
		shut(t, c, p)
	})
}
