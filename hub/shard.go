package hub

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/internal/netturn"
	"github.com/ignex/nova/session"
)

// The bounds of one turn of the loop.
const (
	batchBytes  = 256 << 10 // a receiver that keeps one frame keeps its batch alive
	writesATurn = 256
	manySockets = 8
	atOnce      = 64 // sockets that are written to together
	heavyFrames = 8  // what carries as many to many receivers is interrupted rarely, see heavy
	heavyWrites = 1024
	smallTarget = 256  // receivers up to which a target goes first
	spareItems  = 4096 // entries whose memory is used again
	idleItems   = 256  // likewise, while nothing comes
)

// shard serves a share of the sessions with one goroutine, which alone moves
// frames into their queues.
type shard struct {
	hub     *Hub
	index   int
	queued  depth // unsent frames of its sessions, whenever one begins to write
	flushed depth // frames in each of their writes

	mu      sync.Mutex
	pending []item
	bytes   atomic.Int64  // of memory pending; changes under mu
	space   chan struct{} // closed when bytes shrink; nil = nobody waits
	stopped bool
	since   time.Time     // of the oldest entry pending
	wake    chan struct{} // capacity 1
	taken   atomic.Bool   // entries are on their way to queues; set under mu

	// the loop's
	spare  []item
	small  []*Session
	large  []*Session
	peers  []Peer // to flush together, see together
	busy   busyness
	turn   netturn.Turn
	heavy  bool // what came last carries many frames to many: what comes meanwhile is to go along with the next
	writes int  // sockets written to since the network had a turn
	sum    int  // see near
	wrote  bool // in this turn
	crowd  bool // something came while there was still to be written
}

func newShard(h *Hub, index int) *shard {
	return &shard{hub: h, index: index, wake: make(chan struct{}, 1)}
}

// put appends to the inbox. What it carries is bounded by waitSpace before.
func (sh *shard) put(it item) {
	sh.mu.Lock()
	wake := len(sh.pending) == 0
	if wake {
		sh.since = time.Now()
	}
	sh.pending = append(sh.pending, it)
	sh.bytes.Add(int64(it.weight()))
	sh.mu.Unlock()
	if wake {
		sh.signal()
	}
}

func (sh *shard) signal() {
	select {
	case sh.wake <- struct{}{}:
	default:
	}
}

// waitSpace waits until the inbox has room for another publish.
func (sh *shard) waitSpace(ctx context.Context, wait bool) error {
	most := int64(sh.hub.inboxBytes)
	for sh.bytes.Load() >= most {
		sh.mu.Lock()
		if sh.bytes.Load() < most || sh.stopped {
			sh.mu.Unlock()
			return nil
		}
		if !wait {
			sh.mu.Unlock()
			return nova.Errorf(nova.Exhausted, "%d bytes wait to be handed to clients", sh.hub.inboxBytes)
		}
		if sh.space == nil {
			sh.space = make(chan struct{})
		}
		space := sh.space
		sh.mu.Unlock()
		select {
		case <-space:
		case <-ctx.Done():
			return nova.Errorf(nova.CodeOf(ctx.Err()), "waiting for room to publish: %w", ctx.Err())
		}
	}
	return nil
}

// barrier waits until all that is in the inbox now is in the sessions' queues.
func (sh *shard) barrier(ctx context.Context) {
	reached := make(chan struct{})
	sh.put(item{kind: itemBarrier, done: func(uint64) { close(reached) }})
	select {
	case <-reached:
	case <-ctx.Done():
	}
}

func (sh *shard) stop() {
	sh.mu.Lock()
	sh.stopped = true
	sh.mu.Unlock()
	sh.signal()
}

// run is the loop: the whole inbox into queues, some writes, the inbox again.
func (sh *shard) run() {
	defer sh.hub.wg.Done()
	defer sh.turn.Close()
	for {
		items, since, stopped := sh.take()
		if len(items) == 0 && !sh.dirty() {
			if stopped {
				return
			}
			if cap(sh.spare) > idleItems {
				sh.spare = nil
			}
			sh.writes = 0
			sh.busy.idle(func() { <-sh.wake })
			if sh.busy.loaded() {
				sh.gather()
			}
			continue
		}
		sh.wrote, sh.crowd = false, sh.crowd || len(items) > 0 && sh.dirty()
		sh.heavy = sh.heavy && len(items) == 0
		sh.distribute(items)
		sh.taken.Store(false)
		if sh.hub.held.Load() > int64(sh.hub.options.Session.TotalBytes) {
			sh.hub.wakeJanitor()
		}
		clear(items)
		sh.spare = items[:0]
		if sh.dirty() {
			sh.flush(sh.stride())
		}
		if sh.wrote && !since.IsZero() {
			sh.hub.metrics.latency.observe(time.Since(since))
		}
		if !sh.dirty() && !stopped && (sh.crowd || sh.waiting()) {
			sh.crowd = false
			sh.busy.pause()
		}
	}
}

// gather waits as long as more comes: a publisher on another processor is in the midst
// of several.
func (sh *shard) gather() {
	for had := 0; ; sh.turn.Yield() {
		sh.mu.Lock()
		n := len(sh.pending)
		sh.mu.Unlock()
		if n == had || n >= atOnce {
			return
		}
		had = n
	}
}

func (sh *shard) dirty() bool { return len(sh.small) > 0 || len(sh.large) > 0 }

// take returns everything pending and makes room for publishers.
func (sh *shard) take() (items []item, since time.Time, stopped bool) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if items = sh.pending; len(items) == 0 {
		if cap(items) > idleItems {
			sh.pending = nil
		}
		return nil, time.Time{}, sh.stopped
	}
	if cap(sh.spare) > spareItems && cap(sh.spare) > 8*len(items) {
		sh.spare = nil // one burst must not hold memory for ever
	}
	sh.taken.Store(true)
	sh.pending, sh.spare = sh.spare[:0], nil
	sh.bytes.Store(0)
	if sh.space != nil {
		close(sh.space)
		sh.space = nil
	}
	return items, sh.since, sh.stopped
}

// distribute moves items into queues, in order.
func (sh *shard) distribute(items []item) {
	for i := 0; i < len(items); {
		it := &items[i]
		n := 1
		switch it.kind {
		case itemPublish:
			n = alike(items[i:])
			sh.publish(items[i:i+n], n == len(items) && !sh.dirty())
		case itemDirect:
			sh.direct(it)
		case itemJoin:
			for _, b := range it.batches {
				sh.push(it.member.session, b, true)
			}
			it.member.session.expect(it.batches, -1)
			it.room.add(sh.index, it.member)
		case itemFlush:
			if it.done != nil {
				it.done(0)
			}
			sh.mark(it.member.session, true)
		case itemBarrier:
			it.done(0)
		case itemTell:
			batch := session.NewBatch([]session.Frame{it.frame})
			for _, m := range it.room.shards[sh.index].list {
				if m.session.positions() {
					sh.push(m.session, batch, true)
				}
			}
		case itemLeave:
			it.room.remove(sh.index, it.member)
		case itemWithdraw:
			it.room.remove(sh.index, it.member)
			sh.withdraw(it.member.session, it.room.id)
			it.member.session.leaving.Add(-1)
		case itemLeft:
			it.room.remove(sh.index, it.member)
			it.member.session.noteLeft(it.room.id)
		}
		i += n
	}
}

// publish queues frames that go to the same receivers. alone says that the loop
// has nothing else to do: then receivers are written to at once, while their
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
	heavy := !small && len(items) >= heavyFrames
	sh.heavy = sh.heavy || heavy
	except := items[0].except
	for i, m := range list {
		if alone && i%fetchAhead == 0 {
			sh.near(list[i:min(i+fetchAhead, len(list))])
		}
		if except != "" && m.session.id == except {
			continue
		}
		if !alone {
			sh.push(m.session, batch, small)
			continue
		}
		sh.together(sh.append(m.session, batch))
		if i%atOnce == atOnce-1 && (!heavy || i >= heavyWrites) && sh.waiting() {
			alone = false
		}
	}
	sh.write()
}

// waiting reports whether something came into the inbox.
func (sh *shard) waiting() bool {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return len(sh.pending) > 0
}

func (sh *shard) direct(it *item) {
	if it.batches == nil {
		sh.push(it.member.session, session.NewBatch([]session.Frame{it.frame}), true)
	}
	for _, b := range it.batches {
		sh.push(it.member.session, b, true)
	}
	if it.done != nil {
		it.done(it.member.session.lastNumber())
	}
}

// push queues a batch at one session and notes that it wants to be flushed.
func (sh *shard) push(s *Session, batch *session.Batch, small bool) {
	if sh.append(s, batch) != nil {
		sh.mark(s, small)
	}
}

// append queues a batch at one session and returns the socket that can write it.
func (sh *shard) append(s *Session, batch *session.Batch) Peer {
	s.mu.Lock()
	s.queue.SetKeep(int(sh.hub.keepFrames.Load()))
	dropped := s.queue.Append(batch, 0, batch.Len())
	broken := false
	if dropped > 0 {
		broken = s.queue.Broken()
		s.fed()
	}
	peer := s.peer
	pressed := s.cross()
	s.mu.Unlock()
	if pressed {
		s.tellPressure()
	}
	if dropped > 0 {
		sh.hub.metrics.dropped.Add(uint64(dropped))
		if broken {
			sh.hub.metrics.slow.Add(1)
			s.giveUp(peer != nil)
			return nil
		}
	}
	return peer
}

func (sh *shard) withdraw(s *Session, target uint64) {
	s.mu.Lock()
	n := s.queue.Withdraw(target)
	s.fed()
	pressed := s.cross()
	s.mu.Unlock()
	if pressed {
		s.tellPressure()
	}
	if n > 0 {
		sh.mark(s, true)
	}
}
