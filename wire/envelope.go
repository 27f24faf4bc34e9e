package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The envelope that precedes every FlatBuffer (docs/protocol.md, "One frame").
const (
	Version   = 2  // first byte of every frame
	HeaderLen = 14 // version, event id, flags, seq
	PrefixLen = 4  // u32 length of the FlatBuffer that follows

	flagSeq     = 1 << 0 // the seq field is valid
	flagTrailer = 1 << 1 // a topic trailer follows the FlatBuffer

	offID    = 1
	offFlags = 5
	offSeq   = 6

	// TrailerLen is the size of a topic trailer: u64 ref, u64 offset.
	TrailerLen = 16

	// MaxPayload bounds what an encoder writes: FlatBuffers offsets are signed
	// 32-bit numbers in several runtimes.
	MaxPayload = 1<<31 - 1
)

// Causes of an undecodable frame. Test with errors.Is.
var (
	ErrShort   = errors.New("frame is shorter than its header")
	ErrVersion = errors.New("frame has another wire version")
	ErrSize    = errors.New("frame length does not match its size prefix")
	ErrTooBig  = errors.New("value is too big for one frame")
)

// Header is the decoded envelope of one frame.
type Header struct {
	ID      uint32
	Seq     uint64 // 0 when the frame is not numbered
	Trailer bool   // the last 16 bytes are a topic trailer
}

// EventID returns the id of an event: FNV-1a-32 over the bytes of its name.
func EventID(name string) uint32 {
	h := uint32(2166136261)
	for i := 0; i < len(name); i++ {
		h = (h ^ uint32(name[i])) * 16777619
	}
	return h
}

// AppendHeader appends the 14 bytes of an unnumbered envelope. The size-prefixed
// FlatBuffer follows it.
func AppendHeader(dst []byte, id uint32) []byte {
	return append(dst, Version, byte(id), byte(id>>8), byte(id>>16), byte(id>>24),
		0, 0, 0, 0, 0, 0, 0, 0, 0)
}

// ParseFrame checks the envelope of one whole frame and returns its header and
// its size-prefixed FlatBuffer, which aliases frame. The errors wrap ErrShort,
// ErrVersion or ErrSize.
func ParseFrame(frame []byte) (Header, []byte, error) {
	if len(frame) < HeaderLen+PrefixLen {
		return Header{}, nil, fmt.Errorf("%w: %d bytes", ErrShort, len(frame))
	}
	if frame[0] != Version {
		return Header{}, nil, fmt.Errorf("%w: %d, want %d", ErrVersion, frame[0], Version)
	}
	h := Header{ID: binary.LittleEndian.Uint32(frame[offID:])}
	if frame[offFlags]&flagSeq != 0 {
		h.Seq = binary.LittleEndian.Uint64(frame[offSeq:])
	}
	end := len(frame)
	if frame[offFlags]&flagTrailer != 0 {
		h.Trailer = true
		end -= TrailerLen
	}
	size := int64(binary.LittleEndian.Uint32(frame[HeaderLen:]))
	if int64(end) != HeaderLen+PrefixLen+size {
		return Header{}, nil, fmt.Errorf("%w: prefix says %d, %d bytes follow", ErrSize, size, max(0, end-HeaderLen-PrefixLen))
	}
	return h, frame[HeaderLen:end:end], nil
}

// Split cuts the first frame off a message of several. What is no whole frame, or
// nothing but one, is returned as it is: ParseFrame judges.
func Split(message []byte) (frame, rest []byte) {
	if len(message) < HeaderLen+PrefixLen {
		return message, nil
	}
	size := HeaderLen + PrefixLen + int64(binary.LittleEndian.Uint32(message[HeaderLen:]))
	if message[offFlags]&flagTrailer != 0 {
		size += TrailerLen
	}
	if size >= int64(len(message)) {
		return message, nil
	}
	return message[:size:size], message[size:]
}

// Stamp writes a delivery number into a frame in place. The frame must be a
// private copy: what history, log, bridge and cluster see is never stamped.
func Stamp(frame []byte, seq uint64) {
	frame[offFlags] |= flagSeq
	binary.LittleEndian.PutUint64(frame[offSeq:], seq)
}

// GeneratedV1 is referenced by generated code, so that code made for another
// generation of this runtime does not compile.
const GeneratedV1 = 1
