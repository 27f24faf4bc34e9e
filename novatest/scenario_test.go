package novatest_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/client"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/novatest"
	"github.com/ignex/nova/server"
)

// Calls both ways, in time that costs none: an answer, an error, a deadline that
// reaches the handler, and a connection that is lost.
func TestCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := novatest.New(t, novatest.Options{Hub: hub.Options{Schema: market.Schema}})
		ended := make(chan error, 1)
		if _, err := market.GetQuoteCall.Handle(s.Hub(), func(ctx context.Context, from *nova.Client, in *market.GetQuoteRequest) (*market.Quote, error) {
			switch in.Symbol {
			case "missing":
				return nil, nova.Errorf(nova.NotFound, "no symbol %q", in.Symbol)
			case "wait":
				<-ctx.Done()
				ended <- ctx.Err()
				return nil, ctx.Err()
			case "back":
				return market.GetQuoteCall.Do(ctx, from, in)
			}
			return &market.Quote{Symbol: in.Symbol}, nil
		}); err != nil {
			t.Fatal(err)
		}
		conn := s.Dial(client.Options{Schema: market.Schema})
		if _, err := market.GetQuoteCall.On(conn, func(_ context.Context, in *market.GetQuoteRequest) (*market.Quote, error) {
			return &market.Quote{Symbol: in.Symbol + "!"}, nil
		}); err != nil {
			t.Fatal(err)
		}
		call := func(ctx context.Context, symbol string) string {
			q, err := market.GetQuoteCall.Do(ctx, conn, &market.GetQuoteRequest{Symbol: symbol})
			if err != nil {
				return nova.CodeOf(err).String()
			}
			return q.Symbol
		}
		for symbol, want := range map[string]string{"AAPL": "AAPL", "missing": "not_found", "back": "back!"} {
			if got := call(t.Context(), symbol); got != want {
				t.Errorf("%s: %s, want %s", symbol, got, want)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begin := time.Now()
		if got := call(ctx, "wait"); got != "deadline_exceeded" || time.Since(begin) != time.Minute {
			t.Errorf("%s after %v", got, time.Since(begin))
		}
		if err := <-ended; err == nil {
			t.Error("the handler goes on")
		}
		outcome := make(chan string, 1)
		go func() { outcome <- call(t.Context(), "wait") }()
		synctest.Wait()
		begin = time.Now()
		s.Drop()
		if got := <-outcome; got != "unknown_outcome" || time.Since(begin) != 0 {
			t.Errorf("lost: %s after %v", got, time.Since(begin))
		}
		<-ended
		s.Restore()
		if got := call(t.Context(), "MSFT"); got != "MSFT" {
			t.Errorf("back again: %s", got)
		}
	})
}

// A token of an hour is renewed before it ends, on the connection there is; of one that
// is refused meanwhile the program is told.
func TestTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := novatest.New(t, novatest.Options{Hub: hub.Options{Schema: market.Schema}, Server: server.Options{
			Authenticate: func(_ context.Context, c server.Credentials) (server.Identity, error) {
				if c.Token == "token 2" {
					return server.Identity{}, nova.Errorf(nova.Unauthenticated, "token expired")
				}
				return server.Identity{UserID: "ann", ExpiresAt: time.Now().Add(time.Hour)}, nil
			},
		}})
		var tokens atomic.Int64
		var log []string
		s.Dial(client.Options{
			Schema:   market.Schema,
			Token:    func(context.Context) (string, error) { return fmt.Sprint("token ", tokens.Add(1)), nil },
			OnStatus: func(st client.Status) { log = append(log, st.State.String()) },
			OnError:  func(err error) { log = append(log, nova.CodeOf(err).String()) },
		})
		if n := tokens.Load(); n != 1 {
			t.Errorf("%d tokens at first, want 1", n)
		}
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		if n := tokens.Load(); n < 26 || n > 34 {
			t.Errorf("%d tokens in a day", n)
		}
		if want := []string{"connecting", "connected", "unauthenticated"}; !slices.Equal(log, want) {
			t.Errorf("told %q, want %q", log, want)
		}
	})
}

// What is published while a client is away comes in few messages, in order.
func TestJoinedMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := novatest.New(t, novatest.Options{Hub: hub.Options{Schema: market.Schema}})
		conn := s.Dial(client.Options{Schema: market.Schema})
		var got []int64
		market.QuoteEvent.Listen(conn, func(_ context.Context, q *market.Quote) error {
			got = append(got, q.Ts)
			return nil
		})
		chats := novatest.Received(s, market.ChatEvent)
		s.Drop()
		synctest.Wait()
		const n = 500
		for i := range int64(n) {
			if err := market.QuoteEvent.Publish(t.Context(), s.Hub(), nova.Broadcast(), quote(i)); err != nil {
				t.Fatal(err)
			}
			if err := market.ChatEvent.Send(t.Context(), conn, &market.Chat{Ts: i}); err != nil {
				t.Fatal(err)
			}
		}
		s.Restore()
		time.Sleep(time.Minute)
		synctest.Wait()
		for i := range int64(n) {
			if m := <-chats; m.Ts != i {
				t.Fatalf("chat %d is handled where %d is due", m.Ts, i)
			}
		}
		for i, ts := range got {
			if ts != int64(i) {
				t.Fatalf("quote %d is %d", i, ts)
			}
		}
		if flushes := s.Hub().Metrics().FlushFrames; len(got) != n || flushes.Count >= n {
			t.Errorf("%d quotes in %d writes", len(got), flushes.Count)
		}
	})
}
