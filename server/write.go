package server

import (
	"sync"
	"time"
)

// writeSize is the most one write takes. A small write costs about as much as
// one of this size.
const writeSize = 64 << 10

// writer is what a write needs, borrowed for its duration.
type writer struct {
	buf [writeSize]byte
}

var writers = sync.Pool{New: func() any { return new(writer) }}

// Flush implements hub.Peer: one non-blocking write of what is queued, as often
// as the socket takes all of it. What it does not take is left to a flusher.
func (c *conn) Flush() {
	if c.raw == nil {
		c.flushBlocking()
		return
	}
	if !c.fd.use() {
		return
	}
	defer c.unuse()
	w := writers.Get().(*writer)
	defer writers.Put(w)
	c.write(w.buf[:0], c.session().Begin(&c.cursor, w.buf[:0]))
}

// write writes b, which lies in room, nil = nothing, and what comes after it, as long
// as the socket takes all of it.
func (c *conn) write(room, b []byte) {
	for b != nil {
		shared := c.cursor.Shared()
		n, err := writeFD(c.fd.number, b, shared)
		of := len(b) + len(shared)
		if n > 0 {
			c.took(n)
		}
		if !c.sent(n, of, err) {
			return
		}
		b = c.session().Next(&c.cursor, n, of, room)
	}
	c.wake()
}

// sent notes what the socket took of a write. It reports whether that was all, and
// Next has to follow; otherwise it has seen to the rest.
func (c *conn) sent(n, of int, err error) bool {
	if n == of && err == nil {
		return true
	}
	c.session().Wrote(&c.cursor, n, of)
	if err != nil {
		c.cut() // the write flag stays: nobody writes to a dead socket
		return false
	}
	c.beginFlushing()
	c.server.spawn(c.flusher)
	return false
}

// took counts bytes the socket accepted.
func (c *conn) took(n int) {
	c.server.metrics.sentBytes.Add(uint64(n))
	c.moved()
}

func (c *conn) moved() { c.progress.Store(c.server.tick.Load()) }

// beginFlushing counts a flusher in. Its time to make progress begins now: the socket
// may have been idle for long.
func (c *conn) beginFlushing() {
	c.progress.Store(c.server.tick.Load())
	c.flushing.Add(1)
}

// flusher writes the rest to a socket that took less than it was offered. While
// it waits it holds no buffer, only its place in the queue.
func (c *conn) flusher() {
	err := c.waitWritable(func(try func(b, shared []byte) (int, error)) (done bool) {
		w := writers.Get().(*writer)
		defer writers.Put(w)
		for b := c.session().Next(&c.cursor, 0, 0, w.buf[:0]); b != nil; {
			shared := c.cursor.Shared()
			of := len(b) + len(shared)
			n, err := try(b, shared)
			if n > 0 {
				c.took(n)
				c.wake()
			}
			if err != nil || n == 0 {
				c.session().Wrote(&c.cursor, n, of)
				return err != nil
			}
			b = c.session().Next(&c.cursor, n, of, w.buf[:0])
		}
		return true
	})
	c.flushing.Add(-1)
	if err != nil {
		c.cut()
	}
	c.wake()
}

// stalledAfter is how long a blocking write takes when its socket was full: much
// longer than to encrypt and copy writeSize.
const stalledAfter = 5 * time.Millisecond

// flushBlocking writes to a connection that can make no non-blocking write: at once
// where the socket has room for it, otherwise from a goroutine of its own.
func (c *conn) flushBlocking() {
	w := writers.Get().(*writer)
	b := c.session().Begin(&c.cursor, w.buf[:0])
	if b == nil {
		writers.Put(w)
		return
	}
	c.beginFlushing()
	if c.ready(b) {
		b = c.writeRest(w, b, c.ready)
	}
	if b == nil {
		c.flushing.Add(-1)
		writers.Put(w)
		return
	}
	c.server.spawn(func() {
		c.writeRest(w, b, func([]byte) bool { return true })
		c.flushing.Add(-1)
		writers.Put(w)
	})
}

// writeRest writes b and what comes after it, as long as again says so. It returns
// what it left to write, nil when there is nothing or the connection is dead.
func (c *conn) writeRest(w *writer, b []byte, again func([]byte) bool) []byte {
	for {
		began := time.Now()
		n, err := c.net.Write(b)
		if n > 0 {
			c.took(n)
		}
		if err != nil {
			c.session().Wrote(&c.cursor, n, len(b))
			c.cut()
			return nil
		}
		if time.Since(began) >= stalledAfter { // it waited for the reader
			c.session().Conflate(&c.cursor)
		}
		b = c.session().Next(&c.cursor, n, n, w.buf[:0])
		c.wake()
		if b == nil || !again(b) {
			return b
		}
	}
}

// writeOverhead is more than a write takes of a socket's room beside its bytes: what the
// kernel keeps for a packet, and header and tag of each record of TLS.
const writeOverhead = 2560

// ready reports whether the socket below TLS takes b without waiting. It asks the socket
// once for readyBytes: what was written since is known, and the room only grows by itself.
func (c *conn) ready(b []byte) bool {
	needs := len(b) + writeOverhead
	if !c.secure || len(b) > readyBytes {
		c.room = 0
		return false
	}
	if int(c.room) < needs {
		c.room = 0
		if !c.fd.use() {
			return false
		}
		defer c.unuse()
		if !writable(c.fd.number) {
			return false
		}
		c.room = readyBytes
	}
	c.room -= min(c.room, uint16(needs))
	return true
}
