package server

import "syscall"

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
