package load

import (
	"errors"
	"fmt"
	"os"
)

// start makes the goroutines of the readers, once.
func (e *readers) start() {
	if e.started {
		return
	}
	e.started = true
	for _, c := range e.run.conns {
		e.wg.Go(func() { e.read(c) })
	}
}

func (e *readers) read(c *conn) {
	buf := make([]byte, 16<<10)
	for {
		n, err := c.tls.Read(buf)
		e.mu.Lock()
		if n > 0 {
			e.run.received(c, buf[:n])
			e.advance()
		}
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) && e.run.err == nil {
			e.run.err = fmt.Errorf("a connection ended: %w", err)
			e.advance()
		}
		e.mu.Unlock()
		if err != nil {
			return
		}
	}
}
