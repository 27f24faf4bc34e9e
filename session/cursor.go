package session

import (
	"slices"
	"sync/atomic"
)

// MaxAhead is the number of control frames that may wait in front of data.
const MaxAhead = 16

// Kind tells control frames apart where that matters.
type Kind uint8

// The kinds of control frames.
const (
	Plain      Kind = iota
	Pong            // of a pong only the newest is worth sending
	SocketPong      // the WebSocket pong, likewise
	Groups          // the newest list of groups says it all
	Acked           // an acknowledgement covers the earlier ones

	stale // what a replaced socket had begun to write
)

type control struct {
	data []byte // a whole WebSocket message or control frame
	at   uint64 // in order: goes before the frame of that number
	kind Kind
}

// controlCost is the memory of a control frame besides its bytes, at most.
const controlCost = 112

// cost returns what the frame counts in the bound of its list.
func (m *control) cost() int { return len(m.data) + controlCost }

// piece says which list the thing under way comes from.
type piece uint8

const (
	pieceRing piece = iota
	pieceAhead
	pieceOrder
)

// place is a position in everything one socket has to write.
type place struct {
	next  uint64 // number of the next frame to write, or the one under way
	off   int    // bytes of the thing under way that are done
	ahead int32  // control frames done, from the front of each list
	order int32
	// frames and bytes first written on the way here
	frames, bytes       int32
	ownFrames, ownBytes int32
	// of what is under way and covers more than one number, the declaration of a hole
	// or a joined message: its last number, 0 = none, and the reason of the hole
	upTo   uint64
	reason Reason
	piece  piece // what is under way when off > 0
	joined bool  // that is a joined message
}

// closing says where the close frame stands; nothing is queued behind it.
type closing uint8

const (
	open       closing = iota
	closeNow           // last of ahead: data is not written any more
	closeAfter         // last of order: what was queued goes first
)

// Cursor is where one socket stands in a queue, with the control frames that
// belong to this socket. It belongs to the socket: a new one brings its own.
//
// Invariant: at ≤ to; they differ only between Fill and Wrote.
type Cursor struct {
	near atomic.Uint32 // never written

	// Writing is the write flag: its holder alone writes to the socket.
	Writing bool
	// Share lets Fill leave the payloads of large frames in place, see Shared. It
	// must not change while something is under way.
	Share bool
	// Batch lets Fill join small frames to one message, and Deflate send compressed
	// payloads. Neither may change once frames were written.
	Batch, Deflate bool
	// Dead says that the socket is closed. It may be set at any time.
	Dead atomic.Bool

	at, to  place
	flying  bool
	flown   int    // bytes of the write under way
	shared  []byte // the end of the write under way, in the frame itself
	closing closing
	closed  bool // the close frame was written
	ahead   []control
	order   []control
	bytes   int      // cost of order
	rewind  uint64   // where the promised replay starts, 0 = none
	waiting []uint64 // resumes behind a replay
}

// Near brings the cursor into the processor's cache: whoever is about to serve
// many calls it for some of them first, so that they are fetched side by side.
func (c *Cursor) Near() { c.near.Load() }

// Shared returns what has to be written right behind the bytes that Fill returned:
// payload that all receivers share, never to be changed. It is nil unless Share is
// set, and valid until Wrote. Both parts count for Wrote.
func (c *Cursor) Shared() []byte { return c.shared }

// Ahead queues a control frame in front of data. A pong replaces one that is
// still waiting. After a close frame nothing is queued.
func (c *Cursor) Ahead(kind Kind, message []byte) {
	if c.closing != open {
		return
	}
	if kind != Plain {
		for i := c.taken(); i < len(c.ahead); i++ {
			if c.ahead[i].kind == kind {
				c.ahead[i].data = message
				return
			}
		}
	}
	c.ahead = append(c.ahead, control{data: message, kind: kind})
}

// taken returns how many frames of ahead are in a write under way.
func (c *Cursor) taken() int {
	n := int(c.to.ahead)
	if c.to.off > 0 && c.to.piece == pieceAhead {
		n++
	}
	return n
}

// CloseNow queues a close frame in front of data; data is not written any more.
func (c *Cursor) CloseNow(message []byte) {
	if c.closing != open {
		return
	}
	c.ahead = append(c.ahead, control{data: message})
	c.closing = closeNow
}

// Closing reports whether a close frame is queued or written.
func (c *Cursor) Closing() bool { return c.closing != open }

// Closed reports whether the close frame went to the socket.
func (c *Cursor) Closed() bool { return c.closed }

// InOrder queues a control frame behind the frames queued so far, unnumbered
// and without history. One of a kind that only counts in its newest form takes
// the earlier one's place away.
func (q *Queue) InOrder(c *Cursor, kind Kind, message []byte) {
	if c.closing != open {
		return
	}
	if kind != Plain {
		taken := int(c.to.order)
		if c.to.off > 0 && c.to.piece == pieceOrder {
			taken++
		}
		for i := taken; i < len(c.order); i++ {
			if c.order[i].kind == kind {
				c.bytes -= c.order[i].cost()
				c.order = slices.Delete(c.order, i, i+1)
				break
			}
		}
	}
	c.order = append(c.order, control{data: message, at: q.next, kind: kind})
	c.bytes += len(message) + controlCost
}

// Answer is InOrder for what has no bound of its own. false: there is no room for it.
func (q *Queue) Answer(c *Cursor, message []byte) bool {
	if c.closing == open && c.bytes+len(message) > q.limits.UnsentBytes {
		return false
	}
	q.InOrder(c, Plain, message)
	return true
}

// CloseAfter queues a close frame behind everything queued so far.
func (q *Queue) CloseAfter(c *Cursor, message []byte) {
	if c.closing != open {
		return
	}
	q.InOrder(c, Plain, message)
	c.closing = closeAfter
}

// Full reports whether the socket should not be read until it took something.
func (q *Queue) Full(c *Cursor) bool {
	if len(c.ahead) >= MaxAhead || c.bytes > q.limits.UnsentBytes {
		return true
	}
	return q.cursor == c && (q.ownFrames > max(q.limits.UnsentFrames, minOwn) || q.ownBytes > q.limits.UnsentBytes)
}
