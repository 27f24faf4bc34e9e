package client

import (
	"cmp"
	"slices"
)

// gate puts numbered frames in order and drops what came twice. It does no I/O
// and knows no time: who feeds it asks the server for what is missing, and
// flushes after a while.
type gate struct {
	maxFrames int
	maxBytes  int

	last  uint64 // all up to here was delivered or given up
	fresh bool   // no numbered frame has come on this connection
	asked bool   // the server has been asked and has not answered

	held  []numbered // sorted by seq, all above last+1
	bytes int        // in held
}

type numbered struct {
	seq   uint64
	frame []byte
}

// verdict is what becomes of a frame.
type verdict uint8

const (
	deliver   verdict = iota + 1 // now; then what next returns
	duplicate                    // never
	hold                         // once what is missing has come; the gate has a copy
	overflow                     // no room to hold it: flush, then push it again
)

// open starts a connection.
func (g *gate) open() { g.fresh, g.asked = true, false }

// close ends a connection: the next one brings again what is held.
func (g *gate) close() { g.held, g.bytes, g.asked = nil, 0, false }

// push judges a frame that was numbered seq, which is not 0.
func (g *gate) push(seq uint64, frame []byte) verdict {
	if g.fresh && seq <= g.last {
		g.last = seq - 1 // the server started again
	}
	g.fresh = false
	switch {
	case seq <= g.last:
		return duplicate
	case seq == g.last+1:
		g.last = seq
		return deliver
	}
	at, found := slices.BinarySearchFunc(g.held, seq, func(n numbered, seq uint64) int { return cmp.Compare(n.seq, seq) })
	if found {
		return duplicate
	}
	// One frame may always be held, so that flush and push make progress.
	if len(g.held) > 0 && (len(g.held) >= g.maxFrames || g.bytes+len(frame) > g.maxBytes) {
		return overflow
	}
	g.held = slices.Insert(g.held, at, numbered{seq, slices.Clone(frame)})
	g.bytes += len(frame)
	return hold
}

// next returns the held frame whose turn it is, if any.
func (g *gate) next() ([]byte, bool) {
	for len(g.held) > 0 && g.held[0].seq <= g.last+1 {
		n := g.shift()
		if n.seq == g.last+1 {
			g.last = n.seq
			return n.frame, true
		}
	}
	return nil, false
}

// skip gives up what is missing before the first held frame and returns it.
func (g *gate) skip() (from, to uint64, ok bool) {
	g.asked = false
	if len(g.held) == 0 || g.held[0].seq <= g.last+1 {
		return 0, 0, false
	}
	from, to = g.last+1, g.held[0].seq-1
	g.last = to
	return from, to, true
}

// ask reports whether the server should be asked for what follows g.last. It
// says so once until resumed, a skip or the next connection.
func (g *gate) ask() bool {
	if g.asked || len(g.held) == 0 {
		return false
	}
	g.asked = true
	return true
}

// resumed takes the server's answer and reports whether what is missing will
// never come.
func (g *gate) resumed(ok bool, from uint64) (lost bool) {
	g.asked = false
	return len(g.held) > 0 && (!ok || from == 0)
}

// waiting returns the number that everything held waits for, 0 = nothing is held.
func (g *gate) waiting() uint64 {
	if len(g.held) == 0 {
		return 0
	}
	return g.last + 1
}

func (g *gate) shift() numbered {
	n := g.held[0]
	g.held[0] = numbered{}
	g.held = g.held[1:]
	g.bytes -= len(n.frame)
	if len(g.held) == 0 {
		g.held = nil
	}
	return n
}
