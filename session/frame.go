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

	packed *packed // nil = never compressed
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

// Weight returns the bytes of memory that the frame takes as part of a batch: its
// own, those of its compressed payload, made or not, which is never longer than the
// plain one, and what goes with either.
func (f *Frame) Weight() int {
	n := len(f.data) + frameCost
	if f.packed != nil {
		n += len(f.payload()) + packCost
	}
	if f.class() == wire.DeliverLatest {
		n += keyCost
	}
	return n
}

// Wire returns the frame as published: flags and number 0, no trailer. The
// caller must not change it.
func (f *Frame) Wire() []byte { return f.data[f.head:] }

// writtenSize returns the bytes the frame takes on a socket.
func (f *Frame) writtenSize(fm form) int {
	if fm == 0 {
		return len(f.data)
	}
	fm = f.formIn(fm)
	if data := f.compressed(fm); data != nil {
		n := packedSize(len(data), fm)
		return ws.HeaderSize(n) + n
	}
	if fm&withTrailer == 0 {
		return len(f.data)
	}
	n := f.bareSize(fm)
	return ws.HeaderSize(n) + n
}

// bareSize returns the bytes of the frame in a joined message, where it is not
// compressed.
func (f *Frame) bareSize(fm form) int {
	n := len(f.data) - int(f.head)
	if f.formIn(fm)&withTrailer != 0 {
		n += wire.TrailerLen
	}
	return n
}

// formIn returns the form that this frame has: without a position it has no
// trailer.
func (f *Frame) formIn(fm form) form {
	if f.Ref == 0 {
		fm &^= withTrailer
	}
	return fm
}

// body returns what is between head and trailer: the part that is shared.
func (f *Frame) body(fm form) []byte {
	if data := f.compressed(fm); data != nil {
		return data
	}
	return f.payload()
}

// trailing returns the bytes behind the body.
func (f *Frame) trailing(fm form) int {
	switch {
	case f.formIn(fm)&withTrailer == 0:
		return 0
	case f.compressed(fm) != nil:
		return packedTrail
	}
	return wire.TrailerLen
}

// shares reports whether the body is large enough not to be copied, and some of it
// among the last left bytes of the message.
func (f *Frame) shares(fm form, least, left int) bool {
	return left > f.trailing(fm) && (fm&deflated == 0 || len(f.body(fm)) >= least)
}

func (f *Frame) payload() []byte { return f.data[int(f.head)+wire.HeaderLen:] }

// maxHead is the most bytes in front of a body.
const maxHead = ws.MaxHeader + packedHead

// The parts of the envelope that are stamped (docs/protocol.md, "One frame").
const (
	offFlags    = 5
	offSeq      = 6
	flagSeq     = 1 << 0
	flagTrailer = 1 << 1
)

// appendTo appends the whole frame for one socket; number 0 leaves it unnumbered.
func (f *Frame) appendTo(dst []byte, number uint64, fm form) []byte {
	if fm != 0 {
		if f.compressed(fm) != nil {
			return f.appendPart(dst, number, fm, 0, cap(dst)-len(dst))
		}
		if f.formIn(fm)&withTrailer != 0 {
			dst = ws.AppendHeader(dst, ws.Binary, f.bareSize(fm))
			return f.appendBare(dst, number, fm)
		}
	}
	at := len(dst) + int(f.head)
	dst = append(dst, f.data...)
	if number != 0 {
		stamp(dst[at:], number)
	}
	return dst
}

// stamp gives a frame its number; b begins with its envelope.
func stamp(b []byte, number uint64) {
	b[offFlags] |= flagSeq
	binary.LittleEndian.PutUint64(b[offSeq:], number)
}

// appendBare appends the frame without a WebSocket header.
func (f *Frame) appendBare(dst []byte, number uint64, fm form) []byte {
	at := len(dst)
	dst = append(dst, f.data[f.head:]...)
	if f.formIn(fm)&withTrailer != 0 {
		dst[at+offFlags] |= flagTrailer
		dst = f.appendTrailer(dst)
	}
	if number != 0 {
		stamp(dst[at:], number)
	}
	return dst
}

func (f *Frame) appendTrailer(dst []byte) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(dst, f.Ref), f.Offset)
}

// appendPart appends at most room bytes of the frame from byte off on: for
// frames longer than one write, and for the rest after a short write.
func (f *Frame) appendPart(dst []byte, number uint64, fm form, off, room int) []byte {
	fm = f.formIn(fm)
	body, trailer := f.compressed(fm), fm&withTrailer != 0
	var tmp [maxHead + packedTrail]byte
	first := tmp[:0]
	if body != nil {
		first = ws.AppendCompressedHeader(first, ws.Binary, packedSize(len(body), fm))
		first = ws.AppendStoredHeader(first, wire.HeaderLen)
	} else {
		body = f.payload()
		first = ws.AppendHeader(first, ws.Binary, f.bareSize(fm))
	}
	at := len(first)
	first = append(first, f.data[f.head:int(f.head)+wire.HeaderLen]...)
	if number != 0 {
		stamp(first[at:], number)
	}
	last := first[len(first):]
	switch {
	case trailer && f.compressed(fm) != nil:
		first[at+offFlags] |= flagTrailer
		last = append(last, ws.DeflateTail...)
		last = f.appendTrailer(ws.AppendStoredHeader(last, wire.TrailerLen))
		last = append(last, 0)
	case trailer:
		first[at+offFlags] |= flagTrailer
		last = f.appendTrailer(last)
	}
	for _, part := range [3][]byte{first, body, last} {
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
