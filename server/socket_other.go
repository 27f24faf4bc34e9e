//go:build !unix

package server

import (
	"errors"
	"syscall"
)

// Without Unix file descriptors every connection takes the ordinary path.
func (c *conn) setUpSocket() {}

type rawReader struct {
	buf *[readSize]byte
	n   int
}

func (r *rawReader) wait(syscall.RawConn) bool            { return false }
func (r *rawReader) poll(syscall.RawConn) (some, ok bool) { return false, false }
func (r *rawReader) release()                             {}

const readyBytes = 0

func writable(int) bool { return false }

func giveWay() {}

func writeFD(int, []byte, []byte) (int, error) { return 0, errors.ErrUnsupported }

func (c *conn) waitWritable(func(func(b, shared []byte) (int, error)) bool) error {
	return errors.ErrUnsupported
}
