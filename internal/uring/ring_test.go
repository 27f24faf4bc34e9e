//go:build linux

package uring_test

import (
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"

	"github.com/ignex/nova/internal/uring"
)

// pair returns a TCP connection, its descriptor, and its other end.
func pair(t *testing.T, l net.Listener) (fd int, near, far net.Conn) {
	t.Helper()
	var wg sync.WaitGroup
	wg.Go(func() { far, _ = l.Accept() })
	near, err := net.Dial("tcp", l.Addr().String())
	wg.Wait()
	if err != nil || far == nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close(); far.Close() })
	raw, err := near.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Control(func(n uintptr) { fd = int(n) }); err != nil {
		t.Fatal(err)
	}
	return fd, near, far
}

func newRing(t *testing.T) (*uring.Ring, net.Listener) {
	t.Helper()
	r, err := uring.New(16)
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSYS) {
		t.Logf("io_uring is forbidden or too old here, which is an answer too: %v", err)
		return nil, nil
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return r, l
}

// Every socket gets its own bytes, in order, round the ring many times.
func TestSend(t *testing.T) {
	r, l := newRing(t)
	if r == nil {
		return
	}
	sends, far := make([]uring.Send, 11), make([]net.Conn, 11)
	for i := range sends {
		sends[i].FD, _, far[i] = pair(t, l)
	}
	for round := range 50 {
		for i := range sends {
			sends[i].Data = []byte{byte(i), byte(round), byte(i ^ round)}
		}
		r.Send(sends)
		for i := range sends {
			if sends[i].N != 3 || sends[i].Err != nil {
				t.Fatalf("send %d of round %d: %d, %v", i, round, sends[i].N, sends[i].Err)
			}
		}
	}
	for i := range far {
		got := make([]byte, 150)
		if _, err := io.ReadFull(far[i], got); err != nil {
			t.Fatal(err)
		}
		for k := range 50 {
			if got[3*k] != byte(i) || got[3*k+1] != byte(k) || got[3*k+2] != byte(i^k) {
				t.Fatalf("socket %d got % x in round %d", i, got[3*k:3*k+3], k)
			}
		}
	}
}

// A full socket, one that is gone and a number that is none harm no other.
func TestSendToOthers(t *testing.T) {
	r, l := newRing(t)
	if r == nil {
		return
	}
	fine, _, far := pair(t, l)
	full, _, _ := pair(t, l)
	gone, _, other := pair(t, l)
	if err := other.(*net.TCPConn).SetLinger(0); err != nil {
		t.Fatal(err)
	}
	other.Close() // with a reset
	big := make([]byte, 1<<20)
	list := []uring.Send{{FD: full, Data: big, N: 1}}
	for list[0].N > 0 {
		r.Send(list)
	}
	if list[0].Err != nil {
		t.Fatalf("a full socket: %v", list[0].Err)
	}
	list = []uring.Send{{FD: full, Data: big}, {FD: gone, Data: big[:1]}, {FD: -1, Data: big[:1]}, {FD: fine, Data: []byte("x")}}
	r.Send(list)
	if list[0].N != 0 || list[0].Err != nil {
		t.Errorf("a full socket: %d, %v", list[0].N, list[0].Err)
	}
	if err := list[1].Err; !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
		t.Errorf("a reset connection: %d, %v", list[1].N, err)
	}
	if !errors.Is(list[2].Err, syscall.EBADF) {
		t.Errorf("no descriptor: %v", list[2].Err)
	}
	got := make([]byte, 1)
	if _, err := io.ReadFull(far, got); err != nil || got[0] != 'x' || list[3].N != 1 {
		t.Errorf("the socket behind them: %q, %v, %+v", got, err, list[3])
	}
}
