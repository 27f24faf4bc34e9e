package hub

import (
	"context"

	"github.com/ignex/nova"
)

// Peer is the socket of a session. Package server implements it. Its methods
// must not block: the loop that serves many sessions calls them.
type Peer interface {
	// Flush writes what the session's queue holds, as far as the socket takes it
	// at once, and sees to the rest by itself.
	Flush()
	// FlushAll is Flush of each of peers, with one system call for many of them where
	// it can. The loop calls it on one of them.
	FlushAll(peers []Peer)
	// Close ends the connection with a WebSocket close code.
	Close(code int, reason string)
	// Caps returns the capabilities that are on.
	Caps() Caps
	// Near brings what Flush looks at into the processor's cache: the loop calls it for
	// some peers before it serves them, so that they are fetched side by side.
	Near()
}

// FlushEach is FlushAll of peers that know no better way.
func FlushEach(peers []Peer) {
	for _, p := range peers {
		p.Flush()
	}
}

// Caps are the capabilities of a connection that change what a hub sends.
type Caps uint32

// The capabilities.
const (
	CapTopics  Caps = 1 << iota // topics/1: positions and acknowledged subscriptions
	CapSession                  // session/1: a session that outlives sockets, gaps, acks
	CapBatch                    // batch/1: several frames in one message
	CapCalls                    // calls/1: typed calls, both ways
)

// Cluster connects the hub to other nodes; none means a single node.
type Cluster interface {
	// Publish hands a publication made on this node to the others. It keeps
	// nothing of p after it returned and must not block.
	Publish(ctx context.Context, p nova.Publication) error
	// Lookup returns the nodes that hold sessions of a user or client.
	Lookup(kind nova.TargetKind, name string) (nodes []string)
}
