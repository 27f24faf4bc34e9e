package servers

import (
	"encoding/binary"
	"net"
	"sync"

	"golang.org/x/sys/unix"
)

// runBare is the limit: no WebSocket handshake, no reading, one write call for
// each connection with all the frames that are to be published now.
func runBare(o Options) error {
	ln, err := listen()
	if err != nil {
		return err
	}
	var mu sync.Mutex
	var fds []int
	var keep []net.Conn // their finalizers would close the descriptors
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			raw, err := conn.(*net.TCPConn).SyscallConn()
			if err != nil {
				return
			}
			mu.Lock()
			raw.Control(func(fd uintptr) { fds = append(fds, int(fd)) })
			keep = append(keep, conn)
			mu.Unlock()
		}
	}()
	var out []byte
	publish := func(stamps []int64) {
		mu.Lock()
		defer mu.Unlock()
		out = out[:0]
		for _, stamp := range stamps {
			out = appendFrame(out, o.payload(stamp))
		}
		for _, fd := range fds {
			writeAll(fd, out)
		}
	}
	err = serveControl(ln.Addr(), Backend{Publish: publish})
	mu.Lock()
	defer mu.Unlock()
	for _, conn := range keep {
		conn.Close()
	}
	return err
}

func appendFrame(dst, payload []byte) []byte {
	switch n := len(payload); {
	case n < 126:
		dst = append(dst, 0x82, byte(n))
	case n < 1<<16:
		dst = append(dst, 0x82, 126, byte(n>>8), byte(n))
	default:
		dst = binary.BigEndian.AppendUint64(append(dst, 0x82, 127), uint64(n))
	}
	return append(dst, payload...)
}

func writeAll(fd int, b []byte) {
	for len(b) > 0 {
		n, err := unix.Write(fd, b)
		if n > 0 {
			b = b[n:]
		}
		switch err {
		case nil, unix.EINTR:
		case unix.EAGAIN:
			unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, 1000)
		default:
			return
		}
	}
}
