//go:build unix

package server

import (
	"crypto/tls"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// setUpSocket takes the fast path where the file descriptor is the connection:
// plain TCP and Unix sockets. Anything wrapped, TLS above all, must not be
// bypassed.
func (c *conn) setUpSocket() {
	var sc syscall.Conn
	switch nc := c.net.(type) {
	case *net.TCPConn:
		sc = nc
	case *net.UnixConn:
		sc = nc
	case *tls.Conn:
		c.setUpBelow(nc)
		return
	default:
		return
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return
	}
	limitUnsent(raw, unsentLimit)
	c.cursor.Share = true
	raw.Control(func(fd uintptr) { c.fd.number = int(fd) })
	c.raw = raw
	c.reader = newRawReader()
}

// setUpBelow learns the descriptor below TLS, for ready.
func (c *conn) setUpBelow(nc *tls.Conn) {
	below, ok := nc.NetConn().(*net.TCPConn)
	if !ok {
		return
	}
	raw, err := below.SyscallConn()
	if err != nil || !limitUnsent(raw, readyUnsent) {
		return
	}
	raw.Control(func(fd uintptr) { c.fd.number = int(fd) })
	c.secure = true
}

// rawReader reads from a file descriptor and holds a buffer only between a read
// that brought something and release.
type rawReader struct {
	buf  *[readSize]byte
	n    int
	once func(fd uintptr) bool
	now  bool // the read under way must not wait
}

func newRawReader() *rawReader {
	r := new(rawReader)
	r.once = r.readOnce
	return r
}

// poll reads without waiting: some tells whether there were bytes, ok is false at
// the end of the connection.
func (r *rawReader) poll(raw syscall.RawConn) (some, ok bool) {
	r.now = true
	err := raw.Read(r.once)
	r.now = false
	if err != nil || r.buf != nil && r.n <= 0 {
		r.release()
		return false, false
	}
	return r.buf != nil, true
}

// wait parks until there are bytes; false at the end of the connection.
func (r *rawReader) wait(raw syscall.RawConn) bool {
	if err := raw.Read(r.once); err != nil || r.n <= 0 {
		r.release()
		return false
	}
	return true
}

func (r *rawReader) release() {
	if r.buf != nil {
		readBuffers.Put(r.buf)
		r.buf = nil
	}
}

func (r *rawReader) readOnce(fd uintptr) bool {
	buf := readBuffers.Get().(*[readSize]byte)
	for {
		n, err := receive(int(fd), buf[:])
		switch err {
		case unix.EINTR:
			continue
		case unix.EAGAIN:
			readBuffers.Put(buf)
			return r.now
		case nil:
		default:
			n = 0
		}
		r.buf, r.n = buf, n
		return true
	}
}

// writeFD writes what the socket takes now of b and then shared; 0 without an
// error when it is full.
func writeFD(fd int, b, shared []byte) (n int, err error) {
	for {
		if len(shared) == 0 {
			n, err = send(fd, b)
		} else {
			n, err = unix.SendmsgBuffers(fd, [][]byte{b, shared}, nil, nil, unix.MSG_NOSIGNAL)
		}
		switch err {
		case nil:
			return n, nil
		case unix.EINTR:
		case unix.EAGAIN:
			return 0, nil
		default:
			return 0, err
		}
	}
}

// waitWritable calls turn whenever the socket may take bytes, until it is done.
// turn must write until the socket is full: only then readiness is told again.
func (c *conn) waitWritable(turn func(try func(b, shared []byte) (int, error)) (done bool)) error {
	var failed error
	err := c.raw.Write(func(fd uintptr) bool {
		return turn(func(b, shared []byte) (int, error) {
			n, err := writeFD(int(fd), b, shared)
			failed = err
			return n, err
		})
	})
	if err == nil {
		err = failed
	}
	return err
}
