package server

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// send is send(2). Linux takes it straight to the socket; write(2) goes through
// the file layer first, a tenth of the cost of a small write. Package unix has no
// form of it that tells how much was taken. The scheduler is not told: the socket
// never waits, and to hand the processor over for some microseconds costs more.
func send(fd int, b []byte) (int, error) {
	n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), unix.MSG_NOSIGNAL, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// receive is recv(2), likewise.
func receive(fd int, b []byte) (int, error) {
	n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), 0, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// giveWay lets other threads of this processor run, if there are any.
func giveWay() { unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }

// tcpNotSentLowat is TCP_NOTSENT_LOWAT of Linux, which package syscall lacks.
const tcpNotSentLowat = 25

// unsentLimit is what the kernel queues beyond what is under way. Without it a
// stalled socket takes 4 MB, out of reach of every policy.
const unsentLimit = 16 << 10

// Below TLS, where a write that finds no room waits, the kernel may queue
// readyUnsent: it tells that a socket is writable while less than half of that is
// queued and a third of its buffer is free, and then readyBytes have room.
const (
	readyUnsent = 64 << 10
	readyBytes  = 16 << 10
)

// limitUnsent reports whether the limit is in force.
func limitUnsent(raw syscall.RawConn, bytes int) bool {
	var failed error
	err := raw.Control(func(fd uintptr) {
		// Unix sockets do not have the option; they are small anyway.
		failed = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpNotSentLowat, bytes)
	})
	return err == nil && failed == nil
}

// writable asks the socket without waiting.
func writable(fd int) bool {
	list := [1]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
	n, err := unix.Poll(list[:], 0)
	return n == 1 && err == nil && list[0].Revents == unix.POLLOUT
}
