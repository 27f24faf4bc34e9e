package session

import (
	"cmp"
	"slices"
)

// Verdict is what becomes of a numbered frame at a client's gate.
type Verdict uint8

// The verdicts. Both gates give Deliver; the others belong to one of them.
const (
	Deliver   Verdict = iota + 1 // now; at a BaseGate then what Next returns
	Duplicate                    // never: it was delivered or given up
	Hold                         // BaseGate: once what is missing has come; the gate has a copy
	Overflow                     // BaseGate: no room to hold it; let go with Next and Skip, push it again
	Discard                      // SessionGate: never, it came before nova.session
	Violation                    // SessionGate: the server broke the protocol, close 1002
)

// String returns the verdict in lower case.
func (v Verdict) String() string {
	switch v {
	case Deliver:
		return "deliver"
	case Duplicate:
		return "duplicate"
	case Hold:
		return "hold"
	case Overflow:
		return "overflow"
	case Discard:
		return "discard"
	case Violation:
		return "violation"
	}
	return "no verdict"
}

// BaseGate is the client's side of numbers towards a server without session/1:
// it puts numbered frames in order and drops what came twice. Like everything
// here it does no I/O and knows no time: who feeds it asks the server for what
// is missing, and lets go after a while. The zero value holds one frame at most.
type BaseGate struct {
	MaxFrames int // most frames held
	MaxBytes  int // most bytes held

	last  uint64 // all up to here was delivered or given up
	fresh bool   // no numbered frame has come on this connection
	asked bool   // the server has been asked and has not answered

	held  []heldFrame // sorted by seq, all above last+1
	bytes int         // in held
}

type heldFrame struct {
	seq   uint64
	frame []byte
}

// Open starts a connection.
func (g *BaseGate) Open() { g.fresh, g.asked = true, false }

// Close ends a connection: the next one brings again what is held.
func (g *BaseGate) Close() { g.held, g.bytes, g.asked = nil, 0, false }

// Last returns the number up to which everything was delivered or given up.
func (g *BaseGate) Last() uint64 { return g.last }

// Held returns how many frames wait, and their bytes.
func (g *BaseGate) Held() (frames, bytes int) { return len(g.held), g.bytes }

// Push judges a frame that was numbered seq, which is not 0.
func (g *BaseGate) Push(seq uint64, frame []byte) Verdict {
	if g.fresh && seq <= g.last {
		g.last = seq - 1 // the server started again
	}
	g.fresh = false
	switch {
	case seq <= g.last:
		return Duplicate
	case seq == g.last+1:
		g.last = seq
		return Deliver
	}
	at, found := slices.BinarySearchFunc(g.held, seq, func(h heldFrame, seq uint64) int { return cmp.Compare(h.seq, seq) })
	if found {
		return Duplicate
	}
	// One frame may always be held, so that letting go and pushing make progress.
	if len(g.held) > 0 && (len(g.held) >= g.MaxFrames || g.bytes+len(frame) > g.MaxBytes) {
		return Overflow
	}
	g.held = slices.Insert(g.held, at, heldFrame{seq, slices.Clone(frame)})
	g.bytes += len(frame)
	return Hold
}

// Next returns the held frame whose turn it is, if any.
func (g *BaseGate) Next() ([]byte, bool) {
	for len(g.held) > 0 && g.held[0].seq <= g.last+1 {
		h := g.shift()
		if h.seq == g.last+1 {
			g.last = h.seq
			return h.frame, true
		}
	}
	return nil, false
}

// Skip gives up what is missing before the first held frame and returns it.
func (g *BaseGate) Skip() (from, to uint64, ok bool) {
	g.asked = false
	if len(g.held) == 0 || g.held[0].seq <= g.last+1 {
		return 0, 0, false
	}
	from, to = g.last+1, g.held[0].seq-1
	g.last = to
	return from, to, true
}

// Ask reports whether the server should be asked for what follows Last. It says
// so once until Resumed, Skip or the next connection.
func (g *BaseGate) Ask() bool {
	if g.asked || len(g.held) == 0 {
		return false
	}
	g.asked = true
	return true
}

// Resumed takes the server's answer and reports whether what is missing will
// never come.
func (g *BaseGate) Resumed(ok bool, from uint64) (lost bool) {
	g.asked = false
	return len(g.held) > 0 && (!ok || from == 0)
}

// Waiting returns the number that everything held waits for, 0 = nothing is held.
func (g *BaseGate) Waiting() uint64 {
	if len(g.held) == 0 {
		return 0
	}
	return g.last + 1
}

func (g *BaseGate) shift() heldFrame {
	h := g.held[0]
	g.held[0] = heldFrame{}
	g.held = g.held[1:]
	g.bytes -= len(h.frame)
	if len(g.held) == 0 {
		g.held = nil
	}
	return h
}
