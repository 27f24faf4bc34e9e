package client

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/wire"
)

// maxControlQueued ends a socket that does not take its control frames: they
// are made anew for the next one.
const maxControlQueued = 4096

// Small buffers are used again; large ones are left to the collector, so that an
// idle client holds little.
const (
	maxSpareFrames = 32
	maxSpareFrame  = 512
	maxSpareBatch  = 64 << 10
	maxSpareItems  = 64
)

// queue holds what waits to be written, and, while the server has sessions, what
// was written and has not been acknowledged. Application frames outlive a
// socket, control frames do not. It is safe for concurrent use.
//
//	kept: numbered, given to a socket ≤ waiting: [numbered, to be repeated] [not numbered]
type queue struct {
	limits Queue
	wake   chan struct{} // has one element when there may be something to take

	mu       sync.Mutex
	open     bool   // the server is ready: application and control frames may go
	numbered bool   // and acknowledges them: they are numbered and kept
	given    uint64 // last number given in this session
	largest  int    // longest frame the server takes, as it said last; 0 = any
	pace     pace
	shape    shape
	ended    error // why nothing is taken any more

	waiting  []item
	kept     []item
	frames   int   // application frames in both
	bytes    int   // and their bytes
	controls int   // control frames in waiting
	last     int64 // id of the last application frame
	waiters  []*waiter
	noCalls  bool // the server at the other end takes none
	calls    map[int64]*pending
	lastCall int64 // id given

	head   []byte   // goes first, open or not
	pong   []byte   // the newest WebSocket ping not yet answered
	pinged bool     // pong is valid
	spare  [][]byte // batch buffers to use again, at most two
	small  [][]byte // frame buffers to use again
}

// item is a frame. An application frame has an id.
type item struct {
	frame    []byte
	id       int64 // in the order of sends, 0 = a control frame
	at       time.Time
	event    string
	seq      uint64 // its number in the session, 0 = none yet
	tried    bool   // a socket may have taken it
	answered bool   // its sender waits for the outcome
	size     int    // in the batch it was taken with
	call     *pending
}

func newQueue(limits Queue) *queue {
	return &queue{limits: limits, wake: make(chan struct{}, 1)}
}

func (q *queue) notify() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// send appends an application frame. It refuses when the queue is full; frames
// that waited too long make room before, and are returned. With answered the
// waiter's end tells what became of the frame.
func (q *queue) send(event string, frame []byte, answered bool) (w *waiter, expired []item, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	expired, err = q.add(item{frame: frame, event: event, answered: answered})
	if answered && err == nil {
		w = q.wait(q.last, q.last, 1, true)
	}
	return w, expired, err
}

// add appends a copy of an application frame or call. mu is held.
func (q *queue) add(it item) (expired []item, err error) {
	event, frame := it.event, it.frame
	if len(frame) > q.limits.MaxBytes {
		return nil, nova.Errorf(nova.Invalid, "event %s: frame of %d bytes is larger than the send queue (%d bytes)", event, len(frame), q.limits.MaxBytes)
	}
	now := time.Now()
	if q.ended != nil {
		return nil, q.ended
	}
	if q.largest > 0 && len(frame) > q.largest {
		return nil, errTooLarge(event, len(frame), q.largest)
	}
	if q.full(len(frame)) {
		expired = q.expire(now)
	}
	if q.full(len(frame)) {
		return expired, nova.Errorf(nova.Exhausted, "event %s: send queue is full (%d frames, %d bytes)", event, q.frames, q.bytes)
	}
	q.last++
	q.frames++
	q.bytes += len(frame)
	it.frame, it.id, it.at = append(q.buffer(), frame...), q.last, now
	q.append(it)
	return expired, nil
}

func (q *queue) full(more int) bool {
	return q.frames >= q.limits.MaxFrames || q.bytes+more > q.limits.MaxBytes
}

// expire drops the application frames that waited too long and that no socket
// has been given.
func (q *queue) expire(now time.Time) (expired []item) {
	fresh := func(it item) bool { return it.id != 0 && it.seq == 0 }
	oldest := slices.IndexFunc(q.waiting, fresh)
	if oldest < 0 || now.Sub(q.waiting[oldest].at) <= q.limits.MaxAge {
		return nil
	}
	kept := q.waiting[:0]
	for _, it := range q.waiting {
		if fresh(it) && now.Sub(it.at) > q.limits.MaxAge {
			expired = append(expired, it)
			q.drop(it, nova.Errorf(nova.DeadlineExceeded, "event %s waited more than %v to be sent and was dropped", it.event, q.limits.MaxAge))
		} else {
			kept = append(kept, it)
		}
	}
	clear(q.waiting[len(kept):])
	q.waiting = kept
	return expired
}

// sweep is expire for who holds no lock.
func (q *queue) sweep(now time.Time) (expired []item) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.expire(now)
}

// drop takes an application frame that is in no list any more out of the counts,
// and tells who waits for it.
func (q *queue) drop(it item, outcome error) {
	q.frames--
	q.bytes -= len(it.frame)
	if it.call != nil && outcome != nil && outcome != errNoAck {
		q.settleCall(it.call, nil, outcome)
	}
	q.settle(it.id, outcome)
}

// control appends a control frame for the present socket; without one it does
// nothing. It reports false when the socket takes nothing any more.
func (q *queue) control(frame []byte) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.open {
		return true
	}
	if q.controls >= maxControlQueued {
		return false
	}
	q.controls++
	q.append(item{frame: frame})
	return true
}

func (q *queue) append(it item) {
	q.waiting = append(q.waiting, it)
	if q.open {
		q.notify()
	}
}

// ping notes a WebSocket ping. Only the newest is answered.
func (q *queue) ping(payload []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.pong, q.pinged = append(q.pong[:0], payload...), true
	q.notify()
}

// ahead lets one control frame go before the start.
func (q *queue) ahead(frame []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.head = ws.AppendMasked(q.head, ws.Binary, frame, newKey())
	q.notify()
}

// start lets frames go, first those that bring the server up to date.
func (q *queue) start(first [][]byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	items := make([]item, 0, len(first)+len(q.waiting))
	for _, frame := range first {
		items = append(items, item{frame: frame})
	}
	q.controls += len(first)
	q.waiting = append(items, q.waiting...)
	q.open = true
	q.notify()
}

// stop ends a socket: what only it needed is forgotten, and what it was given
// but certainly did not take, which begins at unsent in the batch of items,
// counts as not given.
func (q *queue) stop(items []item, unsent int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	opened := q.open
	q.open, q.noCalls, q.pinged, q.head, q.controls = false, false, false, nil, 0
	q.pace, q.shape = pace{}, shape{}
	q.waiting = slices.DeleteFunc(q.waiting, func(it item) bool { return it.id == 0 })
	var again []item
	at := 0
	for _, it := range items {
		mine := it.id != 0
		switch whole := at >= unsent; {
		case mine && it.seq == 0 && whole:
			again = append(again, it.untried())
		case mine && it.seq == 0:
			q.drop(it, errMaybe(it))
		case mine && whole && !it.tried:
			q.untry(it.seq)
		}
		at += it.size
	}
	// What was to be repeated and was not is kept as before.
	n := 0
	for n < len(q.waiting) && q.waiting[n].seq != 0 {
		n++
	}
	q.kept = append(q.kept, q.waiting[:n]...)
	q.waiting = append(again, q.waiting[n:]...)
	if opened {
		q.failCalls(errCut)
	}
}

func (q *queue) untry(seq uint64) {
	if i := slices.IndexFunc(q.kept, func(it item) bool { return it.seq == seq }); i >= 0 {
		q.kept[i] = q.kept[i].untried()
	}
}

// take returns all that may be written now, and how long to wait before there is
// more. Frames that waited too long are left out and returned apart.
func (q *queue) take(now time.Time) (batch []byte, items, expired []item, wait time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n := len(q.spare); n > 0 && (q.open && len(q.waiting) > 0 || q.pinged || len(q.head) > 0) {
		batch, q.spare = q.spare[n-1], q.spare[:n-1]
	}
	batch = append(batch, q.head...)
	if size := len(q.head); size > 0 {
		items = append(items, item{size: size})
	}
	q.head = nil
	if q.open {
		expired = q.expire(now)
		n := 0
		for ; n < len(q.waiting); n++ {
			if wait = q.pace.take(now); wait > 0 {
				break
			}
		}
		batch, items = q.giveAll(batch, items, q.waiting[:n])
		clear(q.waiting[:n])
		if n < len(q.waiting) || cap(q.waiting) > maxSpareItems {
			q.waiting = q.waiting[n:]
		} else {
			q.waiting = q.waiting[:0]
		}
	}
	if q.pinged {
		q.pinged = false
		size := len(batch)
		batch = ws.AppendMasked(batch, ws.Pong, q.pong, newKey())
		items = append(items, item{size: len(batch) - size})
	}
	return batch, items, expired, wait
}

// wrote takes back what take returned, once it is written.
func (q *queue) wrote(batch []byte, items []item) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, it := range items {
		if it.id != 0 && it.seq == 0 {
			q.drop(it, errNoAck)
			q.recycle(it.frame)
		}
	}
	if n := cap(batch); n > 0 && n <= maxSpareBatch && len(q.spare) < 2 {
		q.spare = append(q.spare, batch[:0])
	}
}

func (q *queue) buffer() []byte {
	n := len(q.small)
	if n == 0 {
		return nil
	}
	b := q.small[n-1]
	q.small = q.small[:n-1]
	return b
}

func (q *queue) recycle(frame []byte) {
	if cap(frame) <= maxSpareFrame && len(q.small) < maxSpareFrames {
		q.small = append(q.small, frame[:0])
	}
}

// stamp writes the number of a frame, or that it has none, into its envelope
// (docs/protocol.md, "One frame").
func stamp(frame []byte, seq uint64) {
	const offFlags, offSeq = 5, 6
	if len(frame) < wire.HeaderLen {
		return
	}
	if seq != 0 {
		wire.Stamp(frame, seq)
		return
	}
	frame[offFlags] &^= 1
	binary.LittleEndian.PutUint64(frame[offSeq:], 0)
}

// newKey returns a masking key. The generator is seeded by the system and
// strong, as RFC 6455, section 10.3, wants it.
func newKey() [4]byte {
	k := rand.Uint32()
	return [4]byte{byte(k), byte(k >> 8), byte(k >> 16), byte(k >> 24)}
}
