package hub_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// link is one socket: the server's end of it, as a net.Conn, and what is on the
// wire. All that the network does is decided by the simulator's steps.
type link struct {
	mu       sync.Mutex
	cond     *sync.Cond
	room     int
	down     []byte     // taken from the server, not read by the client
	tapped   []simChunk // taken from the server since the last look
	step     *atomic.Int64
	up       []byte // sent by the client, not come to the server
	ready    []byte // come to the server, not read by it
	eof      bool   // the client's end of stream has come to the server
	broken   bool   // the server notices that the socket is gone
	closed   bool   // by the server
	deadline time.Time
	timer    *time.Timer
}

// simChunk is what one call of Write brought, and the step it began in.
type simChunk struct {
	data []byte
	step int
}

func newLink(room int, step *atomic.Int64) *link {
	l := &link{room: room, step: step}
	l.cond = sync.NewCond(&l.mu)
	return l
}

func (l *link) expired() bool { return !l.deadline.IsZero() && !time.Now().Before(l.deadline) }

func (l *link) Read(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		switch {
		case l.closed:
			return 0, net.ErrClosed
		case l.expired():
			return 0, os.ErrDeadlineExceeded
		case len(l.ready) > 0:
			n := copy(b, l.ready)
			l.ready = l.ready[n:]
			return n, nil
		case l.broken:
			return 0, errors.New("connection reset")
		case l.eof:
			return 0, io.EOF
		}
		l.cond.Wait()
	}
}

func (l *link) Write(b []byte) (n int, err error) {
	step := int(l.step.Load())
	l.mu.Lock()
	defer l.mu.Unlock()
	for n < len(b) {
		switch k := min(len(b)-n, l.room-len(l.down)); {
		case l.closed:
			return n, net.ErrClosed
		case l.broken:
			return n, errors.New("broken pipe")
		case l.expired():
			return n, os.ErrDeadlineExceeded
		case k > 0:
			l.accept(b[n:n+k], step)
			n += k
			continue
		}
		l.cond.Wait()
	}
	return n, nil
}

// accept puts bytes on the wire.
func (l *link) accept(b []byte, step int) {
	l.down = append(l.down, b...)
	l.tapped = append(l.tapped, simChunk{append([]byte(nil), b...), step})
}

func (l *link) Close() error {
	l.change(func() { l.closed = true })
	return nil
}

func (l *link) change(fn func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fn()
	l.cond.Broadcast()
}

func (l *link) SetDeadline(t time.Time) error {
	l.change(func() {
		if l.timer != nil {
			l.timer.Stop()
			l.timer = nil
		}
		l.deadline = t
		if !t.IsZero() {
			l.timer = time.AfterFunc(time.Until(t), l.cond.Broadcast)
		}
	})
	return nil
}

func (l *link) SetReadDeadline(time.Time) error  { return nil }
func (l *link) SetWriteDeadline(time.Time) error { return nil }
func (l *link) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (l *link) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (l *link) gone() bool                       { l.mu.Lock(); defer l.mu.Unlock(); return l.closed }
func (l *link) Header() http.Header              { return http.Header{} }
func (l *link) WriteHeader(int)                  {}

// hijack is the http.ResponseWriter of an upgrade.
type hijack struct{ *link }

func (h hijack) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return h.link, bufio.NewReadWriter(bufio.NewReader(h.link), bufio.NewWriter(h.link)), nil
}

// take removes at most n bytes from what the client can read.
func (l *link) take(n int) (b []byte) {
	l.change(func() {
		n = min(n, len(l.down))
		b = append(b, l.down[:n]...)
		l.down = l.down[n:]
	})
	return b
}

// arrive lets n bytes of the client come to the server.
func (l *link) arrive(n int) {
	l.change(func() {
		n = min(n, len(l.up))
		l.ready = append(l.ready, l.up[:n]...)
		l.up = l.up[n:]
	})
}

func (l *link) tap() (list []simChunk) {
	l.change(func() { list, l.tapped = l.tapped, nil })
	return list
}
