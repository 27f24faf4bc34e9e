package server

import (
	"sync"
	"time"

	"github.com/ignex/nova/internal/ws"
)

// partialTime is how long a message may take to arrive once a part of it has come.
const partialTime = 30 * time.Second

var errTooPartial = &ws.CloseError{Code: 1013, Reason: "too many unfinished messages"}

// overdue ends a connection whose message does not get complete.
type overdue struct {
	mu    sync.Mutex // guards timer against itself
	timer *time.Timer
}

// parse takes bytes of the client and counts what is left unfinished.
func (c *conn) parse(b []byte) error {
	before := c.parser.Held()
	err := c.parser.Feed(b, c)
	after := c.parser.Held()
	if before|after == 0 {
		return err
	}
	s := c.server
	sum := s.partial.Add(int64(after - before))
	if after > before && sum > s.options.MaxPartialBytes {
		c.parser.Drop()
		s.partial.Add(-int64(after))
		c.completed()
		return errTooPartial
	}
	if !c.parser.Marked() {
		c.completed()
	}
	return err
}

// incomplete is called when the reader is about to wait: a message that is unfinished
// has its time from the first wait on.
func (c *conn) incomplete() {
	if c.parser.Held() == 0 || c.parser.Marked() {
		return
	}
	c.parser.Mark()
	o := &overdue{}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.timer = time.AfterFunc(partialTime, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if c.paused.Load() { // it may be there, and is not read
			o.timer.Reset(partialTime)
			return
		}
		c.Close(1013, "message takes too long")
	})
	if c.rare == nil {
		c.rare = &rare{}
	}
	c.rare.overdue = o
}

// completed ends what incomplete began.
func (c *conn) completed() {
	if c.rare == nil || c.rare.overdue == nil {
		return
	}
	c.rare.overdue.timer.Stop()
	c.rare.overdue = nil
}

// endPartial gives up what is unfinished, at the end of the connection.
func (c *conn) endPartial() {
	c.server.partial.Add(-int64(c.parser.Held()))
	c.parser.Drop()
	c.completed()
}
