//go:build unix

package netturn

import (
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Turn is for one goroutine. The zero value is ready for use.
type Turn struct {
	end    [2]*os.File // of a pipe
	raw    syscall.RawConn
	broken bool // there is no pipe
}

// Yield returns when the goroutines that wait for the network, and have something, had
// their turn: it waits for the network itself.
func (t *Turn) Yield() {
	if t.raw == nil && !t.open() {
		runtime.Gosched()
		return
	}
	var b [1]byte
	waited := false
	err := t.raw.Read(func(fd uintptr) bool {
		if !waited { // here: what is ready before Read begins is forgotten
			waited = true
			_, err := t.end[1].Write(b[:])
			return err != nil
		}
		_, err := unix.Read(int(fd), b[:])
		return err != unix.EAGAIN && err != unix.EINTR
	})
	if err != nil {
		t.give()
	}
}

func (t *Turn) open() bool {
	if t.broken {
		return false
	}
	var err error
	if t.end[0], t.end[1], err = os.Pipe(); err == nil {
		t.raw, err = t.end[0].SyscallConn()
	}
	if err != nil {
		t.give()
	}
	return err == nil
}

// give ends the use of the pipe.
func (t *Turn) give() {
	t.Close()
	t.broken = true
}

// Close closes the pipe.
func (t *Turn) Close() {
	for i, f := range t.end {
		if f != nil {
			f.Close()
			t.end[i] = nil
		}
	}
	t.raw = nil
}
