package filelog

import "sort"

// topic is what is known of one topic; the log's mutex guards it.
//
//	lost, every indexed offset ≤ head ≤ next; next ≤ reserved
//
// head is the last offset that was written and may be seen, next the last one
// that was given to a batch, or burned by a batch that failed: those bytes may be
// on the disk, so the offset never names others.
type topic struct {
	number   uint64 // in the files
	name     string
	epoch    string
	next     uint64
	head     uint64
	lost     uint64
	reserved uint64

	announced bool // a topic record is in a batch or a segment
	defined   bool // … and written: the topic can be seen
	pending   int  // frames staged, not yet written
	seen      bool // named by the state being loaded
	chunks    []chunk
}

// chunk is the index of one topic in one segment: positions of frames whose
// offsets follow each other without a hole.
type chunk struct {
	segment *segment
	first   uint64
	at      []uint32
}

func (c *chunk) end() uint64 { return c.first + uint64(len(c.at)) } // behind the last

// blockEnd returns the last offset of the block that offset lies in.
func (o *Options) blockEnd(offset uint64) uint64 {
	return (offset + o.block - 1) / o.block * o.block
}

// add indexes a frame and moves head.
func (t *topic) add(s *segment, offset uint64, at int64) {
	if n := len(t.chunks); n > 0 && t.chunks[n-1].segment == s && t.chunks[n-1].end() == offset {
		t.chunks[n-1].at = append(t.chunks[n-1].at, uint32(at))
	} else {
		t.chunks = append(t.chunks, chunk{segment: s, first: offset, at: []uint32{uint32(at)}})
	}
	s.frames++
	t.head = offset
}

// dropBefore forgets what lies in segments with a lower number and returns how
// many frames that were.
func (t *topic) dropBefore(number uint64) (frames int) {
	n := 0
	for ; n < len(t.chunks) && t.chunks[n].segment.number < number; n++ {
		frames += len(t.chunks[n].at)
		t.lost = max(t.lost, t.chunks[n].end()-1)
	}
	clear(t.chunks[:n])
	t.chunks = t.chunks[n:]
	return frames
}

// dropThrough forgets every frame up to offset, which cannot be read.
func (t *topic) dropThrough(offset uint64) (frames int) {
	for len(t.chunks) > 0 && t.chunks[0].first <= offset {
		c := &t.chunks[0]
		n := int(min(offset+1-c.first, uint64(len(c.at))))
		frames += n
		c.segment.frames -= n
		c.first += uint64(n)
		c.at = c.at[n:]
		if len(c.at) > 0 {
			break
		}
		t.chunks = t.chunks[1:]
	}
	t.lost = max(t.lost, offset)
	return frames
}

// jump moves to the next block of offsets after an unclean end. missing: frames
// that were delivered may be gone.
func (t *topic) jump(missing bool) {
	t.head, t.next = t.reserved, t.reserved
	if missing {
		t.lost = t.reserved
	}
}

// place is where one frame lies.
type place struct {
	segment *segment
	offset  uint64
	at      int64
}

// places returns at most limit frames behind after, in order.
func (t *topic) places(after uint64, limit int) []place {
	i := sort.Search(len(t.chunks), func(i int) bool { return t.chunks[i].end()-1 > after })
	var found []place
	for ; i < len(t.chunks) && len(found) < limit; i++ {
		c := &t.chunks[i]
		n := 0
		if after >= c.first {
			n = int(after - c.first + 1)
		}
		for ; n < len(c.at) && len(found) < limit; n++ {
			found = append(found, place{segment: c.segment, offset: c.first + uint64(n), at: int64(c.at[n])})
		}
	}
	return found
}
