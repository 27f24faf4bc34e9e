package hub

import "github.com/ignex/nova/session"

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

const (
	manySockets = 8   // from which on the frames of a batch lie side by side
	smallTarget = 256 // receivers up to which a target goes first
)

// publish queues frames that go to the same receivers. alone says that the loop
// has nothing else to do: then each receiver is written to at once, while its
// state is still in the processor's cache, until something else comes.
func (sh *shard) publish(items []item, alone bool) {
	list := items[0].room.shards[sh.index].list
	if len(list) == 0 {
		return
	}
	frames := make([]session.Frame, len(items))
	for i := range items {
		frames[i] = items[i].frame
	}
	batch := session.NewBatch(frames)
	if len(list) >= manySockets {
		batch.Lay()
	}
	batch.Hold(&sh.hub.held)
	defer batch.Release(&sh.hub.held)
	small := len(list) <= smallTarget
	except := items[0].except
	for i, m := range list {
		if alone && i%fetchAhead == 0 {
			near(list[i:min(i+fetchAhead, len(list))])
		}
		if except != "" && m.session.id == except {
			continue
		}
		if !alone {
			sh.push(m.session, batch, small)
			continue
		}
		if peer := sh.append(m.session, batch); peer != nil {
			peer.Flush()
			sh.wrote = true
		}
		if i%writesATurn == writesATurn-1 && sh.waiting() {
			alone = false
		}
	}
}

// fetchAhead is how many receivers are fetched from memory side by side. Between
// two of them comes a system call, which would let each wait for its own.
const fetchAhead = 8

// near brings the state of some members into the processor's cache.
func near(list []member) {
	var cursors [fetchAhead]*session.Cursor
	for i := range list {
		cursors[i] = list[i].session.owner.Load()
	}
	for _, c := range cursors {
		if c != nil {
			c.Near()
		}
	}
}
