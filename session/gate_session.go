package session

// SessionGate is the client's side of numbers towards a server with session/1,
// which declares every hole in its place: it lets the next number pass, or a gap
// that covers it, and nothing else. It does no I/O and knows no time. The zero
// value has delivered nothing and waits for a connection.
type SessionGate struct {
	last     uint64 // all up to here was delivered or declared missing
	attached bool   // nova.session has come on this connection
}

// Open starts a connection: until Attach numbered frames are discarded.
func (g *SessionGate) Open() { g.attached = false }

// Last returns the number up to which everything was delivered or declared
// missing: last_seq of the next nova.attach.
func (g *SessionGate) Last() uint64 { return g.last }

// Attached reports whether nova.session has come on this connection.
func (g *SessionGate) Attached() bool { return g.attached }

// Attach takes the outcome of nova.attach: whether the stream goes on, and the
// number that comes next. It returns false when the server contradicts itself:
// close 1002. A nova.session later on the same connection is taken likewise,
// but when it says that the stream goes on, its number is not looked at, as the
// frame may have overtaken others.
func (g *SessionGate) Attach(recovered bool, next uint64) bool {
	switch {
	case next == 0:
		return false
	case !recovered:
		g.last = next - 1
	case !g.attached && next != g.last+1:
		return false
	}
	g.attached = true
	return true
}

// Push judges a frame that was numbered seq, which is not 0: Deliver, Discard or
// Violation.
func (g *SessionGate) Push(seq uint64) Verdict {
	switch {
	case !g.attached:
		return Discard
	case seq != g.last+1:
		return Violation
	}
	g.last = seq
	return Deliver
}

// Gap judges a declared hole of the numbers from to to, both included. With
// Deliver the numbers from first to to are missing: what a gap repeats of the
// past is not. Else it returns Discard or Violation.
func (g *SessionGate) Gap(from, to uint64) (first uint64, v Verdict) {
	switch next := g.last + 1; {
	case !g.attached:
		return 0, Discard
	case from == 0, from > next, to < next:
		return 0, Violation
	default:
		g.last = to
		return next, Deliver
	}
}
