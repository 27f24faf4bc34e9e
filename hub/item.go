package hub

import "github.com/ignex/nova/session"

type itemKind uint8

const (
	itemPublish itemKind = iota // to all of a room
	itemDirect                  // to one session
	itemJoin                    // into a room, after batches
	itemLeave
	itemLeft     // leave, and what is queued of the room is written all the same
	itemWithdraw // leave, and what is queued of the room is not written any more
	itemFlush    // control frames wait
	itemBarrier  // done is called when everything before has been handed on
	itemTell     // a frame of the protocol to those members who know positions
)

// item is one entry of a shard's inbox.
type item struct {
	kind    itemKind
	room    *room
	member  *membership // of direct, join, leave
	except  string
	frame   session.Frame    // of publish, and of direct without batches
	batches []*session.Batch // of direct and join: what the session gets
	done    func(n uint64)   // of direct: called with the last number given; of flush: queues what waits
}

// The memory of an item besides its frame, on a 64-bit machine.
const (
	itemCost = 192
	joinCost = 1 << 10 // of a join besides: the room may be gone when its turn comes
	copyCost = 128     // of a frame of a history, whose bytes that counts
)

// weight returns the bytes of memory that the item takes.
func (it *item) weight() int {
	n := itemCost + it.frame.Size()
	if it.kind == itemJoin {
		n += joinCost
	}
	for _, b := range it.batches {
		n += itemCost + b.Len()*copyCost
	}
	return n
}

// alike returns how many items from the first on go to the same receivers.
func alike(items []item) int {
	first, n, bytes := &items[0], 1, items[0].frame.Size()
	for n < len(items) && n < session.MaxBatch {
		it := &items[n]
		bytes += it.frame.Size()
		if it.kind != itemPublish || it.room != first.room || it.except != first.except || bytes > batchBytes {
			break
		}
		n++
	}
	return n
}
