package servers

import (
	"fmt"
	"net/http"
	"os"
	"sync"

	"github.com/gorilla/websocket"

	"github.com/ignex/nova/bench/peers/internal/note"
)

// runGorillaDeflate sends the frames of nova and compresses each for each connection,
// as servers do whose messages differ by connection.
func runGorillaDeflate(o Options) error {
	var mu sync.Mutex
	var queues []chan []byte
	upgrader := websocket.Upgrader{EnableCompression: true}
	ln, err := listen()
	if err != nil {
		return err
	}
	go http.Serve(ln, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := upgrader.Upgrade(w, r, nil)
		if err != nil || conn.SetCompressionLevel(1) != nil {
			return
		}
		queue := make(chan []byte, 256)
		mu.Lock()
		queues = append(queues, queue)
		mu.Unlock()
		go func() {
			for m := range queue {
				if conn.WriteMessage(websocket.BinaryMessage, m) != nil {
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
		}
	}))
	publish := func(stamps []int64) {
		mu.Lock()
		defer mu.Unlock()
		for _, stamp := range stamps {
			m, err := note.NoteEvent.AppendFrame(nil, &note.Note{Stamp: stamp, Body: text(o.Size, stamp)})
			if err != nil {
				fmt.Fprintln(os.Stderr, "gorilla:", err)
				return
			}
			for _, queue := range queues {
				queue <- m
			}
		}
	}
	return serveControl(ln.Addr(), Backend{Publish: publish})
}
