package ws

import "encoding/binary"

// Mask masks or unmasks b in place, 8 bytes at a time. pos is the position of
// b[0] in the payload; any number below len(payload) modulo 4 does as well.
func Mask(b []byte, key [4]byte, pos int) {
	var k [4]byte
	for i := range k {
		k[i] = key[(pos+i)&3]
	}
	k32 := binary.LittleEndian.Uint32(k[:])
	if k32 == 0 {
		return
	}
	k64 := uint64(k32)<<32 | uint64(k32)
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
	for i := range b {
		b[i] ^= k[i&3]
	}
}
