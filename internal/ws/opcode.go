// Package ws is the WebSocket frame codec (RFC 6455) that server and client
// share. It does no I/O: bytes in, messages and control frames out, and the
// other way round. The handshake is done elsewhere.
//
// Of extensions it knows permessage-deflate (RFC 7692) without context takeover,
// once the handshake agreed on it; else a reserved bit is a violation.
package ws

import "fmt"

// Opcode is the type of a frame (RFC 6455, section 5.2).
type Opcode byte

// The opcodes in use. All others are violations.
const (
	Continuation Opcode = 0
	Text         Opcode = 1
	Binary       Opcode = 2
	Close        Opcode = 8
	Ping         Opcode = 9
	Pong         Opcode = 10
)

// Control reports whether frames of this type may stand between the fragments
// of a message.
func (op Opcode) Control() bool { return op&8 != 0 }

// String returns the name used in messages.
func (op Opcode) String() string {
	switch op {
	case Continuation:
		return "continuation"
	case Text:
		return "text"
	case Binary:
		return "binary"
	case Close:
		return "close"
	case Ping:
		return "ping"
	case Pong:
		return "pong"
	}
	return fmt.Sprintf("opcode(%d)", byte(op))
}

func (op Opcode) known() bool { return op <= Binary || op >= Close && op <= Pong }
