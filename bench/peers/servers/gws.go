package servers

import (
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/lxzan/gws"
)

type gwsHandler struct {
	gws.BuiltinEventHandler
	mu    sync.Mutex
	conns []*gws.Conn
	count atomic.Uint64
}

func (h *gwsHandler) OnMessage(_ *gws.Conn, m *gws.Message) {
	h.count.Add(1)
	m.Close()
}

// runGWS broadcasts with gws's Broadcaster, as its documentation shows.
func runGWS(o Options) error {
	h := &gwsHandler{}
	upgrader := gws.NewUpgrader(h, nil)
	ln, err := listen()
	if err != nil {
		return err
	}
	go http.Serve(ln, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := upgrader.Upgrade(w, r)
		if err != nil {
			return
		}
		h.mu.Lock()
		h.conns = append(h.conns, conn)
		h.mu.Unlock()
		go conn.ReadLoop()
	}))
	publish := func(stamps []int64) {
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, stamp := range stamps {
			b := gws.NewBroadcaster(gws.OpcodeBinary, o.payload(stamp))
			for _, conn := range h.conns {
				b.Broadcast(conn)
			}
			b.Close()
		}
	}
	return serveControl(ln.Addr(), Backend{Publish: publish, Count: h.count.Load})
}
