package ws

import (
	"bytes"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"
)

// lastBlock is an empty last block, so that a decompressor comes to an end.
const lastBlock = "\x01\x00\x00\xff\xff"

// maxStreams is how many deflate streams may make up one message. RFC 7692, section
// 7.2.3.4, allows a sender to end one before the end of the message; each costs the
// reader more than its bytes.
const maxStreams = 16

// keptInflated is the capacity up to which the memory of a message is used again.
const keptInflated = 128 << 10

var (
	errInflate = &CloseError{Code: CodeProtocol, Reason: "compressed message does not inflate"}
	errTooBig  = &CloseError{Code: CodeTooBig, Reason: "message too big"}
)

// inflating is the memory of reading one compressed message. Nothing of it is kept
// for a connection.
type inflating struct {
	in  bytes.Reader
	src []byte
	r   io.ReadCloser // also a flate.Resetter
	out []byte
}

var inflaters = sync.Pool{New: func() any { return &inflating{r: flate.NewReader(nil)} }}

// inflate calls use with the content of a compressed message, which is valid during
// the call. Above most bytes it stops with 1009, having used no more memory than
// that.
func inflate(message []byte, most int64, use func(data []byte) error) error {
	z := inflaters.Get().(*inflating)
	defer func() {
		if cap(z.out) > keptInflated || cap(z.src) > keptInflated {
			z.out, z.src = nil, nil
		}
		inflaters.Put(z)
	}()
	if err := z.inflate(message, most); err != nil {
		return err
	}
	return use(z.out)
}

func (z *inflating) inflate(message []byte, most int64) error {
	z.src = append(append(append(z.src[:0], message...), DeflateTail...), lastBlock...)
	z.in.Reset(z.src)
	z.out = z.out[:0]
	for range maxStreams {
		if err := z.r.(flate.Resetter).Reset(&z.in, z.out[max(0, len(z.out)-1<<15):]); err != nil {
			return errInflate
		}
		switch err := z.stream(most); {
		case err != nil:
			return err
		case z.in.Len() == 0:
			return nil
		}
	}
	return errInflate
}

// stream appends one stream to out.
func (z *inflating) stream(most int64) error {
	for {
		if len(z.out) == cap(z.out) {
			z.out = append(z.out, make([]byte, max(512, len(z.out)))...)[:len(z.out)]
		}
		n, err := z.r.Read(z.out[len(z.out):cap(z.out)])
		z.out = z.out[:len(z.out)+n]
		switch {
		case int64(len(z.out)) > most:
			return errTooBig
		case err == io.EOF:
			return nil
		case err != nil:
			return errInflate
		}
	}
}
