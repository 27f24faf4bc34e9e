package server

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// send is send(2). Linux takes it straight to the socket; write(2) goes through
// the file layer first, a tenth of the cost of a small write. Package unix has no
// form of it that tells how much was taken.
func send(fd int, b []byte) (int, error) {
	n, _, errno := unix.Syscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), unix.MSG_NOSIGNAL, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// tcpNotSentLowat is TCP_NOTSENT_LOWAT of Linux, which package syscall lacks.
const tcpNotSentLowat = 25

// unsentLimit is what the kernel queues beyond what is under way. Without it a
// stalled socket takes 4 MB, out of reach of every policy.
const unsentLimit = 16 << 10

func limitUnsent(raw syscall.RawConn) {
	raw.Control(func(fd uintptr) {
		// Unix sockets do not have the option; they are small anyway.
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpNotSentLowat, unsentLimit)
	})
}
