package client_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ignex/nova/client"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/wire/control"
)

func TestHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		c, p := f.start(client.Options{})
		start := time.Now()
		p.expect("ping")
		if d := time.Since(start); d != 15*time.Second {
			t.Errorf("first ping after %v", d)
		}
		for range 5 { // any frame is life, and pings come all the same
			p.send(chat("x", 0))
			p.expect("ping")
		}
		if d := time.Since(start); d != 90*time.Second {
			t.Errorf("six pings in %v", d)
		}
		p.expect("ping", "the end") // the last answer counted for the first of these
		if d := time.Since(start); d < 120*time.Second || d > 121*time.Second {
			t.Errorf("given up after %v", d)
		}
		synctest.Wait() // until the client has noticed too
		if s := c.Status(); s.State != client.Reconnecting || !strings.Contains(s.Err.Error(), "no sign of life") {
			t.Errorf("status %+v", s)
		}
		p = f.next()
		p.welcome()
		shut(t, c, p)
	})
}

// A handler that takes long keeps us from reading; that is no fault of the server.
func TestHeartbeatSlowHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		c, p := f.start(client.Options{})
		market.ChatEvent.Listen(c, func(context.Context, *market.Chat) error {
			time.Sleep(10 * time.Minute)
			return nil
		})
		p.send(chat("x", 0))
		go p.send(chat("y", 0)) // waits in the pipe
		time.Sleep(20*time.Minute + time.Second)
		for range 10 {
			p.control(&control.Pong{})
			time.Sleep(15 * time.Second)
		}
		if n := c.Stats(); n.Connects != 1 || n.Received != 2 {
			t.Errorf("%+v", n)
		}
		shut(t, c, p)
	})
}

func TestHeartbeatOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		c, p := f.start(client.Options{Heartbeat: -1})
		time.Sleep(time.Hour)
		p.quiet()
		p.send(chat("1", 1))
		p.send(chat("3", 3))
		p.expect("resume 1")
		time.Sleep(time.Hour) // the gap timer has passed, and nothing is due
		if n := c.Stats(); n.Received != 2 || n.Missing != 1 {
			t.Errorf("%+v", n)
		}
		shut(t, c, p)
	})
}

func TestWebSocketPing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		c, p := f.start(client.Options{})
		p.write(ws.AppendFrame(nil, ws.Ping, []byte("are you there")))
		p.expect(`pong "are you there"`)
		shut(t, c, p)
	})
}
