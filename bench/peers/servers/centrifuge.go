package servers

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"github.com/centrifugal/centrifuge"
)

// runCentrifuge has the defaults of the library: its memory broker, no history.
func runCentrifuge(o Options) error {
	node, err := centrifuge.New(centrifuge.Config{})
	if err != nil {
		return err
	}
	node.OnConnecting(func(context.Context, centrifuge.ConnectEvent) (centrifuge.ConnectReply, error) {
		return centrifuge.ConnectReply{
			Credentials: &centrifuge.Credentials{UserID: "u"},
			WriteDelay:  o.WriteDelay,
		}, nil
	})
	node.OnConnect(func(client *centrifuge.Client) {
		client.OnSubscribe(func(_ centrifuge.SubscribeEvent, done centrifuge.SubscribeCallback) {
			done(centrifuge.SubscribeReply{}, nil)
		})
	})
	if err := node.Run(); err != nil {
		return err
	}
	ln, err := listen()
	if err != nil {
		return err
	}
	go http.Serve(ln, centrifuge.NewWebsocketHandler(node, centrifuge.WebsocketConfig{}))
	publish := func(stamps []int64) {
		for _, stamp := range stamps {
			if _, err := node.Publish(Topic, o.payload(stamp)); err != nil {
				fmt.Fprintln(os.Stderr, "centrifuge: publish:", err)
			}
		}
	}
	return serveControl(ln.Addr(), Backend{Publish: publish})
}
