package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	cclient "github.com/centrifugal/centrifuge-go"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/ignex/nova/client"
	"github.com/ignex/nova/market"
)

// load is the client process: it calls for a moment, says so, and calls again for
// the time given once it is told to.
func load(args []string) error {
	if len(args) != 5 {
		return errors.New("load takes a peer, an address, a depth, a duration and a profile")
	}
	depth, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	d, err := time.ParseDuration(args[3])
	if err != nil {
		return err
	}
	ctx := context.Background()
	call, err := dial(ctx, args[0], args[1])
	if err != nil {
		return err
	}
	if _, err := calls(ctx, call, depth, 300*time.Millisecond); err != nil {
		return err
	}
	fmt.Println("warm")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if args[4] != "" {
			f, err := os.Create(args[4] + "-" + args[0] + "-client.pprof")
			if err != nil {
				return err
			}
			if err := pprof.StartCPUProfile(f); err != nil {
				return err
			}
			defer pprof.StopCPUProfile()
		}
		cpu, began := used(), time.Now()
		n, err := calls(ctx, call, depth, d)
		if err != nil {
			return err
		}
		fmt.Println(n, int64(time.Since(began)), int64(used()-cpu))
	}
	return nil
}

// calls calls for a time, so many at once.
func calls(ctx context.Context, call func(context.Context) error, depth int, d time.Duration) (int64, error) {
	var n atomic.Int64
	var group sync.WaitGroup
	failed := make(chan error, depth)
	end := time.Now().Add(d)
	for range depth {
		group.Go(func() {
			for time.Now().Before(end) {
				if err := call(ctx); err != nil {
					failed <- err
					return
				}
				n.Add(1)
			}
		})
	}
	group.Wait()
	select {
	case err := <-failed:
		return 0, err
	default:
		return n.Load(), nil
	}
}

// text makes the request of nova 64 bytes long, as the others' are.
var text = strings.Repeat("x", 37)

func dial(ctx context.Context, name, address string) (func(context.Context) error, error) {
	data := []byte(strings.Repeat("x", 62)) // with tag and length 64 in protobuf
	switch name {
	case "nova":
		c, err := client.Dial(ctx, "ws://"+address, client.Options{Schema: market.Schema})
		return func(ctx context.Context) error {
			_, err := market.GetQuoteCall.Do(ctx, c, &market.GetQuoteRequest{Symbol: text})
			return err
		}, err
	case "connect":
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.MaxConnsPerHost = 1
		c := connect.NewClient[wrapperspb.BytesValue, wrapperspb.BytesValue](&http.Client{Transport: transport}, "http://"+address+procedure)
		return func(ctx context.Context) error {
			_, err := c.CallUnary(ctx, connect.NewRequest(wrapperspb.Bytes(data)))
			return err
		}, nil
	case "centrifuge":
		c := cclient.NewProtobufClient("ws://"+address, cclient.Config{})
		if err := c.Connect(); err != nil {
			return nil, err
		}
		return func(ctx context.Context) error {
			_, err := c.RPC(ctx, "echo", data)
			return err
		}, nil
	case "bare":
		c, err := net.Dial("tcp", address)
		var mu sync.Mutex
		buf := make([]byte, len(data))
		return func(context.Context) error {
			mu.Lock()
			defer mu.Unlock()
			if _, err := c.Write(data); err != nil {
				return err
			}
			_, err := io.ReadFull(c, buf)
			return err
		}, err
	}
	return nil, fmt.Errorf("no peer %q", name)
}
