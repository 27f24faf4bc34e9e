package load

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// conn is one subscriber.
type conn struct {
	parser
	fd    int // without TLS
	tls   *tls.Conn
	count int64 // deliveries
	bytes int64
	off   int // of the inbound block being written
}

const (
	dialers       = 16
	perSource     = 5000 // connections of one loopback address
	handshakeTime = 20 * time.Second
)

// dialAll opens the connections of a spec.
func dialAll(s *Spec) ([]*conn, error) {
	conns := make([]*conn, s.N)
	errs := make([]error, dialers)
	var next atomic.Int64
	var failed atomic.Bool
	var wg sync.WaitGroup
	for d := range dialers {
		wg.Go(func() {
			for !failed.Load() {
				i := int(next.Add(1)) - 1
				if i >= s.N {
					return
				}
				c, err := dial(s, i)
				if err != nil {
					errs[d] = fmt.Errorf("connection %d: %w", i, err)
					failed.Store(true)
					return
				}
				conns[i] = c
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return conns, nil
}

func source(i int) byte { return byte(2 + i/perSource) }

func dial(s *Spec, i int) (*conn, error) {
	p := protocols[s.Protocol]
	c := &conn{parser: parser{framing: p.framing}, fd: -1}
	var h handshake
	if s.TLS {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, source(i))}, Timeout: handshakeTime}
		nc, err := d.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", s.DataPort))
		if err != nil {
			return nil, err
		}
		// The server makes its certificate itself, and nothing leaves this machine.
		c.tls = tls.Client(nc, &tls.Config{ServerName: "localhost", InsecureSkipVerify: true})
		c.tls.SetDeadline(time.Now().Add(handshakeTime))
		h = handshake{w: c.tls, r: bufio.NewReader(c.tls)}
	} else {
		fd, err := connect(s.DataPort, source(i))
		if err != nil {
			return nil, err
		}
		c.fd = fd
		h = handshake{w: blocking(fd), r: bufio.NewReaderSize(blocking(fd), 2048)}
	}
	rest, err := h.do(p)
	if err != nil {
		return nil, err
	}
	c.count += int64(c.feed(rest))
	if s.TLS {
		c.tls.SetDeadline(time.Time{})
		return c, nil
	}
	return c, unix.SetNonblock(c.fd, true)
}

func connect(port int, source byte) (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	timeout := unix.NsecToTimeval(handshakeTime.Nanoseconds())
	for _, err := range []error{
		unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1),
		unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1),
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout),
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &timeout),
		unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, source}}),
		unix.Connect(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}),
	} {
		if err != nil {
			unix.Close(fd)
			return -1, err
		}
	}
	return fd, nil
}

// blocking is a blocking descriptor as reader and writer.
type blocking int

func (fd blocking) Read(b []byte) (int, error) {
	for {
		n, err := unix.Read(int(fd), b)
		if err == unix.EINTR {
			continue
		}
		if n == 0 && err == nil && len(b) > 0 {
			return 0, net.ErrClosed
		}
		return max(n, 0), err
	}
}

func (fd blocking) Write(b []byte) (int, error) {
	done := 0
	for done < len(b) {
		n, err := unix.Write(int(fd), b[done:])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return done, err
		}
		done += n
	}
	return done, nil
}
