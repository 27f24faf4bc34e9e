package server

import (
	"errors"
	"sync"

	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/internal/ws"
)

// readSize is the buffer borrowed while reading.
const readSize = 16 << 10

var readBuffers = sync.Pool{New: func() any { return new([readSize]byte) }}

// errPeerClosed ends the reader after the client's close frame.
var errPeerClosed = errors.New("closed by the client")

// read is the first goroutine of a connection: it takes what came with the
// upgrade, then goes on as park or, on the ordinary path, stays.
func (c *conn) read(early []byte) {
	c.timer = c.admissionTimer()
	if len(early) > 0 && !c.feed(early) {
		c.finish()
		return
	}
	if c.raw == nil {
		c.readBlocking()
		c.finish()
		return
	}
	c.readOn(false)
}

// park waits for bytes on a stack that was never deep, and so stays at its
// smallest: of an idle connection this goroutine is the largest part. Once there
// are bytes it goes on as readOn.
func (c *conn) park() {
	if c.reader.wait(c.raw) {
		deepen(len(c.reader.buf))
		c.readOn(true)
		return
	}
	c.finish()
}

// deepen makes the stack as large as taking a frame needs, while there is next to
// nothing on it: to grow on the way costs a copy of all that is on it, twice.
//
//go:noinline
func deepen(n int) byte {
	var room [4 << 10]byte
	return room[n%len(room)]
}

// feedRead takes what was read; false ends the reader.
func (c *conn) feedRead() (due *hub.Due, ok bool) {
	defer c.reader.release()
	return c.take(c.reader.buf[:c.reader.n])
}

// readOn takes bytes as long as there are some. Then a new goroutine waits: the
// collector shrinks a grown stack only when less than a quarter is in use, which
// a waiting read is not. So it does, and at once, when this goroutine has a call to
// run: its stack is deep already. some says that there are bytes read.
func (c *conn) readOn(some bool) {
	for ok := true; ; {
		if !some {
			some, ok = c.reader.poll(c.raw)
		}
		var due *hub.Due
		if ok && some {
			due, ok = c.feedRead()
		}
		switch {
		case !ok:
			c.finish()
		case !some || due != nil:
			c.incomplete()
			go c.park()
		default:
			some = false
			continue
		}
		if due != nil {
			due.Run()
		}
		return
	}
}

func (c *conn) readBlocking() {
	buf := make([]byte, 4<<10)
	for {
		c.incomplete()
		n, err := c.net.Read(buf)
		if n > 0 && !c.feed(buf[:n]) || err != nil {
			return
		}
	}
}

// feed takes bytes of the client; false ends the reader.
func (c *conn) feed(b []byte) bool {
	due, ok := c.take(b)
	if due != nil {
		due.Go()
	}
	return ok
}

// take is feed that leaves the last call to the caller.
func (c *conn) take(b []byte) (due *hub.Due, ok bool) {
	c.seen.Store(c.server.tick.Load())
	if c.deaf {
		return nil, !c.dead.Load()
	}
	c.late()
	err := c.parse(b)
	due, failed := c.handOverLast()
	if failed != nil {
		err = failed // of what came before
	}
	if c.timer != nil && c.phase.Load() == admitted {
		c.stopTimer()
	}
	if err == nil && !c.session().Full(&c.cursor) {
		return due, !c.dead.Load()
	}
	if due != nil {
		due.Go() // what follows waits for the socket
	}
	return nil, c.settle(err)
}

// settle waits until the socket has taken enough to be read again or, with the error
// of what was read, everything; false ends the reader.
func (c *conn) settle(err error) bool {
	var end *ws.CloseError
	switch {
	case err == nil:
		c.paused.Store(true)
		c.waitUntil(func() bool { return !c.session().Full(&c.cursor) })
		c.paused.Store(false)
		c.seen.Store(c.server.tick.Load())
		return !c.dead.Load()
	case errors.As(err, &end):
		// What still comes is read and dropped until the client hangs up too, or the
		// deadline of the closing handshake passes: closing with bytes unread would
		// reset the connection and lose the close frame.
		c.Close(end.Code, end.Reason)
		c.deaf = true
		c.waitUntil(func() bool { return c.session().Drained(&c.cursor) })
		if half, ok := c.net.(interface{ CloseWrite() error }); ok {
			half.CloseWrite()
		}
		return !c.dead.Load()
	case errors.Is(err, errPeerClosed):
		c.waitUntil(func() bool { return c.session().Drained(&c.cursor) })
	}
	return false
}

// finish ends the connection and its session.
func (c *conn) finish() {
	c.stopTimer()
	c.cut()
	c.endAdmission()
	if !c.closing.Swap(true) {
		c.server.metrics.closed(1006)
	}
	code := int(c.code.Load())
	if code == 0 {
		code = 1006
	}
	c.logEnd(code)
	c.session().Lost(&c.cursor, code, c.byClient.Load())
	c.endLimit()
	c.endPartial()
	c.server.remove(c)
	c.server.wg.Done()
}

// stopTimer gives the timer of the admission up; the reader's.
func (c *conn) stopTimer() {
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
}
