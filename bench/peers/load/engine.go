package load

import (
	"fmt"
	"runtime"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// engine reads from all connections and calls step again and again until that
// returns true.
type engine interface {
	loop(step func(now time.Time) bool) error
	close()
}

func newEngine(r *run) (engine, error) {
	if r.spec.TLS {
		return newReaders(r), nil
	}
	return newPoller(r)
}

// poller is one thread and one epoll instance.
type poller struct {
	run *run
	fd  int
	buf []byte
}

const readBuffer = 256 << 10

func newPoller(r *run) (*poller, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	for i, c := range r.conns {
		ev := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(i)}
		if r.spec.Kind == Inbound {
			ev.Events = unix.EPOLLOUT
		}
		if err := unix.EpollCtl(fd, unix.EPOLL_CTL_ADD, c.fd, &ev); err != nil {
			unix.Close(fd)
			return nil, err
		}
	}
	return &poller{run: r, fd: fd, buf: make([]byte, readBuffer)}, nil
}

func (p *poller) close() { unix.Close(p.fd) }

func (p *poller) loop(step func(now time.Time) bool) error {
	return p.events(step, func(c *conn, _ uint32) { p.read(c) })
}

// events calls handle for each event; between events it lets step publish what
// is due.
func (p *poller) events(step func(now time.Time) bool, handle func(c *conn, events uint32)) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	events := make([]unix.EpollEvent, 256)
	timeout := 1
	if p.run.spec.Spin {
		timeout = 0
	}
	for p.run.err == nil {
		done := step(time.Now())
		p.run.flush()
		if done {
			return p.run.err
		}
		n, err := unix.EpollWait(p.fd, events, timeout)
		if err != nil && err != unix.EINTR {
			return fmt.Errorf("epoll: %w", err)
		}
		for i := range max(n, 0) {
			handle(p.run.conns[events[i].Fd], events[i].Events)
			if i&31 == 31 {
				step(time.Now())
				p.run.flush()
			}
		}
	}
	return p.run.err
}

func (p *poller) read(c *conn) {
	n, err := receive(c.fd, p.buf)
	switch {
	case n > 0:
		p.run.received(c, p.buf[:n])
	case err == unix.EAGAIN:
	default:
		p.run.err = fmt.Errorf("a connection ended: %v", err)
	}
}

// readers is a goroutine for each TLS connection; they take turns under a lock.
type readers struct {
	run     *run
	mu      sync.Mutex
	step    func(now time.Time) bool
	done    chan struct{} // closed when step returned true or an error came
	over    bool
	started bool
	wg      sync.WaitGroup
}

func newReaders(r *run) *readers {
	for _, c := range r.conns {
		c.tls.SetReadDeadline(time.Time{})
	}
	return &readers{run: r}
}

// close ends the readers: connections of a TLS run are used once more at most,
// with new readers, which clear the deadline.
func (e *readers) close() {
	for _, c := range e.run.conns {
		c.tls.SetReadDeadline(time.Now())
	}
	e.wg.Wait()
}

func (e *readers) loop(step func(now time.Time) bool) error {
	e.mu.Lock()
	e.step, e.over, e.done = step, false, make(chan struct{})
	done := e.done
	e.advance()
	e.mu.Unlock()
	e.start()
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			e.mu.Lock()
			defer e.mu.Unlock()
			return e.run.err
		case <-ticker.C:
			e.mu.Lock()
			e.advance()
			e.mu.Unlock()
		}
	}
}

// advance runs a step and tells the loop when it was the last.
func (e *readers) advance() {
	if e.over {
		return
	}
	over := e.step(time.Now()) || e.run.err != nil
	e.run.flush()
	if over {
		e.over = true
		close(e.done)
	}
}

// receive is recv(2) past the scheduler and the file layer: the client must have
// time left where a server has none.
func receive(fd int, b []byte) (int, error) {
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), 0, 0, 0)
		switch errno {
		case 0:
			return int(n), nil
		case unix.EINTR:
		default:
			return 0, errno
		}
	}
}
