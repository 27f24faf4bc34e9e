package novatest

import (
	"context"
	"errors"
	"net"
	"sync"
)

// listener is a network of pipes.
type listener struct {
	incoming chan net.Conn
	closed   chan struct{}
	once     sync.Once

	mu    sync.Mutex
	away  bool
	pipes map[*end]struct{}
}

func newListener() *listener {
	return &listener{incoming: make(chan net.Conn), closed: make(chan struct{}), pipes: map[*end]struct{}{}}
}

// end is the server's end of a pipe.
type end struct {
	net.Conn
	lis *listener
}

func (e *end) Close() error {
	e.lis.mu.Lock()
	delete(e.lis.pipes, e)
	e.lis.mu.Unlock()
	return e.Conn.Close()
}

func (l *listener) dial(ctx context.Context) (net.Conn, error) {
	theirs, ours := net.Pipe()
	e := &end{ours, l}
	l.mu.Lock()
	away := l.away
	if !away {
		l.pipes[e] = struct{}{}
	}
	l.mu.Unlock()
	var err error
	if away {
		err = errors.New("novatest: the server is dropped")
	} else {
		select {
		case l.incoming <- e:
			return theirs, nil
		case <-l.closed:
			err = net.ErrClosed
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	theirs.Close()
	e.Close()
	return nil, err
}

// down cuts all pipes and refuses new ones, or takes them again.
func (l *listener) down(away bool) {
	l.mu.Lock()
	l.away = away
	l.mu.Unlock()
	if away {
		l.drop()
	}
}

// drop cuts all pipes.
func (l *listener) drop() {
	l.mu.Lock()
	var cut []*end
	for e := range l.pipes {
		cut = append(cut, e)
	}
	l.mu.Unlock()
	for _, e := range cut {
		e.Close()
	}
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.incoming:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements net.Listener.
func (l *listener) Addr() net.Addr { return address{} }

type address struct{}

func (address) Network() string { return "pipe" }
func (address) String() string  { return "novatest" }
