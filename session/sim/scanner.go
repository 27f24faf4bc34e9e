package sim

import (
	"encoding/binary"
	"fmt"

	"github.com/ignex/nova/wire"
)

// Scanner cuts what a server writes to one socket into messages. It is not the
// parser of our clients, so that the two judge each other.
type Scanner struct {
	buf   []byte
	begun int // mark of the write that brought the first byte of buf
}

// Message is one WebSocket control frame of a server, or one of the wire frames in a
// message.
type Message struct {
	Op      byte
	Begun   int // mark of the write that brought the first byte of its message
	Payload []byte
	// Of wire frames:
	Head wire.Header
	Body []byte
	// Of frames with a trailer:
	Ref, Offset uint64
}

// Feed takes bytes and returns the messages they complete. mark is kept with the
// messages that begin in them.
func (s *Scanner) Feed(b []byte, mark int) (list []Message, err error) {
	for len(b) > 0 || len(s.buf) > 0 {
		if len(s.buf) == 0 {
			s.begun = mark
		}
		s.buf = append(s.buf, b...)
		b = nil
		size, head := messageSize(s.buf)
		if size == 0 || len(s.buf) < size {
			return list, nil
		}
		m := Message{Op: s.buf[0] & 15, Begun: s.begun, Payload: append([]byte(nil), s.buf[head:size]...)}
		if s.buf[0]&0xf0 != 0x80 {
			return list, fmt.Errorf("a message begins with %#x", s.buf[0])
		}
		if m.Op == 2 {
			if list, err = split(list, m); err != nil {
				return list, err
			}
		} else {
			list = append(list, m)
		}
		s.buf, b = nil, s.buf[size:]
	}
	return list, nil
}

// split adds the wire frames of a message.
func split(list []Message, m Message) ([]Message, error) {
	for rest := m.Payload; ; {
		if len(rest) < wire.HeaderLen+wire.PrefixLen {
			return list, fmt.Errorf("%d bytes are no frame", len(rest))
		}
		n := wire.HeaderLen + wire.PrefixLen + int(binary.LittleEndian.Uint32(rest[wire.HeaderLen:]))
		if rest[5]&2 != 0 {
			n += wire.TrailerLen
		}
		if n > len(rest) {
			return list, fmt.Errorf("a frame of %d bytes ends after %d", n, len(rest))
		}
		m.Payload, rest = rest[:n], rest[n:]
		var err error
		if m.Head, m.Body, err = wire.ParseFrame(m.Payload); err != nil {
			return list, err
		}
		m.Ref, m.Offset = 0, 0
		if m.Head.Trailer {
			t := m.Payload[len(m.Payload)-wire.TrailerLen:]
			m.Ref, m.Offset = binary.LittleEndian.Uint64(t), binary.LittleEndian.Uint64(t[8:])
		}
		if list = append(list, m); len(rest) == 0 {
			return list, nil
		}
	}
}

// Partial reports whether a message has begun and not ended.
func (s *Scanner) Partial() bool { return len(s.buf) > 0 }

// messageSize returns the bytes of the whole message at the start of b and of its
// header; 0 when b does not say yet.
func messageSize(b []byte) (size, head int) {
	if len(b) < 2 {
		return 0, 0
	}
	switch n := int(b[1] & 0x7f); n {
	default:
		return 2 + n, 2
	case 126:
		if len(b) < 4 {
			return 0, 0
		}
		return 4 + int(binary.BigEndian.Uint16(b[2:])), 4
	case 127:
		if len(b) < 10 {
			return 0, 0
		}
		return 10 + int(binary.BigEndian.Uint64(b[2:])), 10
	}
}
