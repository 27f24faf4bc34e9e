package ws

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/klauspost/compress/flate"
)

// DeflateTail is what a sync flush ends with. The sender of a compressed message
// leaves it out, the reader puts it back (RFC 7692, section 7.2).
const DeflateTail = "\x00\x00\xff\xff"

// StoredHeader is the size of what precedes the bytes of a stored block that
// begins at a whole byte.
const StoredHeader = 5

// AppendStoredHeader appends the beginning of a stored block of length bytes, below
// 64 KiB, that is not the last one. The bytes follow it.
func AppendStoredHeader(dst []byte, length int) []byte {
	dst = append(dst, 0)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(length))
	return binary.LittleEndian.AppendUint16(dst, ^uint16(length))
}

// AppendCompressedHeader is AppendHeader for a compressed message.
func AppendCompressedHeader(dst []byte, op Opcode, length int) []byte {
	at := len(dst)
	dst = appendHeader(dst, op, length, 0)
	dst[at] |= rsv1Bit
	return dst
}

// AppendMaskedCompressed is AppendMasked for a payload that Deflater.Deflate made.
func AppendMaskedCompressed(dst []byte, op Opcode, payload []byte, key [4]byte) []byte {
	at := len(dst)
	dst = AppendMasked(dst, op, payload, key)
	dst[at] |= rsv1Bit
	return dst
}

// Deflater compresses payloads, each by itself: no window is kept between them, so
// that the result is good for any number of connections and holds no memory of
// one. It is safe for concurrent use.
type Deflater struct {
	level int
	free  sync.Pool
}

type deflating struct {
	out bytes.Buffer
	w   *flate.Writer
}

// NewDeflater returns one for a level from 1, fastest, to 9.
func NewDeflater(level int) (*Deflater, error) {
	if level < flate.BestSpeed || level > flate.BestCompression {
		return nil, fmt.Errorf("compression level %d is not one of 1 to 9", level)
	}
	return &Deflater{level: level}, nil
}

// Deflate returns the blocks of data without DeflateTail. None of them is the last
// one of its stream: behind such a block browsers misread the next message.
func (d *Deflater) Deflate(data []byte) []byte {
	z, _ := d.free.Get().(*deflating)
	if z == nil {
		z = new(deflating)
		z.w, _ = flate.NewWriter(&z.out, d.level) // fails for other levels only
	}
	defer d.free.Put(z)
	z.out.Reset()
	z.w.Reset(&z.out)
	// Writing to memory cannot fail.
	_, _ = z.w.Write(data)
	_ = z.w.Flush()
	return bytes.Clone(bytes.TrimSuffix(z.out.Bytes(), []byte(DeflateTail)))
}
