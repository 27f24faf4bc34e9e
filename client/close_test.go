package client_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ignex/nova/client"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/market"
)

func TestClose(t *testing.T) {
	t.Run("sends what is queued, at once and by many", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(t)
			c, p := f.start(client.Options{})
			_ = market.ChatEvent.Send(t.Context(), c, &market.Chat{Text: "last words"})
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					if err := c.Close(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			p.expect("chat last words", "close 1000")
			p.write(ws.AppendClose(nil, 1000, ""))
			wg.Wait()
			p.expect("the end")
		})
	})
	t.Run("idle", func(t *testing.T) {
		c := newFake(t).client(client.Options{})
		for range 2 {
			if err := c.Close(t.Context()); err != nil || c.Status().State != client.Closed {
				t.Errorf("%v, %v", err, c.Status())
			}
		}
	})
	t.Run("a server that does not answer", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(t)
			c, _ := f.start(client.Options{})
			start := time.Now()
			if err := c.Close(t.Context()); err != nil || time.Since(start) != 5*time.Second {
				t.Errorf("after %v: %v", time.Since(start), err)
			}
		})
	})
	t.Run("a server that does not read", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(t)
			ours := make(chan struct{})
			c, p := f.start(client.Options{})
			p.write(ws.AppendClose(nil, 1000, "")[:1]) // the reader waits for more
			close(ours)
			for i := range 1000 { // more than the peer's channel would take at once
				_ = market.ChatEvent.Send(t.Context(), c, &market.Chat{Text: fmt.Sprint(i)})
			}
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			_ = c.Close(ctx)
			if err := c.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	})
	t.Run("within a handler", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(t)
			c, p := f.start(client.Options{})
			market.ChatEvent.Listen(c, func(ctx context.Context, _ *market.Chat) error {
				if err := c.Close(ctx); err != nil {
					t.Error(err)
				}
				<-ctx.Done() // ends with Close
				return nil
			})
			p.send(chat("x", 0))
			p.expect("close 1000")
			p.conn.Close()
			if err := c.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	})
	t.Run("while reconnecting", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(t)
			c, p := f.start(client.Options{})
			f.set("", true)
			p.conn.Close()
			time.Sleep(time.Minute)
			start := time.Now()
			if err := c.Close(t.Context()); err != nil || time.Since(start) != 0 {
				t.Errorf("after %v: %v", time.Since(start), err)
			}
		})
	})
	t.Run("a handler that does not end", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(t)
			c, p := f.start(client.Options{})
			release := make(chan struct{})
			market.ChatEvent.Listen(c, func(context.Context, *market.Chat) error { <-release; return nil })
			p.send(chat("x", 0))
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := c.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
			close(release)
			if err := c.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	})
}
