package ws

import (
	"encoding/binary"
	"math"
)

// Handler takes what a Parser finds. data is valid during the call only: it
// lies in the fed bytes or in a buffer that is given up afterwards. The handler
// may change it. An error ends the connection: Feed returns it.
type Handler interface {
	// Message takes a whole Text or Binary message. Text is not checked for UTF-8.
	Message(op Opcode, data []byte) error
	// Control takes a Ping, Pong or Close frame, also between the fragments of a
	// message. The payload of a Close is checked (see ParseClose).
	Control(op Opcode, data []byte) error
}

// Parser finds messages and control frames in the bytes of one connection,
// however these are cut. It is one goroutine's. The size of its state counts
// for every idle connection: keep it within 64 bytes.
type Parser struct {
	// held is nil unless part of a frame's payload or an unfinished message has
	// arrived.
	held *held
	err  error // what ended the connection; every later Feed returns it

	max  int64 // bytes of one message
	left int64 // payload bytes of the frame in progress that have not arrived

	// head[:n] is an incomplete header. inFrame: the header is complete and
	// has been taken, n is the position in key.
	head [MaxHeader]byte
	n    uint8

	flags flags
	op    Opcode // of the frame in progress
	msg   Opcode // of the message in progress, Continuation = none
	key   [4]byte
}

type flags uint8

const (
	masked   flags = 1 << iota // the peer must mask
	inFrame                    // between a header and the end of its payload
	fin                        // the frame in progress is the last of its message
	closed                     // a close frame came: what follows is ignored
	inflates                   // compressed messages are allowed
	packed                     // the message in progress is one
)

// held is memory that exists only while something is incomplete. It grows with
// the bytes that arrived, never with a length that a header claims.
type held struct {
	message []byte
	control []byte
	marked  bool
}

// NewParser returns the parser of one side: a server's peers must mask (masked
// is true), a client's must not. Messages above maxMessage bytes are refused
// with 1009; 0 or less means no limit.
func NewParser(mustMask bool, maxMessage int) Parser {
	p := Parser{max: int64(maxMessage)}
	if maxMessage <= 0 {
		p.max = math.MaxInt64
	}
	if mustMask {
		p.flags = masked
	}
	return p
}

// AllowCompressed lets the parser take compressed messages, whose content it hands
// over: permessage-deflate was agreed on, and the peer keeps no window between
// messages. Both the content and, but for a small share that incompressible content
// may cost, the compressed bytes are bounded like any message.
func (p *Parser) AllowCompressed() { p.flags |= inflates }

// most returns the bytes that a message may have on the wire.
func (p *Parser) most(compressed bool) int64 {
	if compressed && p.max < math.MaxInt64/2 {
		return p.max + p.max>>8 + 64
	}
	return p.max
}

// Held returns the bytes of incomplete messages that the parser keeps.
func (p *Parser) Held() int {
	if p.held == nil {
		return 0
	}
	return cap(p.held.message) + cap(p.held.control)
}

// Mark marks what Held counts until it is complete.
func (p *Parser) Mark() {
	if p.held != nil {
		p.held.marked = true
	}
}

// Marked reports whether what Held counts now was marked.
func (p *Parser) Marked() bool { return p.held != nil && p.held.marked }

// Drop gives up what is incomplete. Nothing more is parsed.
func (p *Parser) Drop() {
	p.held = nil
	p.flags |= closed
}

// Feed takes the next bytes of the connection, all of them, and calls h for each
// message and control frame that ends in them, in order. It unmasks b in place.
// A message that lies in b as one whole frame is handed over without a copy.
//
// A violation gives a *CloseError with the code to close with: 1002, 1007 or
// 1009. After an error nothing is parsed and the same error is returned; after
// a close frame what follows is ignored and nil returned.
func (p *Parser) Feed(b []byte, h Handler) error {
	if p.err != nil {
		return p.err
	}
	for len(b) > 0 && p.flags&closed == 0 {
		var err error
		if data := p.short(b); data != nil {
			b = b[shortHeader+len(data):]
			err = h.Message(Binary, data)
		} else {
			b, err = p.next(b, h)
		}
		if err != nil {
			p.err, p.held = err, nil
			return err
		}
	}
	return nil
}

// shortHeader is the size of the header of a masked frame of less than 126 bytes.
const shortHeader = 6

// short returns the unmasked message at the beginning of b if all of it is there
// in one short frame, as a client's events mostly are; nil leaves b to next.
func (p *Parser) short(b []byte) []byte {
	if p.flags&(masked|inFrame) != masked || p.n > 0 || p.msg != Continuation ||
		len(b) < shortHeader || b[0] != finBit|byte(Binary) || b[1] < maskBit || b[1] >= maskBit|len16 {
		return nil
	}
	size := int(b[1] & lenBits)
	if size > len(b)-shortHeader || int64(size) > p.max {
		return nil
	}
	data := b[shortHeader : shortHeader+size : shortHeader+size]
	mask(data, binary.LittleEndian.Uint32(b[2:]))
	return data
}

// next takes bytes of one frame and returns the rest.
func (p *Parser) next(b []byte, h Handler) (rest []byte, err error) {
	if p.flags&inFrame == 0 {
		b, err = p.header(b)
	}
	if err == nil && p.flags&inFrame != 0 {
		b, err = p.payload(b, h)
	}
	return b, err
}

// header takes the bytes of a header and returns the rest. Once it is complete
// the parser is in its frame.
func (p *Parser) header(b []byte) ([]byte, error) {
	if p.n == 0 {
		size, err := p.check(b)
		if err != nil {
			return nil, err
		}
		if size <= len(b) {
			return b[size:], p.begin(b[:size])
		}
	}
	for {
		size, err := p.check(p.head[:p.n])
		if err != nil {
			return nil, err
		}
		if int(p.n) == size {
			return b, p.begin(p.head[:size])
		}
		if len(b) == 0 {
			return nil, nil
		}
		got := copy(p.head[p.n:size], b)
		p.n += uint8(got)
		b = b[got:]
	}
}

// check judges as much of a header as h holds and returns the header's size as
// far as it is known: always more than len(h) while bytes are missing.
func (p *Parser) check(h []byte) (int, error) {
	if len(h) == 0 {
		return 1, nil
	}
	op := Opcode(h[0] & opBits)
	switch {
	case h[0]&rsvBits != 0 && (h[0]&rsvBits != rsv1Bit || p.flags&inflates == 0 || op.Control() || op == Continuation):
		return 0, violation("reserved bits set")
	case !op.known():
		return 0, violation("unknown %v", op)
	case op.Control() && h[0]&finBit == 0:
		return 0, violation("fragmented %v frame", op)
	case op == Continuation && p.msg == Continuation:
		return 0, violation("continuation without a message")
	case !op.Control() && op != Continuation && p.msg != Continuation:
		return 0, violation("%v frame inside a fragmented message", op)
	case len(h) == 1:
		return 2, nil
	}
	size := 2
	switch m := h[1]&maskBit != 0; {
	case m != (p.flags&masked != 0):
		if m {
			return 0, violation("masked frame from a server")
		}
		return 0, violation("unmasked frame from a client")
	case m:
		size += 4
	}
	length := int64(h[1] & lenBits)
	switch {
	case op.Control() && length > maxControl:
		return 0, violation("%v frame longer than 125 bytes", op)
	case length == len16:
		size += 2
		if len(h) < 4 {
			return size, nil
		}
		if length = int64(binary.BigEndian.Uint16(h[2:])); length < len16 {
			return 0, violation("length %d in 16 bits", length)
		}
	case length == len64:
		size += 8
		if len(h) < 10 {
			if len(h) > 2 && h[2]&0x80 != 0 {
				return 0, violation("length with the top bit set")
			}
			return size, nil
		}
		u := binary.BigEndian.Uint64(h[2:])
		if u > math.MaxInt64 {
			return 0, violation("length with the top bit set")
		}
		if length = int64(u); length < 1<<16 {
			return 0, violation("length %d in 64 bits", length)
		}
	}
	if !op.Control() && length > p.most(h[0]&rsv1Bit != 0 || op == Continuation && p.flags&packed != 0)-p.messageLen() {
		return 0, errTooBig
	}
	return size, nil
}

// messageLen returns the bytes of the message in progress that have arrived.
func (p *Parser) messageLen() int64 {
	if p.held == nil {
		return 0
	}
	return int64(len(p.held.message))
}

// begin enters the frame whose complete and checked header is h.
func (p *Parser) begin(h []byte) error {
	p.op = Opcode(h[0] & opBits)
	p.flags |= inFrame
	p.flags &^= fin
	if h[0]&finBit != 0 {
		p.flags |= fin
	}
	if !p.op.Control() && p.op != Continuation {
		p.msg = p.op
		p.flags &^= packed
		if h[0]&rsv1Bit != 0 {
			p.flags |= packed
		}
	}
	switch p.left = int64(h[1] & lenBits); p.left {
	case len16:
		p.left = int64(binary.BigEndian.Uint16(h[2:]))
	case len64:
		p.left = int64(binary.BigEndian.Uint64(h[2:]))
	}
	if p.flags&masked != 0 {
		copy(p.key[:], h[len(h)-4:])
	}
	p.n = 0
	return nil
}

// payload takes the bytes of the frame in progress and returns the rest. b may
// be empty: the frame may be too.
func (p *Parser) payload(b []byte, h Handler) ([]byte, error) {
	data, rest := b, []byte(nil)
	if int64(len(b)) >= p.left {
		data, rest = b[:p.left:p.left], b[p.left:]
	}
	if p.flags&masked != 0 {
		Mask(data, p.key, int(p.n))
		p.n = uint8(int(p.n)+len(data)) & 3
	}
	p.left -= int64(len(data))
	if p.left == 0 {
		p.flags &^= inFrame
		p.n = 0
		if p.op.Control() {
			return rest, p.control(data, h)
		}
		if p.flags&fin != 0 {
			return rest, p.message(data, h)
		}
	}
	p.hold(data)
	return rest, nil
}

// hold keeps a copy of data for the rest of its frame or message.
func (p *Parser) hold(data []byte) {
	if len(data) == 0 {
		return
	}
	if p.held == nil {
		p.held = new(held)
	}
	if p.op.Control() {
		p.held.control = append(p.held.control, data...)
	} else {
		p.held.message = append(p.held.message, data...)
	}
}

// message hands over a message whose last bytes are data.
func (p *Parser) message(data []byte, h Handler) error {
	op := p.msg
	p.msg = Continuation
	if p.held != nil && p.held.message != nil {
		data = append(p.held.message, data...)
		p.held = nil // no control frame can be incomplete here
	}
	if p.flags&packed != 0 {
		return inflate(data, p.max, func(data []byte) error { return h.Message(op, data) })
	}
	return h.Message(op, data)
}

// control hands over a control frame whose last bytes are data.
func (p *Parser) control(data []byte, h Handler) error {
	if p.held != nil && p.held.control != nil {
		data = append(p.held.control, data...)
		p.held.control = nil
		if p.held.message == nil {
			p.held = nil
		}
	}
	if p.op == Close {
		if _, _, err := ParseClose(data); err != nil {
			return err
		}
		p.flags |= closed
		p.held = nil
	}
	return h.Control(p.op, data)
}
