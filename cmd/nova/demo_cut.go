package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
)

// Bounds of what a cutter remembers.
const (
	cutPages   = 256 // the newest sockets of pages
	cutPageLen = 64  // bytes of the name a page gives itself
)

// cutter ends the TCP connection under a page's WebSocket when the page asks for it,
// without a goodbye, as a network does. A page names its socket itself, ws?page=NAME,
// and the name is its secret: nobody else can cut it.
type cutter struct {
	mu    sync.Mutex
	pages []cutPage // oldest first
}

type cutPage struct {
	name string
	conn *net.TCPConn
}

// connKey is where a request's context holds its connection.
type connKey struct{}

// withConn is an http.Server.ConnContext.
func withConn(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn)
}

// socket notes the connections of pages that name themselves, and lets next answer.
func (c *cutter) socket(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := r.URL.Query().Get("page")
		conn, ok := r.Context().Value(connKey{}).(*net.TCPConn)
		if ok && name != "" && len(name) <= cutPageLen {
			c.mu.Lock()
			c.pages = slices.DeleteFunc(c.pages, func(p cutPage) bool { return p.name == name })
			c.pages = append(c.pages, cutPage{name, conn})
			c.pages = slices.Delete(c.pages, 0, max(0, len(c.pages)-cutPages))
			c.mu.Unlock()
		}
		next.ServeHTTP(w, r)
	})
}

// ServeHTTP takes POST {"page": NAME}.
func (c *cutter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "method "+r.Method+"; use POST", http.StatusMethodNotAllowed)
		return
	}
	var body struct{ Page string }
	if err := json.NewDecoder(io.LimitReader(r.Body, 1<<10)).Decode(&body); err != nil {
		http.Error(w, `the body is not {"page": "NAME"}`, http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	i := slices.IndexFunc(c.pages, func(p cutPage) bool { return p.name == body.Page })
	var conn *net.TCPConn
	if i >= 0 {
		conn = c.pages[i].conn
	}
	c.mu.Unlock()
	if conn == nil {
		http.Error(w, "no page of this name is connected", http.StatusNotFound)
		return
	}
	// Not closed: that is its owner's, which finds it at its end. An error says that it
	// has found that already.
	_ = conn.CloseRead()
	_ = conn.CloseWrite()
	w.WriteHeader(http.StatusNoContent)
}
