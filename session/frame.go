package session

import (
	"encoding/binary"

	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/wire"
)

// Frame is one published event as every receiver shares it: the WebSocket
// header, the envelope with number 0, and the payload, in one piece of memory
// that nobody changes. Numbers and trailers are added while copying for a socket.
type Frame struct {
	Event *wire.Event // class and key; nil for frames of the protocol itself
	// Ref and Offset are the frame's position in a topic, written as a trailer
	// for clients that asked for positions. Ref 0 = no position.
	Ref, Offset uint64
	// Target tells apart whom frames were published to: only those of one target
	// supersede each other, and all of one can be withdrawn.
	Target uint64

	data []byte // WebSocket header, wire frame
	sum  int    // bytes of its batch up to and including this frame
	head uint8  // bytes of the WebSocket header
}

// NewFrame copies an unnumbered wire frame: envelope and payload.
func NewFrame(event *wire.Event, frame []byte) Frame {
	head := ws.HeaderSize(len(frame))
	data := make([]byte, 0, head+len(frame))
	data = append(ws.AppendHeader(data, ws.Binary, len(frame)), frame...)
	return Frame{Event: event, data: data, head: uint8(head)}
}

// Size returns the bytes that the frame counts for in bounds.
func (f *Frame) Size() int { return len(f.data) }

// Wire returns the frame as published: flags and number 0, no trailer. The
// caller must not change it.
func (f *Frame) Wire() []byte { return f.data[f.head:] }

// writtenSize returns the bytes the frame takes on a socket.
func (f *Frame) writtenSize(trailer bool) int {
	if !trailer || f.Ref == 0 {
		return len(f.data)
	}
	n := len(f.data) - int(f.head) + wire.TrailerLen
	return ws.HeaderSize(n) + n
}

// trailing returns the bytes behind the payload.
func (f *Frame) trailing(trailer bool) int {
	if !trailer || f.Ref == 0 {
		return 0
	}
	return wire.TrailerLen
}

func (f *Frame) payload() []byte { return f.data[int(f.head)+wire.HeaderLen:] }

// maxHead is the most bytes in front of a payload.
const maxHead = ws.MaxHeader + wire.HeaderLen

// The parts of the envelope that are stamped (docs/protocol.md, "One frame").
const (
	offFlags    = 5
	offSeq      = 6
	flagSeq     = 1 << 0
	flagTrailer = 1 << 1
)

// appendTo appends the whole frame for one socket; number 0 leaves it unnumbered.
func (f *Frame) appendTo(dst []byte, number uint64, trailer bool) []byte {
	at := len(dst) + int(f.head)
	if trailer && f.Ref != 0 {
		dst = ws.AppendHeader(dst, ws.Binary, len(f.data)-int(f.head)+wire.TrailerLen)
		at = len(dst)
		dst = append(dst, f.data[f.head:]...)
		dst[at+offFlags] |= flagTrailer
		dst = binary.LittleEndian.AppendUint64(dst, f.Ref)
		dst = binary.LittleEndian.AppendUint64(dst, f.Offset)
	} else {
		dst = append(dst, f.data...)
	}
	if number != 0 {
		dst[at+offFlags] |= flagSeq
		binary.LittleEndian.PutUint64(dst[at+offSeq:], number)
	}
	return dst
}

// appendPart appends at most room bytes of the frame from byte off on: for
// frames longer than one write, and for the rest after a short write.
func (f *Frame) appendPart(dst []byte, number uint64, trailer bool, off, room int) []byte {
	trailer = trailer && f.Ref != 0
	envelope := int(f.head) + wire.HeaderLen // where the payload begins
	var tmp [ws.MaxHeader + wire.HeaderLen + wire.TrailerLen]byte
	var first, last []byte
	if trailer {
		first = ws.AppendHeader(tmp[:0], ws.Binary, len(f.data)-int(f.head)+wire.TrailerLen)
		first = append(first, f.data[f.head:envelope]...)
		first[len(first)-wire.HeaderLen+offFlags] |= flagTrailer
		last = binary.LittleEndian.AppendUint64(first[len(first):], f.Ref)
		last = binary.LittleEndian.AppendUint64(last, f.Offset)
	} else {
		first = append(tmp[:0], f.data[:envelope]...)
	}
	if number != 0 {
		stamp := first[len(first)-wire.HeaderLen:]
		stamp[offFlags] |= flagSeq
		binary.LittleEndian.PutUint64(stamp[offSeq:], number)
	}
	for _, part := range [3][]byte{first, f.data[envelope:], last} {
		if off >= len(part) {
			off -= len(part)
			continue
		}
		part = part[off:min(len(part), off+room)]
		dst = append(dst, part...)
		room -= len(part)
		off = 0
		if room == 0 {
			break
		}
	}
	return dst
}
