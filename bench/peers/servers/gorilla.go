package servers

import (
	"fmt"
	"net/http"
	"os"
	"sync"
	"sync/atomic"

	"github.com/gorilla/websocket"
)

// runGorilla follows gorilla's chat example: a channel and a writing goroutine for
// each connection, with a prepared message.
func runGorilla(o Options) error {
	var mu sync.Mutex
	var queues []chan *websocket.PreparedMessage
	var count atomic.Uint64
	upgrader := websocket.Upgrader{}
	ln, err := listen()
	if err != nil {
		return err
	}
	go http.Serve(ln, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		queue := make(chan *websocket.PreparedMessage, 256)
		mu.Lock()
		queues = append(queues, queue)
		mu.Unlock()
		go func() {
			for m := range queue {
				if conn.WritePreparedMessage(m) != nil {
					break
				}
			}
			for range queue { // a closed connection must not block the others
			}
		}()
		for {
			if _, _, err := conn.ReadMessage(); err != nil {
				return
			}
			count.Add(1)
		}
	}))
	publish := func(stamps []int64) {
		mu.Lock()
		defer mu.Unlock()
		for _, stamp := range stamps {
			m, err := websocket.NewPreparedMessage(websocket.BinaryMessage, o.payload(stamp))
			if err != nil {
				fmt.Fprintln(os.Stderr, "gorilla:", err)
				return
			}
			for _, queue := range queues {
				queue <- m
			}
		}
	}
	return serveControl(ln.Addr(), Backend{Publish: publish, Count: count.Load})
}
