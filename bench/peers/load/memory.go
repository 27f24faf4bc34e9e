package load

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// memory measures Idle and Growth: before is the resident memory without any
// connection.
func (r *run) memory(before float64) (Result, error) {
	e, err := newEngine(r)
	if err != nil {
		return Result{}, err
	}
	defer e.close()
	if r.spec.Kind == Idle {
		if err := r.exactly(e, int64(r.spec.Count), int64(r.spec.Window)); err != nil {
			return Result{}, err
		}
		after, err := r.settled()
		return Result{Memory: after - before, Count: float64(len(r.conns))}, err
	}
	if before, err = r.settled(); err != nil {
		return Result{}, err
	}
	if err := resetPeak(r.spec.PID); err != nil {
		return Result{}, err
	}
	if err := r.exactly(e, int64(r.spec.Count), int64(r.spec.Window)); err != nil {
		return Result{}, err
	}
	peak, err := memory(r.spec.PID, "VmHWM")
	return Result{Memory: peak - before, Count: float64(r.deliveries)}, err
}

// write goes on with the block of an inbound connection.
func (r *run) write(c *conn, block []byte) {
	n, err := unix.Write(c.fd, block[c.off:])
	switch {
	case n > 0:
		if c.off += n; c.off == len(block) {
			c.off = 0
		}
	case err == unix.EAGAIN || err == unix.EINTR:
	default:
		r.err = fmt.Errorf("a connection ended while sending: %v", err)
	}
}
