package session

import "slices"

// Repack has the queue let go of batches that it keeps alive for a few of their
// frames, between others that were dropped: the few get a batch of their own. What
// many queues hold stays, as copies for all of them would take more. It is called
// whenever another queue's worth of frames was dropped, and is worth calling when
// memory is short.
func (q *Queue) Repack() {
	for i := 0; i < q.ring.n; {
		if q.ring.at(i).batch == nil {
			i++
			continue
		}
		i = q.ring.repack(i)
	}
}

// repack looks at the runs of one batch from run i on, with the holes between them,
// and returns the index behind them.
func (q *ring) repack(i int) (end int) {
	b := q.at(i).batch
	runs, frames, live := 0, 0, batchCost
	for k := i; k < q.n; k++ {
		r := q.at(k)
		if r.batch == nil {
			continue
		}
		if r.batch != b {
			break
		}
		end = k + 1
		runs++
		frames += int(r.count)
		live += r.bytes(0, int(r.count)) + int(r.count)*frameCost
	}
	others := max(int(b.refs.Load())-runs, 0)
	if q.held == nil || b.weight/2 <= live*(1+others) {
		return end
	}
	list := make([]Frame, 0, frames)
	for k := i; k < end; k++ {
		if r := q.at(k); r.batch == b {
			list = append(list, b.frames[r.first:r.first+r.count]...)
		}
	}
	if b.laid != nil {
		for k := range list {
			list[k].data = slices.Clone(list[k].data)
		}
	}
	few, first := NewBatch(list), uint32(0)
	few.own = b.own // by that its frames were counted
	for k := i; k < end; k++ {
		if r := q.at(k); r.batch == b {
			r.batch, r.first = few, first
			first += r.count
		}
	}
	few.hold(q.held, int32(runs))
	b.hold(q.held, int32(-runs))
	return end
}
