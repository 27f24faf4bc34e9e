package server_test

import (
	"context"
	"errors"
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

// Who may enter is decided by a hook: from the token it makes an identity, or an error
// whose code says what the client should do.
func Example_authenticate() {
	ctx := context.Background()
	h, err := hub.New(hub.Options{Schema: market.Schema})
	if err != nil {
		log.Fatal(err)
	}
	srv, err := server.New(h, server.Options{
		LateAuth: 10 * time.Second, // tokens may also come by frame
		Authenticate: func(_ context.Context, c server.Credentials) (server.Identity, error) {
			user, ok := strings.CutPrefix(c.Token, "token-of-")
			if !ok {
				return server.Identity{}, nova.Errorf(nova.Unauthenticated, "unknown token")
			}
			return server.Identity{UserID: user, Groups: []string{"staff"}, ExpiresAt: time.Now().Add(time.Hour)}, nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	web := httptest.NewServer(srv)
	for _, token := range []string{"token-of-ann", "stolen"} {
		c, err := client.Dial(ctx, web.URL, client.Options{Token: func(context.Context) (string, error) { return token, nil }})
		var coded *nova.Error
		if errors.As(err, &coded) {
			fmt.Println(coded.Code, strings.Contains(coded.Message, "unknown token"))
			continue
		}
		fmt.Println(h.ClientsOf("ann")[0].Groups())
		if err := c.Close(ctx); err != nil {
			log.Fatal(err)
		}
	}
	srv.Close()
	if err := h.Close(ctx); err != nil {
		log.Fatal(err)
	}
	web.Close()
	// Output:
	// [staff]
	// unavailable true
}
