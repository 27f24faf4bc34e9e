package ws

import (
	"encoding/binary"
	"math/bits"
)

// Mask masks or unmasks b in place, 8 bytes at a time. pos is the position of
// b[0] in the payload; any number below len(payload) modulo 4 does as well.
func Mask(b []byte, key [4]byte, pos int) {
	mask(b, bits.RotateLeft32(binary.LittleEndian.Uint32(key[:]), -8*(pos&3)))
}

// mask is Mask with the key as a little-endian number, its first byte for b[0].
func mask(b []byte, key uint32) {
	if key == 0 {
		return
	}
	k64 := uint64(key)<<32 | uint64(key)
	for len(b) >= 32 {
		w := b[:32:32]
		binary.LittleEndian.PutUint64(w, binary.LittleEndian.Uint64(w)^k64)
		binary.LittleEndian.PutUint64(w[8:], binary.LittleEndian.Uint64(w[8:])^k64)
		binary.LittleEndian.PutUint64(w[16:], binary.LittleEndian.Uint64(w[16:])^k64)
		binary.LittleEndian.PutUint64(w[24:], binary.LittleEndian.Uint64(w[24:])^k64)
		b = b[32:]
	}
	for len(b) >= 8 {
		binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)^k64)
		b = b[8:]
	}
	if len(b) >= 4 {
		binary.LittleEndian.PutUint32(b, binary.LittleEndian.Uint32(b)^key)
		b = b[4:]
	}
	for i := range b {
		b[i] ^= byte(key >> (8 * i))
	}
}
