package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime/pprof"
	"strings"

	"connectrpc.com/connect"
	"github.com/centrifugal/centrifuge"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
)

func peers() []string { return []string{"nova", "connect", "centrifuge", "bare"} }

const procedure = "/bench.Echo/Call"

// serve is the server process: it prints its address, then obeys.
func serve(name string) error {
	var handler http.Handler
	var err error
	switch name {
	case "nova":
		handler, err = serveNova()
	case "connect":
		handler = connect.NewUnaryHandler(procedure, func(_ context.Context, r *connect.Request[wrapperspb.BytesValue]) (*connect.Response[wrapperspb.BytesValue], error) {
			return connect.NewResponse(r.Msg), nil
		})
	case "centrifuge":
		handler, err = serveCentrifuge()
	case "bare":
	default:
		return fmt.Errorf("no peer %q", name)
	}
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if name == "bare" {
		go echo(l)
	} else {
		go http.Serve(l, handler) // until the process ends
	}
	fmt.Println(l.Addr())
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if path, ok := strings.CutPrefix(lines.Text(), "profile "); ok {
			f, err := os.Create(path)
			if err != nil {
				return err
			}
			if err := pprof.StartCPUProfile(f); err != nil {
				return err
			}
			defer pprof.StopCPUProfile()
		}
		fmt.Println(int64(used()))
	}
	return lines.Err()
}

// echo sends back what it reads, one read and one write for each: what a call costs
// any Go server at least when one is made at a time.
func echo(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			for buf := make([]byte, 4096); ; {
				n, err := c.Read(buf)
				if err != nil {
					return
				}
				if _, err := c.Write(buf[:n]); err != nil {
					return
				}
			}
		}()
	}
}

func serveNova() (http.Handler, error) {
	h, err := hub.New(hub.Options{Schema: market.Schema})
	if err != nil {
		return nil, err
	}
	if _, err := market.GetQuoteCall.Handle(h, func(_ context.Context, _ *nova.Client, in *market.GetQuoteRequest) (*market.Quote, error) {
		return &market.Quote{Symbol: in.Symbol[:4], Bid: 1, Ask: 2, BidSize: 3, AskSize: 4, Ts: 5}, nil
	}); err != nil {
		return nil, err
	}
	return server.New(h, server.Options{})
}

func serveCentrifuge() (http.Handler, error) {
	node, err := centrifuge.New(centrifuge.Config{})
	if err != nil {
		return nil, err
	}
	node.OnConnecting(func(context.Context, centrifuge.ConnectEvent) (centrifuge.ConnectReply, error) {
		return centrifuge.ConnectReply{Credentials: &centrifuge.Credentials{UserID: "u"}}, nil
	})
	node.OnConnect(func(client *centrifuge.Client) {
		client.OnRPC(func(e centrifuge.RPCEvent, done centrifuge.RPCCallback) {
			done(centrifuge.RPCReply{Data: e.Data}, nil)
		})
	})
	if err := node.Run(); err != nil {
		return nil, err
	}
	return centrifuge.NewWebsocketHandler(node, centrifuge.WebsocketConfig{}), nil
}
