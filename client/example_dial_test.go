package client_test

import (
	"context"
	"fmt"
	"log"
	"net/http/httptest"

	"github.com/ignex/nova"
	"github.com/ignex/nova/client"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
)

// Subscribe to a topic and read its events, typed, until enough.
func ExampleDial() {
	ctx := context.Background()
	h, err := hub.New(hub.Options{Schema: market.Schema})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close(ctx)
	srv, err := server.New(h, server.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Close()
	web := httptest.NewServer(srv)
	defer web.Close()
	for _, symbol := range []string{"AAPL", "MSFT"} {
		quote := &market.Quote{Symbol: symbol, Bid: 99.5, Ask: 100.5}
		if err := market.QuoteEvent.Publish(ctx, h, nova.Topic("equities"), quote); err != nil {
			log.Fatal(err)
		}
	}

	conn, err := client.Dial(ctx, web.URL, client.Options{Schema: market.Schema})
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close(ctx)
	sub, err := conn.Subscribe(ctx, "equities") // begins with the retained history
	if err != nil {
		log.Fatal(err)
	}
	for quote, err := range market.QuoteEvent.All(ctx, sub) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(quote.Symbol, quote.Bid, quote.Ask)
		if quote.Symbol == "MSFT" {
			break
		}
	}
	// Output:
	// AAPL 99.5 100.5
	// MSFT 99.5 100.5
}
