package session

import (
	"sync"

	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/wire"
)

// form is what a frame looks like on one socket.
type form uint8

const (
	withTrailer form = 1 << iota // with the position in its topic
	deflated                     // compressed, if it is worth it
)

// form returns the form of frames for the socket of c.
func (q *Queue) form(c *Cursor) form {
	var f form
	if q.trailers {
		f = withTrailer
	}
	if c.Deflate {
		f |= deflated
	}
	return f
}

// packed is the compressed payload of a frame: made when the first socket wants
// it, and then the same memory for all, although the envelope before it differs.
type packed struct {
	once sync.Once
	with *ws.Deflater
	data []byte // nil = it would not be shorter
}

// Pack lets sockets that take compressed messages have the frame's payload as d
// compresses it, once for all of them. It must come before the frame is shared.
func (f *Frame) Pack(d *ws.Deflater) { f.packed = &packed{with: d} }

// compressed returns the compressed payload, nil when the frame goes as it is.
func (f *Frame) compressed(fm form) []byte {
	if fm&deflated == 0 || f.packed == nil {
		return nil
	}
	p := f.packed
	p.once.Do(func() {
		if data := p.with.Deflate(f.payload()); len(data)+ws.StoredHeader < len(f.payload()) {
			p.data = data
		}
	})
	return p.data
}

// A compressed message is a stored block with the envelope, the blocks of the
// payload, and, behind a block that ends the payload, a stored block with the
// trailer. The reader appends the same end to it (RFC 7692, section 7.2.2): it must not
// end with the stored block itself, which would swallow that, but with the first
// byte of one more.
const (
	packedHead  = ws.StoredHeader + wire.HeaderLen
	packedTrail = len(ws.DeflateTail) + ws.StoredHeader + wire.TrailerLen + 1
)

// packedSize returns the bytes of a compressed message without its header.
func packedSize(payload int, fm form) int {
	if fm&withTrailer != 0 {
		return packedHead + payload + packedTrail
	}
	return packedHead + payload
}
