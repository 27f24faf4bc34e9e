package server_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/wire"
	"github.com/ignex/nova/wire/control"
)

const patience = 20 * time.Second

// rig is a server on a real socket.
type rig struct {
	t   testing.TB
	hub *hub.Hub
	srv *server.Server
	web *httptest.Server
}

func newRig(t testing.TB, ho hub.Options, so server.Options) *rig {
	t.Helper()
	r := newQuietRig(t, ho, so)
	mux := http.NewServeMux()
	mux.Handle("/ws", r.srv)
	mux.Handle("/", r.srv.Routes())
	r.serve(mux)
	return r
}

// serve has a quiet rig listen.
func (r *rig) serve(handler http.Handler) { r.web = httptest.NewServer(handler) }

// newQuietRig is one without a listener, for peers at a pipe.
func newQuietRig(t testing.TB, ho hub.Options, so server.Options) *rig {
	t.Helper()
	if ho.Schema == nil {
		ho.Schema = market.Schema
	}
	h, err := hub.New(ho)
	if err != nil {
		t.Fatal(err)
	}
	srv, err := server.New(h, so)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, hub: h, srv: srv}
	t.Cleanup(r.stop)
	return r
}

func (r *rig) stop() {
	r.srv.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := r.hub.Close(ctx); err != nil {
		r.t.Error(err)
	}
	if r.web != nil {
		r.web.Close()
	}
}

// rawPeer is a base-protocol client of the fewest lines: bytes it sends are the
// test's, what it reads is checked by wire alone.
type rawPeer struct {
	t      testing.TB
	net    net.Conn
	in     *bufio.Reader
	parser ws.Parser
	queue  []message
	closed *ws.CloseError
	id     string
}

type message struct {
	op   ws.Opcode
	data []byte
}

func (p *rawPeer) Message(op ws.Opcode, data []byte) error {
	p.queue = append(p.queue, message{op, append([]byte(nil), data...)})
	return nil
}

func (p *rawPeer) Control(op ws.Opcode, data []byte) error {
	if op == ws.Close {
		code, reason, _ := ws.ParseClose(data)
		p.closed = &ws.CloseError{Code: code, Reason: reason}
	}
	p.queue = append(p.queue, message{op, append([]byte(nil), data...)})
	return nil
}

// dial connects without saying anything. header lines end in \r\n.
func (r *rig) dial(query, header string) *rawPeer {
	r.t.Helper()
	p, res := r.tryDial(query, header)
	if p == nil {
		r.t.Fatalf("upgrade answered %s", res.Status)
	}
	return p
}

func (r *rig) tryDial(query, header string) (*rawPeer, *http.Response) {
	r.t.Helper()
	nc, err := net.Dial("tcp", r.web.Listener.Addr().String())
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { nc.Close() })
	return r.tryUpgrade(nc, query, header)
}

// upgrade is dial over a connection that is there.
func (r *rig) upgrade(nc net.Conn, query, header string) *rawPeer {
	r.t.Helper()
	p, res := r.tryUpgrade(nc, query, header)
	if p == nil {
		r.t.Fatalf("upgrade answered %s", res.Status)
	}
	return p
}

func (r *rig) tryUpgrade(nc net.Conn, query, header string) (*rawPeer, *http.Response) {
	r.t.Helper()
	nc.SetDeadline(time.Now().Add(patience))
	fmt.Fprintf(nc, "GET /ws%s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n%s\r\n", query, nc.RemoteAddr(), header)
	in := bufio.NewReader(nc)
	res, err := http.ReadResponse(in, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	if res.StatusCode != http.StatusSwitchingProtocols {
		return nil, res
	}
	if got := res.Header.Get("Sec-WebSocket-Accept"); got != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" {
		r.t.Fatalf("accept key %q", got)
	}
	return &rawPeer{t: r.t, net: nc, in: in, parser: ws.NewParser(false, 0)}, res
}

// join connects, reads hello and welcome, and says hello.
func (r *rig) join(query, header string, caps ...string) *rawPeer {
	r.t.Helper()
	return r.greet(r.dial(query, header), caps...)
}

// greet is the rest of join.
func (r *rig) greet(p *rawPeer, caps ...string) *rawPeer {
	r.t.Helper()
	var hello control.Hello
	p.control(control.HelloID, &hello)
	if hello.Version != 2 || hello.LastSeq != 0 {
		r.t.Fatalf("hello %+v", hello)
	}
	var welcome control.Welcome
	p.control(control.WelcomeID, &welcome)
	p.id = welcome.ClientID
	p.send(&control.Hello{Version: 2, Caps: caps})
	return p
}

type frameWriter interface {
	AppendFrame(dst []byte) ([]byte, error)
}

func (p *rawPeer) send(m frameWriter) {
	p.t.Helper()
	frame, err := m.AppendFrame(nil)
	if err != nil {
		p.t.Fatal(err)
	}
	p.message(frame)
}

// message sends a binary message.
func (p *rawPeer) message(frame []byte) {
	p.t.Helper()
	p.write(ws.AppendMasked(nil, ws.Binary, frame, [4]byte{1, 2, 3, 4}))
}

func (p *rawPeer) write(b []byte) {
	p.t.Helper()
	p.patience()
	if _, err := p.net.Write(b); err != nil {
		p.t.Fatal(err)
	}
}

// patience gives one read or write its time: on a busy machine a whole test may take
// longer. At a pipe, whose clock may be a test's own, the test says how long.
func (p *rawPeer) patience() {
	if p.net.LocalAddr().Network() != "pipe" {
		p.net.SetDeadline(time.Now().Add(patience))
	}
}

// tryNext returns the next message or control frame.
func (p *rawPeer) tryNext() (message, error) {
	for len(p.queue) == 0 {
		buf := make([]byte, 32<<10)
		p.patience()
		n, err := p.in.Read(buf)
		if err != nil {
			return message{}, err
		}
		if err := p.parser.Feed(buf[:n], p); err != nil {
			return message{}, err
		}
	}
	m := p.queue[0]
	p.queue = p.queue[1:]
	return m, nil
}

func (p *rawPeer) next() message {
	p.t.Helper()
	m, err := p.tryNext()
	if err != nil {
		p.t.Fatalf("reading: %v (close frame: %v)", err, p.closed)
	}
	return m
}

// frame returns the next binary message.
func (p *rawPeer) frame() (wire.Header, []byte, []byte) {
	p.t.Helper()
	for {
		m := p.next()
		if m.op == ws.Ping {
			p.write(ws.AppendMasked(nil, ws.Pong, m.data, [4]byte{}))
			continue
		}
		if m.op != ws.Binary {
			p.t.Fatalf("got a %v frame (%v) where data was due", m.op, p.closed)
		}
		head, payload, err := wire.ParseFrame(m.data)
		if err != nil {
			p.t.Fatal(err)
		}
		return head, payload, m.data
	}
}

func (p *rawPeer) control(id uint32, m interface{ UnmarshalNova([]byte) error }) {
	p.t.Helper()
	head, payload, _ := p.frame()
	if head.ID != id || head.Seq != 0 {
		p.t.Fatalf("frame %#x (seq %d), want control frame %#x", head.ID, head.Seq, id)
	}
	if err := m.UnmarshalNova(payload); err != nil {
		p.t.Fatal(err)
	}
}

// quote returns the next frame, which must be a quote with the next number.
func (p *rawPeer) quote(seq uint64) *market.Quote {
	p.t.Helper()
	head, payload, _ := p.frame()
	if head.ID != market.QuoteEvent.ID() {
		p.t.Fatalf("frame %#x, want a quote", head.ID)
	}
	if head.Seq != seq {
		p.t.Fatalf("number %d, want %d", head.Seq, seq)
	}
	q := new(market.Quote)
	if err := q.UnmarshalNova(payload); err != nil {
		p.t.Fatal(err)
	}
	return q
}

// ended reads up to the close frame and returns its code and reason.
func (p *rawPeer) ended() (int, string) {
	p.t.Helper()
	for p.closed == nil {
		if _, err := p.tryNext(); err != nil && p.closed == nil {
			p.t.Fatalf("connection ended without a close frame: %v", err)
		}
	}
	return p.closed.Code, p.closed.Reason
}

func (p *rawPeer) expectEnd(code int, reason string) {
	p.t.Helper()
	if c, r := p.ended(); c != code || r != reason {
		p.t.Fatalf("closed %d %q, want %d %q", c, r, code, reason)
	}
	p.write(ws.AppendMasked(nil, ws.Close, ws.AppendClosePayload(nil, code, ""), [4]byte{}))
	buf := make([]byte, 512)
	for {
		if _, err := p.in.Read(buf); err != nil {
			if !errors.Is(err, io.EOF) && !strings.Contains(err.Error(), "reset") {
				p.t.Fatalf("after the close: %v", err)
			}
			p.net.Close()
			return
		}
	}
}

// sync waits until the server has handled everything sent before.
func (p *rawPeer) sync() {
	p.t.Helper()
	p.send(&control.Ping{Ts: 42})
	for {
		head, _, _ := p.frame()
		if head.ID == control.PongID {
			return
		}
	}
}

func quote(n int) *market.Quote {
	return &market.Quote{Symbol: fmt.Sprintf("S%d", n), Bid: float64(n), Ask: float64(n) + 1, BidSize: 1, AskSize: 2, Ts: int64(n)}
}

// eventually waits for a condition that no event announces.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("never happened: %s", what)
		}
	}
}

// trailer splits a frame with a topic trailer.
func trailer(frame []byte) (ref, offset uint64) {
	at := len(frame) - wire.TrailerLen
	return binary.LittleEndian.Uint64(frame[at:]), binary.LittleEndian.Uint64(frame[at+8:])
}
