package servers

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/coder/websocket"
)

// runCoder follows coder's chat example: a channel and a writing goroutine for
// each connection.
func runCoder(o Options) error {
	var mu sync.Mutex
	var queues []chan []byte
	var count atomic.Uint64
	ln, err := listen()
	if err != nil {
		return err
	}
	ctx := context.Background()
	go http.Serve(ln, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		queue := make(chan []byte, 256)
		mu.Lock()
		queues = append(queues, queue)
		mu.Unlock()
		go func() {
			for m := range queue {
				if conn.Write(ctx, websocket.MessageBinary, m) != nil {
					break
				}
			}
			for range queue { // a closed connection must not block the others
			}
		}()
		for {
			if _, _, err := conn.Read(ctx); err != nil {
				return
			}
			count.Add(1)
		}
	}))
	publish := func(stamps []int64) {
		mu.Lock()
		defer mu.Unlock()
		for _, stamp := range stamps {
			m := o.payload(stamp)
			for _, queue := range queues {
				queue <- m
			}
		}
	}
	return serveControl(ln.Addr(), Backend{Publish: publish, Count: count.Load})
}
