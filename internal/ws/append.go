package ws

import "encoding/binary"

// MaxHeader is the longest frame header: 2 bytes, 8 of length, 4 of key.
const MaxHeader = 14

const (
	finBit  = 0x80
	rsvBits = 0x70
	rsv1Bit = 0x40 // of the first frame of a compressed message (RFC 7692)
	opBits  = 0x0f
	maskBit = 0x80
	lenBits = 0x7f
	len16   = 126
	len64   = 127
)

// HeaderSize returns the bytes that AppendHeader writes for a payload of length bytes.
func HeaderSize(length int) int {
	switch {
	case length < len16:
		return 2
	case length < 1<<16:
		return 4
	default:
		return 10
	}
}

// AppendHeader appends the header of a whole, unmasked message or control frame
// (server to client). length bytes of payload follow it on the wire. A control
// frame takes at most 125 bytes; the caller sees to it.
func AppendHeader(dst []byte, op Opcode, length int) []byte {
	return appendHeader(dst, op, length, 0)
}

// AppendFrame appends a whole, unmasked frame (server to client).
func AppendFrame(dst []byte, op Opcode, payload []byte) []byte {
	return append(appendHeader(dst, op, len(payload), 0), payload...)
}

// AppendMasked appends a whole, masked frame (client to server). The key should
// be fresh and unpredictable for each frame (RFC 6455, section 10.3). payload
// is not changed.
func AppendMasked(dst []byte, op Opcode, payload []byte, key [4]byte) []byte {
	dst = appendHeader(dst, op, len(payload), maskBit)
	dst = append(dst, key[:]...)
	at := len(dst)
	dst = append(dst, payload...)
	Mask(dst[at:], key, 0)
	return dst
}

// AppendClose appends an unmasked close frame (server to client). See
// [AppendClosePayload] for what becomes of code and reason; clients pass that
// payload to [AppendMasked].
func AppendClose(dst []byte, code int, reason string) []byte {
	at := len(dst)
	dst = appendHeader(dst, Close, 0, 0)
	dst = AppendClosePayload(dst, code, reason)
	dst[at+1] = byte(len(dst) - at - 2)
	return dst
}

func appendHeader(dst []byte, op Opcode, length int, mask byte) []byte {
	first := finBit | byte(op)
	switch {
	case length < len16:
		return append(dst, first, mask|byte(length))
	case length < 1<<16:
		return append(dst, first, mask|len16, byte(length>>8), byte(length))
	default:
		return binary.BigEndian.AppendUint64(append(dst, first, mask|len64), uint64(length))
	}
}

// AppendMaskedHeader appends the header of a whole, masked message (client to
// server). length bytes of payload, masked with key, follow it on the wire.
func AppendMaskedHeader(dst []byte, op Opcode, length int, key [4]byte) []byte {
	dst = appendHeader(dst, op, length, maskBit)
	return append(dst, key[:]...)
}
