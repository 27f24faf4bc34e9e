package filelog

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
)

// A record is
//
//	u32 LE  CRC-32C of all that follows
//	u32 LE  length of the body
//	body    kind byte, then the fields of the kind; integers are uvarints,
//	        strings are a uvarint length and bytes
//
//	kind 1 frame    topic number, offset, id, then the frame to the end
//	kind 2 topic    topic number, name, epoch, reserved, head, lost
//	kind 3 reserve  topic number, reserved
//	kind 4 end      number of topic records before it: the state is complete
//	kind 5 frame    topic number, offset, id, client that must not get it, then the
//	                frame to the end
const (
	kindFrame byte = iota + 1
	kindTopic
	kindReserve
	kindEnd
	kindFrameExcept
)

const recordHead = 8 // checksum and length

// maxBody is the longest body that a reader believes in.
const maxBody = maxFrame + 3*maxName + 64

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// record is a decoded one. Its bytes are those of the buffer it was parsed from.
type record struct {
	kind     byte
	topic    uint64 // number
	offset   uint64
	reserved uint64
	head     uint64
	lost     uint64
	count    uint64
	name     []byte
	epoch    []byte
	id       []byte
	except   []byte
	frame    []byte
}

var (
	// errShort: the bytes end inside the record.
	errShort = errors.New("the record is cut off")
	errSum   = errors.New("wrong checksum")
	errBody  = errors.New("malformed record")
)

func begin(b []byte, kind byte) []byte { return append(b, 0, 0, 0, 0, 0, 0, 0, 0, kind) }

// finish fills in the head of the record that begins at start.
func finish(b []byte, start int) []byte {
	binary.LittleEndian.PutUint32(b[start+4:], uint32(len(b)-start-recordHead))
	binary.LittleEndian.PutUint32(b[start:], crc32.Checksum(b[start+4:], castagnoli))
	return b
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendFrame(b []byte, topic, offset uint64, id, except string, frame []byte) []byte {
	start, kind := len(b), kindFrame
	if except != "" {
		kind = kindFrameExcept
	}
	b = begin(b, kind)
	b = binary.AppendUvarint(b, topic)
	b = binary.AppendUvarint(b, offset)
	b = appendString(b, id)
	if except != "" {
		b = appendString(b, except)
	}
	b = append(b, frame...)
	return finish(b, start)
}

func appendTopic(b []byte, topic uint64, name, epoch string, reserved, head, lost uint64) []byte {
	start := len(b)
	b = begin(b, kindTopic)
	b = binary.AppendUvarint(b, topic)
	b = appendString(b, name)
	b = appendString(b, epoch)
	b = binary.AppendUvarint(b, reserved)
	b = binary.AppendUvarint(b, head)
	b = binary.AppendUvarint(b, lost)
	return finish(b, start)
}

func appendReserve(b []byte, topic, reserved uint64) []byte {
	start := len(b)
	b = begin(b, kindReserve)
	b = binary.AppendUvarint(b, topic)
	b = binary.AppendUvarint(b, reserved)
	return finish(b, start)
}

func appendEnd(b []byte, count int) []byte {
	start := len(b)
	b = begin(b, kindEnd)
	b = binary.AppendUvarint(b, uint64(count))
	return finish(b, start)
}

// parse reads the record at the start of b and its whole length. The length is
// also returned with errShort, as far as it is known.
func parse(b []byte) (r record, n int, err error) {
	if len(b) < recordHead {
		return r, recordHead, errShort
	}
	length := binary.LittleEndian.Uint32(b[4:])
	if length == 0 || length > maxBody {
		return r, 0, errBody
	}
	n = recordHead + int(length)
	if len(b) < n {
		return r, n, errShort
	}
	if crc32.Checksum(b[4:n], castagnoli) != binary.LittleEndian.Uint32(b) {
		return r, n, errSum
	}
	d := decoder{b: b[recordHead+1 : n]}
	r.kind = b[recordHead]
	switch r.kind {
	case kindFrame, kindFrameExcept:
		r.topic, r.offset, r.id = d.number(), d.number(), d.bytes()
		if r.kind == kindFrameExcept {
			r.kind, r.except = kindFrame, d.bytes()
		}
		r.frame, d.b = d.b, nil
	case kindTopic:
		r.topic, r.name, r.epoch = d.number(), d.bytes(), d.bytes()
		r.reserved, r.head, r.lost = d.number(), d.number(), d.number()
	case kindReserve:
		r.topic, r.reserved = d.number(), d.number()
	case kindEnd:
		r.count = d.number()
	default:
		d.bad = true
	}
	if d.bad || len(d.b) > 0 {
		return record{}, n, errBody
	}
	return r, n, nil
}

// decoder takes fields from the front; bad stays set once one was missing.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) number() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.bad = true
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) bytes() []byte {
	n := d.number()
	if n > uint64(len(d.b)) {
		d.bad = true
		return nil
	}
	s := d.b[:n:n]
	d.b = d.b[n:]
	return s
}
