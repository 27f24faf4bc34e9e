package client

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/internal/ws"
)

// maxControlQueued ends a socket that does not take its control frames: they
// are made anew for the next one.
const maxControlQueued = 4096

// queue holds what waits to be written, as masked WebSocket frames back to back,
// so that a writer takes everything in one piece. Application frames outlive a
// socket, control frames do not. It is safe for concurrent use.
type queue struct {
	limits Queue
	wake   chan struct{} // has one element when there may be something to take

	mu     sync.Mutex
	open   bool     // the server's hello came: application and control frames may go
	buf    []byte   // the frames of items
	items  []item   // in order; their sizes add up to len(buf)
	frames int      // application frames in items
	bytes  int      // of application frames
	pong   []byte   // the newest WebSocket ping not yet answered
	pinged bool     // pong is valid
	spare  [][]byte // buffers to use again, at most two
}

type item struct {
	size  int
	at    time.Time // zero: a control frame
	event string
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
// that waited too long make room before, and are returned.
func (q *queue) send(event string, frame []byte) (expired []item, err error) {
	if len(frame) > q.limits.MaxBytes {
		return nil, nova.Errorf(nova.Invalid, "event %s: frame of %d bytes is larger than the send queue (%d bytes)", event, len(frame), q.limits.MaxBytes)
	}
	now := time.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.full(len(frame)) {
		expired = q.expire(now)
	}
	if q.full(len(frame)) {
		return expired, nova.Errorf(nova.Exhausted, "event %s: send queue is full (%d frames, %d bytes)", event, q.frames, q.bytes)
	}
	q.frames++
	q.bytes += len(frame)
	q.append(frame, item{at: now, event: event})
	return expired, nil
}

func (q *queue) full(more int) bool {
	return q.frames >= q.limits.MaxFrames || q.bytes+more > q.limits.MaxBytes
}

// expire drops the application frames in front that waited too long.
func (q *queue) expire(now time.Time) (expired []item) {
	for len(q.items) > 0 {
		it := q.items[0]
		if it.at.IsZero() || now.Sub(it.at) <= q.limits.MaxAge {
			break
		}
		expired = append(expired, it)
		q.items, q.buf = q.items[1:], q.buf[it.size:]
		q.frames--
		q.bytes -= it.payload()
	}
	return expired
}

// control appends a control frame for the present socket; without one it does
// nothing. It reports false when the socket takes nothing any more.
func (q *queue) control(frame []byte) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.open {
		return true
	}
	if len(q.items)-q.frames >= maxControlQueued {
		return false
	}
	q.append(frame, item{})
	return true
}

func (q *queue) append(frame []byte, it item) {
	before := len(q.buf)
	q.buf = ws.AppendMasked(q.buf, ws.Binary, frame, newKey())
	it.size = len(q.buf) - before
	q.items = append(q.items, it)
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

// start lets frames go, first those that bring the server up to date.
func (q *queue) start(first [][]byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	buf, items := q.buf, q.items
	q.buf, q.items = nil, nil
	for _, frame := range first {
		q.append(frame, item{})
	}
	q.buf = append(q.buf, buf...)
	q.items = append(q.items, items...)
	q.open = true
	q.notify()
}

// stop ends a socket: what only it needed is forgotten, and what it was given
// but certainly did not take, which begins at unsent in batch, waits again.
func (q *queue) stop(batch []byte, items []item, unsent int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	oldBuf, oldItems := q.buf, q.items
	q.open, q.pinged = false, false
	q.buf, q.items, q.frames, q.bytes = nil, nil, 0, 0
	q.keep(batch, items, unsent)
	q.keep(oldBuf, oldItems, 0)
}

// keep appends the application frames of items that start at or after from.
func (q *queue) keep(buf []byte, items []item, from int) {
	at := 0
	for _, it := range items {
		if at >= from && !it.at.IsZero() {
			q.buf = append(q.buf, buf[at:at+it.size]...)
			q.items = append(q.items, it)
			q.frames++
			q.bytes += it.payload()
		}
		at += it.size
	}
}

// take returns all that may be written now. Frames that waited too long are
// left out and returned apart.
func (q *queue) take(now time.Time) (batch []byte, items, expired []item) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.open {
		expired = q.expire(now)
		batch, items = q.buf, q.items
		q.buf, q.items, q.frames, q.bytes = nil, nil, 0, 0
		if n := len(q.spare); n > 0 {
			q.buf, q.spare = q.spare[n-1], q.spare[:n-1]
		}
	}
	if q.pinged {
		q.pinged = false
		size := len(batch)
		batch = ws.AppendMasked(batch, ws.Pong, q.pong, newKey())
		items = append(items, item{size: len(batch) - size})
	}
	return batch, items, expired
}

// reuse takes back a buffer that take returned.
func (q *queue) reuse(batch []byte) {
	if cap(batch) == 0 || cap(batch) > 64<<10 {
		return // large ones are left to the collector: an idle client holds little
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.buf == nil {
		q.buf = batch[:0]
	} else if len(q.spare) < 2 {
		q.spare = append(q.spare, batch[:0])
	}
}

// payload returns the bytes of the frame without its WebSocket header.
func (it item) payload() int {
	for _, header := range []int{6, 8, 14} {
		if n := it.size - header; ws.HeaderSize(n)+4 == header {
			return n
		}
	}
	return it.size
}

// newKey returns a masking key. The generator is seeded by the system and
// strong, as RFC 6455, section 10.3, wants it.
func newKey() [4]byte {
	k := rand.Uint32()
	return [4]byte{byte(k), byte(k >> 8), byte(k >> 16), byte(k >> 24)}
}
