package load

import "math/bits"

// histogram counts times in buckets less than 2 % wide.
type histogram struct {
	buckets [64 << subBits]uint32
	total   uint64
}

const subBits = 6

func (h *histogram) add(nanos int64) {
	v := uint64(max(nanos, 1)) | 1<<subBits
	shift := bits.Len64(v) - 1 - subBits
	h.buckets[shift<<subBits+int(v>>shift)-(1<<subBits)]++
	h.total++
}

// quantile returns seconds.
func (h *histogram) quantile(q float64) float64 {
	rank := uint64(q * float64(h.total))
	var seen uint64
	for i, n := range h.buckets {
		if seen += uint64(n); n > 0 && seen > rank {
			shift := i >> subBits
			return float64(uint64(i&(1<<subBits-1)+1<<subBits)<<shift) / 1e9
		}
	}
	return 0
}
