package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/topiclog/filelog"
	"github.com/ignex/nova/wire"
	"github.com/ignex/nova/wire/control"
)

// playLogged is a server whose topics are in the directory of the first argument,
// until it is killed.
func playLogged() {
	files, err := filelog.Open(context.Background(), os.Args[1], filelog.Options{})
	if err != nil {
		log.Fatal(err)
	}
	options := loggedOptions(files)
	options.Schema = market.Schema
	h, err := hub.New(options)
	if err != nil {
		log.Fatal(err)
	}
	srv, err := server.New(h, server.Options{})
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/ws", srv)
	mux.Handle("/publish", server.PublishHandler(h, market.Schema.Layout(), server.PublishOptions{}))
	fmt.Println(listener.Addr())
	log.Fatal(http.Serve(listener, mux))
}

// remote is a listener elsewhere.
type remote struct{ addr net.Addr }

func (r remote) Addr() net.Addr            { return r.addr }
func (r remote) Accept() (net.Conn, error) { return nil, net.ErrClosed }
func (r remote) Close() error              { return nil }

// loggedServer starts playLogged in another process.
func loggedServer(t *testing.T, dir string) (*rig, *exec.Cmd) {
	t.Helper()
	cmd := exec.Command(os.Args[0], dir)
	cmd.Env = append(os.Environ(), roleVariable+"=logged")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	addr, err := net.ResolveTCPAddr("tcp", strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	return &rig{t: t, web: &httptest.Server{URL: "http://" + addr.String(), Listener: remote{addr}}}, cmd
}

// knowledge is which quote each offset of an epoch is said to be.
type knowledge struct {
	t     *testing.T
	mu    sync.Mutex
	quote map[uint64]int64
	acked map[uint64]bool
}

func (k *knowledge) learn(offset uint64, ts int64, acked bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if old, ok := k.quote[offset]; ok && old != ts {
		k.t.Errorf("offset %d is quote %d and was %d", offset, ts, old)
	}
	k.quote[offset] = ts
	k.acked[offset] = k.acked[offset] || acked
}

// publishUntil has publishes acknowledged one after the other until the server is
// gone.
func (k *knowledge) publishUntil(url string, number, acks *atomic.Int64) {
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for {
		n := number.Add(1)
		body := fmt.Sprintf(`{"event":"quote","target":{"topic":"t"},"data":{"symbol":"A","bid":1,"ask":2,"bidSize":1,"askSize":2,"ts":%d}}`, n)
		res, err := client.Post(url+"/publish", "application/json", strings.NewReader(body))
		if err != nil {
			return
		}
		answer, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil {
			return
		}
		var result struct{ Offset uint64 }
		if err := json.Unmarshal(answer, &result); err != nil || result.Offset == 0 {
			k.t.Errorf("publish: %s %v", answer, err)
			return
		}
		k.learn(result.Offset, n, true)
		acks.Add(1)
	}
}

// Kill −9 of the server: what was acknowledged is there, no offset names two
// frames, and a cursor goes on.
func TestServerIsKilled(t *testing.T) {
	dir := t.TempDir()
	k := &knowledge{t: t, quote: map[uint64]int64{}, acked: map[uint64]bool{}}
	var number, acks atomic.Int64
	var at control.Cursor // what the subscriber has
	for round := range 4 {
		r, cmd := loggedServer(t, dir)
		p, _ := r.attach("", "", 0)
		p.send(&control.TopicSubscribe{ID: 1, Topic: "t", Epoch: at.Epoch, Offset: at.Offset, Limit: int64(round%2) << 19})
		told := p.subscribed()
		if round > 0 && (!told.Recovered || told.Epoch != at.Epoch || told.Offset != at.Offset) {
			t.Fatalf("round %d: %+v, the cursor was %+v", round, told, at)
		}
		at.Epoch, at.Offset = told.Epoch, told.Offset
		var work sync.WaitGroup
		for range 3 {
			work.Go(func() { k.publishUntil(r.web.URL, &number, &acks) })
		}
		most := acks.Load() + 300
		last := make(chan control.Cursor, 1)
		work.Go(func() { last <- k.follow(p, at) })
		eventually(t, "publishes are acknowledged", func() bool { return acks.Load() >= most })
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		work.Wait()
		at = <-last
	}
	r, _ := loggedServer(t, dir)
	p, _ := r.attach("", "", 0)
	p.send(&control.TopicSubscribe{ID: 1, Topic: "t", Epoch: at.Epoch, Limit: 1 << 19})
	told := p.subscribed()
	if !told.Recovered || told.Offset != 0 {
		t.Fatalf("%+v", told)
	}
	found := map[uint64]bool{}
	for range told.Replayed {
		ts, offset := p.place()
		k.learn(offset, ts, false)
		found[offset] = true
	}
	for offset := range k.quote { // acknowledged or delivered
		if !found[offset] {
			t.Errorf("offset %d (acknowledged: %v) is gone", offset, k.acked[offset])
		}
	}
	if acks.Load() < 4*300 {
		t.Errorf("%d acknowledgements", acks.Load())
	}
}

// follow reads until the connection ends and returns the cursor then.
func (k *knowledge) follow(p *rawPeer, at control.Cursor) control.Cursor {
	for {
		m, err := p.tryNext()
		if err != nil {
			return at
		}
		if m.op != ws.Binary {
			continue
		}
		head, payload, err := wire.ParseFrame(m.data)
		if err != nil {
			k.t.Error(err)
			return at
		}
		switch head.ID {
		case control.TopicSubscribedID:
			var told control.TopicSubscribed
			if err := told.UnmarshalNova(payload); err != nil {
				k.t.Error(err)
			}
			at.Epoch, at.Offset = told.Epoch, told.Offset
		case control.GapID:
			k.t.Error("a gap")
		case market.QuoteEvent.ID():
			var q market.Quote
			if err := q.UnmarshalNova(payload); err != nil {
				k.t.Error(err)
			}
			_, offset := trailer(m.data)
			if offset <= uint64(at.Offset) {
				k.t.Errorf("offset %d after %d", offset, at.Offset)
			}
			at.Offset = int64(offset)
			k.learn(offset, q.Ts, false)
		}
	}
}
