package client_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	gobwas "github.com/gobwas/ws"

	"github.com/ignex/nova"
	"github.com/ignex/nova/client"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/wire"
	"github.com/ignex/nova/wire/control"
)

// fake is a server that does what a test tells it, in memory, so that time is
// the test's own.
type fake struct {
	t     *testing.T
	peers chan *peer

	mu     sync.Mutex
	refuse string // an HTTP answer instead of the upgrade
	down   bool   // dialling fails
	dials  []time.Time
}

func newFake(t *testing.T) *fake { return &fake{t: t, peers: make(chan *peer, 100)} }

func (f *fake) set(refuse string, down bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refuse, f.down = refuse, down
}

func (f *fake) dialled() []time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]time.Time(nil), f.dials...)
}

func (f *fake) dial(_ context.Context, network, addr string) (net.Conn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dials = append(f.dials, time.Now())
	if f.down {
		return nil, errors.New("connection refused")
	}
	ours, theirs := net.Pipe()
	p := &peer{t: f.t, conn: ours, frames: make(chan string, 10000), raw: make(chan []byte, 10000), sizes: make(chan int, 1000), parser: ws.NewParser(true, 0)}
	go p.run(f.refuse, f.peers)
	return theirs, nil
}

// peer is one connection as the server sees it.
type peer struct {
	t      *testing.T
	conn   net.Conn
	parser ws.Parser
	uri    string
	auth   string
	frames chan string // what the client sent, as text; closed with the connection
	raw    chan []byte // its frames as they are
	sizes  chan int    // of its messages, as far as there is room
}

func (p *peer) run(refuse string, accepted chan<- *peer) {
	defer close(p.frames)
	if refuse != "" {
		buf := make([]byte, 4096)
		for request := ""; !strings.HasSuffix(request, "\r\n\r\n"); {
			n, err := p.conn.Read(buf)
			if err != nil {
				return
			}
			request += string(buf[:n])
		}
		_, _ = io.WriteString(p.conn, refuse) // the client may be gone already
		p.conn.Close()
		return
	}
	u := gobwas.Upgrader{
		OnRequest: func(uri []byte) error { p.uri = string(uri); return nil },
		OnHeader: func(key, value []byte) error {
			if string(key) == "Authorization" {
				p.auth = string(value)
			}
			return nil
		},
	}
	if _, err := u.Upgrade(p.conn); err != nil {
		return
	}
	accepted <- p
	buf := make([]byte, 4096)
	for {
		n, err := p.conn.Read(buf)
		if err != nil || p.parser.Feed(buf[:n], p) != nil {
			return
		}
	}
}

func (p *peer) Message(_ ws.Opcode, data []byte) error {
	if len(p.sizes) < cap(p.sizes) {
		p.sizes <- len(data)
	}
	for len(data) > 0 {
		var frame []byte
		frame, data = wire.Split(data)
		p.raw <- append([]byte(nil), frame...)
		p.frames <- describe(frame)
	}
	return nil
}

func (p *peer) Control(op ws.Opcode, data []byte) error {
	text := fmt.Sprintf("%v %q", op, data)
	if op == ws.Close {
		code, reason, _ := ws.ParseClose(data) // checked by the parser
		text = strings.TrimSpace(fmt.Sprintf("close %d %s", code, reason))
	}
	p.frames <- text
	return nil
}

// describe writes a client's frame as text.
func describe(frame []byte) string {
	h, payload, err := wire.ParseFrame(frame)
	if err != nil {
		return err.Error()
	}
	read := func(m interface{ UnmarshalNova([]byte) error }, text func() string) string {
		if err := m.UnmarshalNova(payload); err != nil {
			return err.Error()
		}
		return text()
	}
	switch h.ID {
	case control.HelloID:
		var m control.Hello
		return read(&m, func() string { return fmt.Sprintf("hello %d %v %d", m.Version, m.Caps, m.LastSeq) })
	case control.SubscribeID:
		var m control.Subscribe
		return read(&m, func() string { return fmt.Sprintf("subscribe %s", m.Topic) })
	case control.UnsubscribeID:
		var m control.Unsubscribe
		return read(&m, func() string { return fmt.Sprintf("unsubscribe %s", m.Topic) })
	case control.JoinGroupID:
		var m control.JoinGroup
		return read(&m, func() string { return fmt.Sprintf("joinGroup %s", m.Group) })
	case control.LeaveGroupID:
		var m control.LeaveGroup
		return read(&m, func() string { return fmt.Sprintf("leaveGroup %s", m.Group) })
	case control.SnapshotRequestID:
		var m control.SnapshotRequest
		return read(&m, func() string { return fmt.Sprintf("snapshot %s %d", m.Topic, m.FromSeq) })
	case control.PingID:
		var m control.Ping
		return read(&m, func() string { return "ping" })
	case control.ResumeID:
		var m control.Resume
		return read(&m, func() string { return fmt.Sprintf("resume %d", m.LastSeq) })
	case control.TopicSubscribeID:
		var m control.TopicSubscribe
		return read(&m, func() string { return fmt.Sprintf("nova.subscribe %d %s %q %d", m.ID, m.Topic, m.Epoch, m.Offset) })
	case control.AttachID:
		var m control.Attach
		return read(&m, func() string {
			text := fmt.Sprintf("attach %q %d", m.Session, m.LastSeq)
			for _, c := range m.Topics {
				text += fmt.Sprintf(" %s@%s:%d", c.Topic, c.Epoch, c.Offset)
			}
			return text
		})
	case control.AuthID:
		var m control.Auth
		return read(&m, func() string { return fmt.Sprintf("auth %d %s", m.ID, m.Token) })
	case control.AckID:
		var m control.Ack
		return read(&m, func() string { return fmt.Sprintf("ack %d", m.Seq) })
	case market.ChatEvent.ID():
		var m market.Chat
		return read(&m, func() string {
			if h.Seq > 0 {
				return fmt.Sprintf("chat %s #%d", m.Text, h.Seq)
			}
			return fmt.Sprintf("chat %s", m.Text)
		})
	}
	return fmt.Sprintf("event %#x", h.ID)
}

// expect takes the client's next frames.
func (p *peer) expect(want ...string) {
	p.t.Helper()
	for _, w := range want {
		select {
		case got, ok := <-p.frames:
			if !ok {
				got = "the end"
			}
			if got != w {
				p.t.Fatalf("the client sent %q, want %q", got, w)
			}
		case <-time.After(time.Hour):
			p.t.Fatalf("the client sent nothing, want %q", w)
		}
	}
}

// quiet checks that the client has nothing to say.
func (p *peer) quiet() {
	p.t.Helper()
	synctest.Wait()
	select {
	case got := <-p.frames:
		p.t.Fatalf("the client sent %q, want nothing", got)
	default:
	}
}

func (p *peer) write(b []byte) {
	p.t.Helper()
	if _, err := p.conn.Write(b); err != nil {
		p.t.Errorf("write to the client: %v", err)
	}
}

func (p *peer) send(frame []byte) {
	p.t.Helper()
	p.write(ws.AppendFrame(nil, ws.Binary, frame))
}

type appender interface {
	AppendFrame([]byte) ([]byte, error)
}

func (p *peer) control(m appender) {
	p.t.Helper()
	frame, err := m.AppendFrame(nil)
	if err != nil {
		p.t.Fatal(err)
	}
	p.send(frame)
}

// welcome says hello and welcome.
func (p *peer) welcome(caps ...string) {
	p.t.Helper()
	p.control(&control.Hello{Version: 2, Caps: caps})
	p.control(&control.Welcome{ClientID: "c1", Groups: []string{"staff", "all"}})
}

func (p *peer) close(code int, reason string) {
	p.t.Helper()
	p.write(ws.AppendClose(nil, code, reason))
	for got := range p.frames {
		if strings.HasPrefix(got, "close") {
			break
		}
	}
	p.conn.Close()
	for range p.frames {
	}
}

// chat is a frame of a chat event, numbered unless seq is 0.
func chat(text string, seq uint64) []byte {
	frame, err := market.ChatEvent.AppendFrame(nil, &market.Chat{Room: "r", Text: text})
	if err != nil {
		panic(err)
	}
	if seq > 0 {
		wire.Stamp(frame, seq)
	}
	return frame
}

// trailed adds a topic trailer.
func trailed(frame []byte, ref, offset uint64) []byte {
	frame[5] |= 2
	frame = binary.LittleEndian.AppendUint64(frame, ref)
	return binary.LittleEndian.AppendUint64(frame, offset)
}

// next returns the next connection.
func (f *fake) next() *peer {
	f.t.Helper()
	select {
	case p := <-f.peers:
		p.t = f.t
		return p
	case <-time.After(time.Hour):
		f.t.Fatal("the client does not connect")
		return nil
	}
}

// start makes a client of f and brings it up with a server of these capabilities.
func (f *fake) start(o client.Options, caps ...string) (*client.Conn, *peer) {
	f.t.Helper()
	c := f.client(o)
	result := make(chan error, 1)
	go func() { result <- c.Connect(f.t.Context()) }()
	p := f.next()
	<-p.frames
	p.welcome(caps...)
	if err := <-result; err != nil {
		f.t.Fatal(err)
	}
	return c, p
}

// client makes a client of f that is closed with the test.
func (f *fake) client(o client.Options) *client.Conn {
	f.t.Helper()
	o.NetDial = f.dial
	c, err := client.New("ws://test/ws", o)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { // of a test that failed: the client would go on for ever
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = c.Close(ctx)
	})
	return c
}

// shut closes the client and lets the peer answer.
func shut(t *testing.T, c *client.Conn, p *peer) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- c.Close(t.Context()) }()
	if p != nil {
		for got := range p.frames {
			if strings.HasPrefix(got, "close") {
				p.write(ws.AppendClose(nil, 1000, ""))
				p.conn.Close()
			}
		}
	}
	if err := <-done; err != nil {
		t.Errorf("close: %v", err)
	}
	if s := c.Status(); s.State != client.Closed || s.Err != nil {
		t.Errorf("status after close: %+v", s)
	}
}

// record collects what callbacks tell.
type record struct {
	mu    sync.Mutex
	lines []string
}

func (r *record) add(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}

func (r *record) take() string {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	got := strings.Join(r.lines, ", ")
	r.lines = nil
	return got
}

func (r *record) status(s client.Status) {
	if s.Err != nil {
		r.add("%v (%v)", s.State, nova.CodeOf(s.Err))
		return
	}
	r.add("%v", s.State)
}

func (r *record) is(t *testing.T, want string) {
	t.Helper()
	if got := r.take(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
