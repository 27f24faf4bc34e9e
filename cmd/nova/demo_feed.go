package main

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"sync"

	"github.com/ignex/nova/server"
)

// fastestFeed is the highest rate that the page may ask for, in events a second.
const fastestFeed = 20_000

// feedRate is the rate of the synthetic feed: events a second. It is served at /feed,
// where pages of this machine change it.
type feedRate struct {
	mu      sync.Mutex
	now     float64
	changed chan float64 // the newest that the feed has not taken
}

func newFeedRate(rate float64) *feedRate {
	return &feedRate{now: rate, changed: make(chan float64, 1)}
}

func (f *feedRate) get() float64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

func (f *feedRate) set(rate float64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = rate
	select {
	case <-f.changed:
	default:
	}
	f.changed <- rate
}

func (f *feedRate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	settable := server.FromLoopback(r) == nil
	switch r.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodPost:
		if !settable {
			http.Error(w, "the feed is changed from the server's own machine only", http.StatusForbidden)
			return
		}
		rate, err := readRate(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		f.set(rate)
	default:
		w.Header().Set("Allow", "GET, HEAD, POST")
		http.Error(w, "method "+r.Method+"; use GET or POST", http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(map[string]any{"rate": f.get(), "settable": settable}) // the client is gone: nobody to tell
}

// readRate reads {"rate": n}. Naming the type keeps other sites' pages out: without it
// a browser sends a cross-origin POST unasked.
func readRate(r *http.Request) (float64, error) {
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
		return 0, fmt.Errorf("content type %q; send application/json", kind)
	}
	var body struct{ Rate float64 }
	if err := json.NewDecoder(io.LimitReader(r.Body, 1<<10)).Decode(&body); err != nil {
		return 0, fmt.Errorf(`the body is not {"rate": 40} (%w)`, err)
	}
	if !(body.Rate >= 1 && body.Rate <= fastestFeed) {
		return 0, fmt.Errorf("rate %g is out of range; send 1 to %d", body.Rate, fastestFeed)
	}
	return body.Rate, nil
}
