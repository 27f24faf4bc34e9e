package peers

import (
	"fmt"
	"time"

	"github.com/ignex/nova/bench/peers/load"
)

// Workload is what a table of the report shows.
type Workload struct {
	Name  string
	About string
	Spec  load.Spec
	Size  int      // payload bytes
	Peers []string // that take part
	Once  bool     // memory: fewer samples tell as much
}

// The groups of peers.
var (
	everyone = []string{"nova", "nova-plain", "nova-send", "nova-batch", "nova-tls", "centrifuge", "centrifuge-10ms", "nats", "gws", "gorilla", "coder", "socketio", "bun", "bare"}
	queueing = []string{"nova", "nova-plain", "nova-send", "nova-batch", "nova-tls", "centrifuge", "centrifuge-10ms", "nats", "gws", "socketio", "bun", "bare"}
)

// Workloads returns all workloads in the order of the report.
func Workloads() []Workload {
	fanout := func(n, window int, peers []string, warm, duration time.Duration) Workload {
		return Workload{
			Name:  fmt.Sprintf("fanout-n%d-w%d", n, window),
			About: fmt.Sprintf("%d subscribers, 100 bytes, %d broadcasts outstanding", n, window),
			Spec:  load.Spec{Kind: load.Fanout, N: n, Window: window, Warm: warm, Duration: duration},
			Size:  100, Peers: peers,
		}
	}
	paced := func(rate int) Workload {
		return Workload{
			Name:  fmt.Sprintf("paced-%d", rate),
			About: fmt.Sprintf("1000 subscribers, 100 bytes, %d broadcasts a second", rate),
			Spec:  load.Spec{Kind: load.Paced, N: 1000, Rate: rate, Warm: time.Second, Duration: 5 * time.Second},
			Size:  100, Peers: []string{"nova", "nova-plain", "nova-send", "centrifuge", "centrifuge-10ms", "nats", "gws", "gorilla", "socketio", "bun", "bare"},
		}
	}
	memory := func(name, about, kind string, count, window, size int, peers ...string) Workload {
		return Workload{
			Name: name, About: about, Size: size, Peers: peers, Once: true,
			Spec: load.Spec{Kind: kind, N: 10_000, Window: window, Count: count},
		}
	}
	second := time.Second
	return []Workload{
		fanout(1000, 1, everyone, second, 3*second),
		fanout(1000, 16, everyone, second, 3*second),
		fanout(1000, 64, queueing, second, 3*second),
		fanout(10_000, 16, everyone, 2*second, 5*second),
		{
			Name: "deflate", About: "1000 subscribers, 1 KiB of JSON, 16 outstanding",
			Spec: load.Spec{Kind: load.Fanout, N: 1000, Window: 16, Warm: second, Duration: 3 * second},
			Size: 1024, Peers: []string{"nova-text", "nova-deflate", "gorilla-deflate"},
		},
		{
			Name: "procs", About: "1000 subscribers, 100 bytes, 16 outstanding, server and client on the same two processors",
			Spec: load.Spec{Kind: load.Fanout, N: 1000, Window: 16, Warm: second, Duration: 3 * second},
			Size: 100, Peers: []string{"nova-p1", "nova-p2"},
		},
		paced(20), paced(200),
		{
			Name: "inbound", About: "100 connections send 64-byte messages, 256 a write. nova decodes each and calls its typed handler, nova-raw " +
				"calls a handler with the payload, both in order and off the goroutine that reads; the others count messages in their read loop",
			Spec: load.Spec{Kind: load.Inbound, N: 100, Warm: second, Duration: 3 * second},
			Size: 100, Peers: []string{"nova", "nova-raw", "gws", "gorilla", "coder", "bun"},
		},
		memory("idle", "10000 connections at rest after 3 broadcasts; nova: session, one topic, one group", load.Idle, 3, 1, 100,
			"nova", "nova-plain", "centrifuge", "nats", "gws", "gorilla", "coder", "socketio", "bun"),
		memory("idle-256", "the same after 256 broadcasts", load.Idle, 256, 16, 100,
			"nova-256", "bun"),
		memory("growth", "10000 subscribers, 64 KiB payload: peak of resident memory over that at rest", load.Growth, 4, 1, 64<<10,
			"nova", "centrifuge", "gws", "bun"),
	}
}
