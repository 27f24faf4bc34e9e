package server_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/server"
)

// httpRig serves a handler with the server's own http.Server until the test ends.
func httpRig(t *testing.T, listener net.Listener, handle func(*http.ServeMux)) {
	t.Helper()
	r := newQuietRig(t, hub.Options{}, server.Options{HandshakeTimeout: 200 * time.Millisecond})
	mux := http.NewServeMux()
	mux.Handle("/ws", r.srv)
	mux.Handle("/", r.srv.Routes())
	if handle != nil {
		handle(mux)
	}
	web := r.srv.HTTPServer(mux)
	var serving sync.WaitGroup
	serving.Go(func() { _ = web.Serve(listener) }) // ends with Close
	t.Cleanup(func() { web.Close(); serving.Wait() })
}

func listenLocal(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

// A request whose body nobody reads, and which does not come, is given up like one
// whose header does not come.
func TestUnreadBodiesAreGivenUp(t *testing.T) {
	listener := listenLocal(t)
	httpRig(t, listener, func(mux *http.ServeMux) {
		mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 1<<16)) })
	})
	const upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
	for _, c := range []struct{ head, want string }{
		{"GET /health HTTP/1.1\r\nContent-Length: 5\r\n", "HTTP/1.1 200 "},
		{"POST /health HTTP/1.1\r\nTransfer-Encoding: chunked\r\n", "HTTP/1.1 405 "},
		{"POST /none HTTP/1.1\r\nContent-Length: 5\r\n", "HTTP/1.1 404 "},
		{"POST /large HTTP/1.1\r\nContent-Length: 5\r\n", "HTTP/1.1 200 "},
		{"GET /ws HTTP/1.1\r\nContent-Length: 5\r\n", "HTTP/1.1 400 "},
		{"GET /ws HTTP/1.1\r\nContent-Length: 5\r\nOrigin: https://elsewhere.example\r\n" + upgrade, "HTTP/1.1 403 "},
	} {
		nc, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		nc.SetDeadline(time.Now().Add(patience))
		if _, err := io.WriteString(nc, c.head+"Host: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if answer, err := io.ReadAll(nc); err != nil || !strings.HasPrefix(string(answer), c.want) {
			t.Errorf("%q: %v, %.40q", c.head, err, answer)
		}
	}
}

// Who asks on and on and reads no answer is given up.
func TestUnreadAnswersAreGivenUp(t *testing.T) {
	listener := listenLocal(t)
	httpRig(t, listener, nil)
	nc, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	nc.SetDeadline(time.Now().Add(patience))
	requests := []byte(strings.Repeat("GET /health HTTP/1.1\r\nHost: x\r\n\r\n", 1000))
	for err == nil {
		_, err = nc.Write(requests)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("it is still there")
	}
}

// What a handler reads or writes may take as long as it likes, also one request
// behind another.
func TestSlowRequestsThatAreWanted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pipes := newPipeListener()
		httpRig(t, pipes, func(mux *http.ServeMux) {
			mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				time.Sleep(time.Minute)
				_, _ = w.Write(body)
			})
		})
		nc := pipes.dial()
		defer nc.Close()
		in := bufio.NewReader(nc)
		for range 3 {
			for _, part := range []string{"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\nab", "cd", "ef"} {
				if _, err := io.WriteString(nc, part); err != nil {
					t.Fatal(err)
				}
				time.Sleep(10 * time.Second)
			}
			res, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatal(err)
			}
			if body, err := io.ReadAll(res.Body); err != nil || string(body) != "abcdef" {
				t.Errorf("%q %v", body, err)
			}
			time.Sleep(10 * time.Second) // between two requests, less than a minute
		}
	})
}

// pipeListener accepts pipes.
type pipeListener struct {
	accepted chan net.Conn
	closed   chan struct{}
	once     sync.Once
}

func newPipeListener() *pipeListener {
	return &pipeListener{accepted: make(chan net.Conn), closed: make(chan struct{})}
}

func (l *pipeListener) dial() net.Conn {
	ours, theirs := net.Pipe()
	l.accepted <- theirs
	return ours
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case nc := <-l.accepted:
		return nc, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }
