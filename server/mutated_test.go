package server_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/wire"
	"github.com/ignex/nova/wire/control"
)

// newTarget is a server with all that a client can reach: handlers that publish,
// authorisation, limits that are not in the way.
func newTarget(t testing.TB) *rig {
	r := newRig(t, hub.Options{
		Inbound: []string{"trade"},
		Session: hub.SessionOptions{TTL: time.Second},
		AuthorizeTopic: func(_ context.Context, _ *nova.Client, topic string) error {
			if topic == "secret" {
				return nova.Errorf(nova.Denied, "no")
			}
			return nil
		},
		AuthorizePublish: func(context.Context, *nova.Client, *wire.Event) error { return nil },
	}, server.Options{AcceptRate: -1, MaxUndecodable: -1, RateLimit: server.RateLimit{MessagesPerSecond: 1e9}})
	market.QuoteEvent.On(r.hub, func(ctx context.Context, _ *nova.Client, q *market.Quote) error {
		return market.QuoteEvent.Publish(ctx, nil, nova.Topic("t"), q)
	})
	market.ChatEvent.On(r.hub, func(context.Context, *nova.Client, *market.Chat) error { panic("chat") })
	return r
}

// knock opens a connection that asks for all capabilities, for some, or says nothing.
func knock(t testing.TB, r *rig, kind int) (nc net.Conn, in *bufio.Reader) {
	t.Helper()
	nc, err := net.Dial("tcp", r.web.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	nc.SetDeadline(time.Now().Add(patience))
	io.WriteString(nc, "GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
	in = bufio.NewReader(nc)
	if res, err := http.ReadResponse(in, nil); err != nil || res.StatusCode != http.StatusSwitchingProtocols {
		t.Fatal(res, err)
	}
	var first []byte
	add := func(m frameWriter) {
		frame, err := m.AppendFrame(nil)
		if err != nil {
			t.Fatal(err)
		}
		first = ws.AppendMasked(first, ws.Binary, frame, [4]byte{9, 9, 9, 9})
	}
	switch kind % 4 {
	case 1:
		add(&control.Hello{Version: 2, Caps: []string{"topics/1"}})
	case 2, 3:
		add(&control.Hello{Version: 2, Caps: []string{"topics/1", "session/1"}})
		add(&control.Attach{})
	}
	nc.Write(first)
	return nc, in
}

// hear reads until the server closes the connection, and tells of pongs. Only what the
// protocol has may come.
func hear(in io.Reader, pong chan<- struct{}) error {
	parser, peer := ws.NewParser(false, 0), new(rawPeer)
	buf := make([]byte, 4096)
	for {
		n, err := in.Read(buf)
		if n > 0 {
			if bad := parser.Feed(buf[:n], peer); bad != nil {
				return bad
			}
			for _, m := range peer.queue {
				if head, _, err := wire.ParseFrame(m.data); err == nil && head.ID == control.PongID {
					select {
					case pong <- struct{}{}:
					default:
					}
				}
			}
			if peer.queue = nil; peer.closed != nil {
				return nil
			}
		}
		var late net.Error
		if errors.As(err, &late) && late.Timeout() {
			return errors.New("the connection neither answers nor ends")
		}
		if err != nil {
			return nil
		}
	}
}

// mutatedFrames is how many frames TestMutatedFrames sends; NOVA_MUTATED_FRAMES is
// another number, NOVA_MUTATED_SEED the seed to begin with.
const mutatedFrames = 60_000

// TestMutatedFrames sends damaged frames to a live server over many connections: it
// stays alive, a neighbour is served meanwhile, and its memory does not grow.
func TestMutatedFrames(t *testing.T) {
	total := number(t, "NOVA_MUTATED_FRAMES", mutatedFrames)
	seed := number(t, "NOVA_MUTATED_SEED", uint64(time.Now().UnixNano()))
	t.Logf("%d frames from seed %d on", total, seed)
	r := newTarget(t)
	neighbour := r.join("", "")
	const rounds, senders = 10, 4
	var first uint64
	start := time.Now()
	for round := range uint64(rounds) {
		var wg sync.WaitGroup
		for n := range uint64(senders) {
			wg.Go(func() { pelt(t, r, seed+round*senders+n, total/rounds/senders) })
		}
		wg.Wait()
		neighbour.net.SetDeadline(time.Now().Add(patience))
		neighbour.sync()
		eventually(t, "all others are gone", func() bool {
			m := r.srv.Metrics()
			return m.Connections == 1 && m.Hub.Sessions == 1
		})
		m := r.srv.Metrics()
		if m.PartialBytes != 0 || m.Hub.Groups != 0 || m.Hub.Topics > 10 {
			t.Errorf("round %d: %d bytes in part, %d groups, %d topics", round, m.PartialBytes, m.Hub.Groups, m.Hub.Topics)
		}
		used := heap()
		if round == 0 {
			first = used
		}
		t.Logf("round %d: heap %d KiB, %d goroutines", round, used>>10, runtime.NumGoroutine())
		if used > first+8<<20 {
			t.Fatalf("round %d: %d KiB of heap, after the first %d", round, used>>10, first>>10)
		}
	}
	m := r.srv.Metrics()
	t.Logf("%v: handled %v, %d control frames, %d undecodable, %d unknown, %d not allowed, closed %v",
		time.Since(start).Round(time.Second), m.Hub.Inbound, m.InboundControl, m.Hub.Undecodable, m.Hub.UnknownEvents, m.Hub.NotAllowed, m.Closed)
}

// pelt sends so many frames, over as many connections as it takes.
func pelt(t testing.TB, r *rig, seed, frames uint64) {
	m := newMutants(t, seed)
	for kind := 0; frames > 0; kind++ {
		nc, in := knock(t, r, kind)
		heard, pong := make(chan error, 1), make(chan struct{}, 1)
		go func() { heard <- hear(in, pong) }()
		m.seq, m.numbered, m.torn = 0, kind%4 >= 2, false
		frames -= m.send(nc, frames, heard, pong)
		nc.(*net.TCPConn).CloseWrite()
		if err := <-heard; err != nil {
			t.Errorf("seed %d, connection %d: %v", seed, kind, err)
		}
		nc.Close()
	}
}

// send sends at most so many frames over one connection, in blocks, each once the one
// before was answered or the connection closed.
func (m *mutants) send(nc net.Conn, frames uint64, heard chan error, pong chan struct{}) (sent uint64) {
	const most = 2000
	var block []byte
	for sent < min(most, frames) {
		block = block[:0]
		for n := 1 + m.IntN(40); n > 0 && sent < frames; n-- {
			block = m.next(block)
			sent++
		}
		if _, err := nc.Write(append(block, ping()...)); err != nil || m.torn {
			return sent
		}
		select {
		case <-pong:
		case err := <-heard:
			heard <- err
			return sent
		}
	}
	return sent
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func number(t *testing.T, name string, def uint64) uint64 {
	text := os.Getenv(name)
	if text == "" {
		return def
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// FuzzPipeline takes the fuzzer's bytes as a program: which connection, which frames,
// what to change in them. The connection answers or ends, and a neighbour is served
// as before.
func FuzzPipeline(f *testing.F) {
	f.Add([]byte{2, 30, 0, 31, 2, 20, 0xff, 8, 4, 32, 0})
	f.Add([]byte{0, 1, 1, 0, 0, 5, 3, 1, 2, 3, 4, 5, 6})
	f.Add([]byte{3, 60, 0, 61, 0, 62, 0, 63, 1, 5, 9})
	r := newTarget(f)
	neighbour := r.join("", "")
	right := newMutants(f, 1).frames
	f.Fuzz(func(t *testing.T, program []byte) {
		if len(program) == 0 {
			return
		}
		nc, in := knock(t, r, int(program[0]))
		defer nc.Close()
		nc.Write(append(assemble(right, program[1:]), ping()...))
		nc.(*net.TCPConn).CloseWrite()
		if err := hear(in, nil); err != nil {
			t.Fatal(err)
		}
		neighbour.t = t
		neighbour.net.SetDeadline(time.Now().Add(patience))
		neighbour.sync()
	})
}

// assemble makes the messages of a program: for each the frame, how many bytes to
// change, and for each of these where and what. Every other frame has the number it
// should have.
func assemble(right [][]byte, program []byte) (block []byte) {
	seq := uint64(0)
	for len(program) >= 2 {
		frame := append([]byte(nil), right[int(program[0])%len(right)]...)
		if program[1]&0x80 != 0 {
			seq++
			wire.Stamp(frame, seq)
		}
		changes := int(program[1] & 7)
		program = program[2:]
		for ; changes > 0 && len(program) >= 2; changes-- {
			frame[int(program[0])%len(frame)] = program[1]
			program = program[2:]
		}
		block = ws.AppendMasked(block, ws.Binary, frame, [4]byte{4, 3, 2, 1})
	}
	return block
}
