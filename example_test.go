package nova_test

import (
	"context"
	"fmt"
	"log"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/client"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
)

// A server that relays chat messages to the room they name, and a client that
// sends one and receives it.
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()

	h, err := hub.New(hub.Options{Schema: market.Schema})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close(ctx)
	market.ChatEvent.On(h, func(ctx context.Context, from *nova.Client, in *market.Chat) error {
		return market.ChatEvent.Publish(ctx, h, nova.Topic(in.Room), in)
	})
	srv, err := server.New(h, server.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Shutdown(ctx)
	web := httptest.NewServer(srv) // in your program: http.Handle("/ws", srv)
	defer web.Close()

	url := "ws" + strings.TrimPrefix(web.URL, "http")
	conn, err := client.Dial(ctx, url, client.Options{Schema: market.Schema})
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close(ctx)
	lobby, err := conn.Subscribe(ctx, "lobby")
	if err != nil {
		log.Fatal(err)
	}
	chats := market.ChatEvent.All(ctx, lobby)
	err = market.ChatEvent.Send(ctx, conn, &market.Chat{Room: "lobby", Text: "hello from Go"})
	if err != nil {
		log.Fatal(err)
	}
	for chat, err := range chats {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(chat.Room+":", chat.Text)
		break
	}
	// Output: lobby: hello from Go
}
