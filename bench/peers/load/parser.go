package load

import "encoding/binary"

// framing says how deliveries lie in the bytes of a connection.
type framing uint8

const (
	perFrame   framing = iota // one WebSocket message each
	perReply                  // centrifuge: varint length and reply, several a message
	perLine                   // NATS: MSG line and payload, several a message
	perSize                   // nova with batch/1: size in byte 14, several a message
	minPayload = 16           // shorter messages are the protocol's own
)

// parser counts the deliveries in a stream of WebSocket frames.
type parser struct {
	framing framing
	op      byte
	nhead   uint8
	head    [10]byte
	left    int // bytes of the frame's payload still to come
	length  int
	control []byte // payload of a control frame
	inner   inner
	answer  []byte // what the protocol wants sent back
	closed  bool
}

// inner is the state inside the messages that hold several deliveries.
type inner struct {
	skip    int  // bytes of the delivery still to come
	line    bool // inside a line
	first   byte // of the line
	number  int
	shift   uint
	partial bool
}

// feed takes bytes and returns how many deliveries were completed.
func (p *parser) feed(b []byte) (n int) {
	for len(b) > 0 {
		if p.left == 0 {
			used := p.header(b)
			b = b[used:]
			if p.left == 0 {
				continue
			}
			if len(b) == 0 {
				return n
			}
		}
		take := min(p.left, len(b))
		p.left -= take
		n += p.body(b[:take])
		b = b[take:]
	}
	return n
}

// header takes the header, or a part of it, and returns the bytes used.
func (p *parser) header(b []byte) int {
	h, used := b, 0
	if p.nhead > 0 || len(b) < len(p.head) {
		for !complete(p.head[:p.nhead]) {
			if used == len(b) {
				return used
			}
			p.head[p.nhead] = b[used]
			p.nhead++
			used++
		}
		h = p.head[:p.nhead]
		p.nhead = 0
	}
	size := 2
	p.op = h[0] & 15
	switch length := h[1] & 127; length {
	case 126:
		p.left, size = int(binary.BigEndian.Uint16(h[2:])), 4
	case 127:
		p.left, size = int(binary.BigEndian.Uint64(h[2:])), 10
	default:
		p.left = int(length)
	}
	p.length = p.left
	if used == 0 {
		used = size
	}
	if p.op >= 8 {
		p.control = p.control[:0]
		if p.left == 0 {
			p.endControl()
		}
	}
	return used
}

func complete(h []byte) bool {
	if len(h) < 2 {
		return false
	}
	switch h[1] & 127 {
	case 126:
		return len(h) >= 4
	case 127:
		return len(h) >= 10
	}
	return true
}

// body takes payload bytes of the present frame.
func (p *parser) body(b []byte) int {
	switch {
	case p.op >= 8:
		p.control = append(p.control, b...)
		if p.left == 0 {
			p.endControl()
		}
		return 0
	case p.framing == perReply:
		return p.replies(b)
	case p.framing == perLine:
		return p.lines(b)
	case p.framing == perSize:
		return p.frames(b)
	case p.left > 0:
		return 0
	case p.length >= minPayload:
		return 1
	case p.length == 1 && b[0] == '2': // engine.io ping
		p.answer = appendMasked(p.answer, 1, []byte("3"))
	}
	return 0
}

func (p *parser) endControl() {
	switch p.op {
	case 8:
		p.closed = true
	case 9:
		p.answer = appendMasked(p.answer, 10, p.control)
	}
}

func (p *parser) replies(b []byte) (n int) {
	s := &p.inner
	for len(b) > 0 {
		if s.skip > 0 {
			take := min(s.skip, len(b))
			b = b[take:]
			if s.skip -= take; s.skip == 0 {
				n++
			}
			continue
		}
		s.number |= int(b[0]&127) << s.shift
		s.shift += 7
		if b[0] < 128 {
			if s.skip = s.number; s.skip == 0 { // ping
				p.answer = appendMasked(p.answer, 2, []byte{0})
			}
			s.number, s.shift = 0, 0
		}
		b = b[1:]
	}
	return n
}

func (p *parser) lines(b []byte) (n int) {
	s := &p.inner
	for len(b) > 0 {
		if s.skip > 0 {
			take := min(s.skip, len(b))
			b = b[take:]
			if s.skip -= take; s.skip == 0 {
				n++
			}
			continue
		}
		c := b[0]
		b = b[1:]
		if !s.line {
			s.line, s.first = true, c
			s.partial = false
		}
		switch {
		case c == ' ':
			s.number = 0
		case c >= '0' && c <= '9':
			s.number = s.number*10 + int(c-'0')
		case c == 'I':
			s.partial = true // PING, not PONG
		case c == '\n':
			s.line = false
			switch {
			case s.first == 'M':
				s.skip = s.number + 2
			case s.first == 'P' && s.partial:
				p.answer = appendMasked(p.answer, 2, []byte("PONG\r\n"))
			}
			s.number = 0
		}
	}
	return n
}

// frames counts wire frames without a trailer.
func (p *parser) frames(b []byte) (n int) {
	const prefix, head = 14, 18
	s := &p.inner
	for len(b) > 0 {
		if s.skip > 0 {
			take := min(s.skip, len(b))
			b = b[take:]
			if s.skip -= take; s.skip == 0 {
				n++
			}
			continue
		}
		if s.shift >= prefix {
			s.number |= int(b[0]) << (8 * (s.shift - prefix))
		}
		b = b[1:]
		if s.shift++; s.shift == head {
			s.skip, s.number, s.shift = s.number, 0, 0
		}
	}
	return n
}

// maskKey masks what the client sends: servers must unmask as they do for
// browsers.
var maskKey = [4]byte{0x37, 0xfa, 0x21, 0x3d}

func appendMasked(dst []byte, op byte, payload []byte) []byte {
	switch n := len(payload); {
	case n < 126:
		dst = append(dst, 0x80|op, 0x80|byte(n))
	case n < 1<<16:
		dst = append(dst, 0x80|op, 0x80|126, byte(n>>8), byte(n))
	default:
		dst = binary.BigEndian.AppendUint64(append(dst, 0x80|op, 0x80|127), uint64(n))
	}
	dst = append(dst, maskKey[:]...)
	for i, c := range payload {
		dst = append(dst, c^maskKey[i&3])
	}
	return dst
}
