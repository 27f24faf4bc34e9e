package novatest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/client"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/internal/leak"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/novatest"
	"github.com/ignex/nova/server"
)

func TestMain(m *testing.M) { leak.Main(m) }

func quote(n int64) *market.Quote { return &market.Quote{Symbol: "AAPL", Ts: n} }

// Publish, handle and send, in memory, outside a bubble.
func TestBothWays(t *testing.T) {
	s := novatest.New(t, novatest.Options{Hub: hub.Options{Schema: market.Schema}})
	conn := s.Dial(client.Options{Schema: market.Schema})
	chats := novatest.Received(s, market.ChatEvent)
	got := make(chan int64, 1)
	sub, err := conn.Subscribe(t.Context(), "equities")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for q, err := range market.QuoteEvent.All(t.Context(), sub) {
			if err == nil {
				got <- q.Ts
			}
			return
		}
	}()
	if err := market.QuoteEvent.Publish(t.Context(), s.Hub(), nova.Topic("equities"), quote(7)); err != nil {
		t.Fatal(err)
	}
	if n := <-got; n != 7 {
		t.Errorf("got quote %d", n)
	}
	if err := market.ChatEvent.Send(t.Context(), conn.Confirmed(), &market.Chat{Text: "hello"}); err != nil {
		t.Fatal(err)
	}
	if v := <-chats; v.Text != "hello" {
		t.Errorf("received %q", v.Text)
	}
}

// A loss of the network: the session goes on, in time that costs none.
func TestDropAndRestore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := novatest.New(t, novatest.Options{Hub: hub.Options{Schema: market.Schema}})
		var log []string
		conn := s.Dial(client.Options{Schema: market.Schema, OnRecovered: func(ok bool) { log = append(log, fmt.Sprint("recovered ", ok)) }})
		market.QuoteEvent.Listen(conn, func(_ context.Context, q *market.Quote) error {
			log = append(log, fmt.Sprint(q.Ts))
			return nil
		})
		publish := func(n int64) {
			if err := market.QuoteEvent.Publish(t.Context(), s.Hub(), nova.Broadcast(), quote(n)); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		publish(1)
		s.Drop()
		synctest.Wait()
		publish(2)
		if state := conn.Status().State; state != client.Reconnecting {
			t.Errorf("dropped: %v", state)
		}
		time.Sleep(time.Second)
		s.Restore()
		time.Sleep(31 * time.Second)
		publish(3)
		if want := []string{"1", "recovered true", "2", "3"}; !slices.Equal(log, want) {
			t.Errorf("got %q, want %q", log, want)
		}
		time.Sleep(time.Hour) // heartbeats pass
		if state := conn.Status().State; state != client.Connected {
			t.Errorf("an hour later: %v", state)
		}
	})
}

// Refusals are those of the real server.
func TestRefusal(t *testing.T) {
	s := novatest.New(t, novatest.Options{Hub: hub.Options{Schema: market.Schema}, Server: server.Options{
		Authenticate: func(context.Context, server.Credentials) (server.Identity, error) {
			return server.Identity{}, errors.New("who are you?")
		},
	}})
	_, err := client.Dial(t.Context(), novatest.URL, client.Options{NetDial: s.NetDial})
	if nova.CodeOf(err) != nova.Unauthenticated {
		t.Error(err)
	}
}
