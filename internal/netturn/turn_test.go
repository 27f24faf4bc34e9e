//go:build unix

package netturn_test

import (
	"net"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/ignex/nova/internal/netturn"
)

// One processor works without a pause; what comes over the network is seen within a
// few turns, which runtime.Gosched alone does not do.
func TestYield(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	near, far := sockets(t)
	var came, turns atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		b := make([]byte, 1)
		for {
			if _, err := near.Read(b); err != nil {
				return
			}
			came.Add(1)
		}
	}()
	var turn netturn.Turn
	defer turn.Close()
	turn.Yield() // the reader waits now
	for n := int64(1); n <= 100; n++ {
		if _, err := far.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		for came.Load() < n {
			turn.Yield()
			if turns.Add(1) > 10*n+100 {
				t.Fatalf("%d of %d bytes came in %d turns", came.Load(), n, turns.Load())
			}
		}
	}
	far.Close()
	<-done
}

// A closed turn still lets others run.
func TestYieldAfterClose(t *testing.T) {
	var turn netturn.Turn
	turn.Yield()
	turn.Close()
	turn.Yield()
	turn.Close()
}

func sockets(t *testing.T) (near, far net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if far, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if near, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close(); far.Close() })
	return near, far
}

// BenchmarkYield is what a turn costs.
func BenchmarkYield(b *testing.B) {
	var turn netturn.Turn
	defer turn.Close()
	for b.Loop() {
		turn.Yield()
	}
}
