package hub

import (
	"math/bits"
	"sync/atomic"
)

// depthBuckets have the upper bounds 1, 2, 4 … 4096; the last has none.
const depthBuckets = 14

// Depth is a histogram of numbers of frames. Bucket i counts those up to
// DepthBound(i), each alone, not summed up.
type Depth struct {
	Buckets [depthBuckets]uint64
	Sum     uint64
	Count   uint64
}

// DepthBound returns the upper bound of bucket i of a Depth; the last has none.
func DepthBound(i int) uint64 { return 1 << i }

// depth is one shard's part of a Depth: sessions of several do not share its
// memory.
type depth struct {
	buckets [depthBuckets]atomic.Uint64
	sum     atomic.Uint64
}

func (d *depth) observe(frames uint64) {
	if frames == 0 {
		return // control frames alone
	}
	d.buckets[min(bits.Len64(frames-1), depthBuckets-1)].Add(1)
	d.sum.Add(frames)
}

func (d *depth) addTo(sum *Depth) {
	for i := range d.buckets {
		n := d.buckets[i].Load()
		sum.Buckets[i] += n
		sum.Count += n
	}
	sum.Sum += d.sum.Load()
}
