package server_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/wire/control"
)

// raw builds a frame of a client bit by bit, apart from the codec under test.
type raw struct {
	first    byte // FIN, RSV, opcode
	payload  []byte
	unmasked bool
	width    int // bytes of the extended length: 0 = as short as can be
}

func (f raw) bytes() []byte {
	n, width := len(f.payload), f.width
	if width == 0 {
		switch {
		case n > 65535:
			width = 8
		case n > 125:
			width = 2
		}
	}
	out := []byte{f.first}
	switch width {
	case 2:
		out = binary.BigEndian.AppendUint16(append(out, 126), uint16(n))
	case 8:
		out = binary.BigEndian.AppendUint64(append(out, 127), uint64(n))
	default:
		out = append(out, byte(n))
	}
	if f.unmasked {
		return append(out, f.payload...)
	}
	key := [4]byte{0x37, 0xfa, 0x21, 0x3d}
	out[1] |= 0x80
	out = append(out, key[:]...)
	for i, b := range f.payload {
		out = append(out, b^key[i%4])
	}
	return out
}

func join(frames ...raw) []byte {
	var out []byte
	for _, f := range frames {
		out = append(out, f.bytes()...)
	}
	return out
}

func closing(code int, reason string) []byte {
	return raw{first: 0x88, payload: append(binary.BigEndian.AppendUint16(nil, uint16(code)), reason...)}.bytes()
}

// pingFrame is the base protocol's ping, a message that is answered.
func pingFrame(t *testing.T) []byte {
	t.Helper()
	m := control.Ping{Ts: 42}
	frame, err := m.AppendFrame(nil)
	if err != nil {
		t.Fatal(err)
	}
	return frame
}

// The cases of the Autobahn test suite that concern what a client sends, against a
// live server (RFC 6455, sections 5 and 7).
func TestViolationsOfRFC6455(t *testing.T) {
	long := bytes.Repeat([]byte("x"), 126)
	for name, c := range map[string]struct {
		send []byte
		code int
	}{
		"RSV1":                          {join(raw{first: 0xc2}), 1002},
		"RSV2":                          {join(raw{first: 0xa2}), 1002},
		"RSV3":                          {join(raw{first: 0x92}), 1002},
		"RSV1 on a ping":                {join(raw{first: 0xc9}), 1002},
		"all RSV on a close":            {join(raw{first: 0xf8}), 1002},
		"opcode 3":                      {join(raw{first: 0x83}), 1002},
		"opcode 7":                      {join(raw{first: 0x87}), 1002},
		"opcode 11":                     {join(raw{first: 0x8b}), 1002},
		"opcode 15":                     {join(raw{first: 0x8f}), 1002},
		"unmasked binary":               {join(raw{first: 0x82, payload: []byte("x"), unmasked: true}), 1002},
		"unmasked ping":                 {join(raw{first: 0x89, unmasked: true}), 1002},
		"ping of 126 bytes":             {join(raw{first: 0x89, payload: long}), 1002},
		"pong of 126 bytes":             {join(raw{first: 0x8a, payload: long}), 1002},
		"close of 126 bytes":            {join(raw{first: 0x88, payload: append([]byte{3, 232}, long[2:]...)}), 1002},
		"ping with a wide length":       {join(raw{first: 0x89, payload: []byte("x"), width: 2}), 1002},
		"fragmented ping":               {join(raw{first: 0x09}), 1002},
		"fragmented pong":               {join(raw{first: 0x0a}), 1002},
		"fragmented close":              {join(raw{first: 0x08}), 1002},
		"continuation first":            {join(raw{first: 0x80, payload: []byte("x")}), 1002},
		"continuation, not last":        {join(raw{first: 0x00, payload: []byte("x")}), 1002},
		"continuation after a whole":    {join(raw{first: 0x82, payload: pingFrame(t)}, raw{first: 0x80}), 1002},
		"binary inside a message":       {join(raw{first: 0x02, payload: []byte("x")}, raw{first: 0x82}), 1002},
		"text inside a message":         {join(raw{first: 0x02, payload: []byte("x")}, raw{first: 0x81}), 1002},
		"text":                          {join(raw{first: 0x81, payload: []byte("hi")}), 1003},
		"empty text":                    {join(raw{first: 0x81}), 1003},
		"fragmented text":               {join(raw{first: 0x01, payload: []byte("h")}, raw{first: 0x80, payload: []byte("i")}), 1003},
		"length 125 in 16 bits":         {join(raw{first: 0x82, payload: long[:125], width: 2}), 1002},
		"length 126 in 64 bits":         {join(raw{first: 0x82, payload: long, width: 8}), 1002},
		"length 0 in 64 bits":           {join(raw{first: 0x82, width: 8}), 1002},
		"length with the top bit":       {[]byte{0x82, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4}, 1002},
		"longer than MaxMessageSize":    {[]byte{0x82, 0xff, 0, 0, 0, 0, 0, 1, 0, 1, 1, 2, 3, 4}, 1009},
		"fragments over MaxMessageSize": {join(raw{first: 0x02, payload: make([]byte, 40<<10)}, raw{first: 0x80, payload: make([]byte, 40<<10)}), 1009},
		"close of one byte":             {join(raw{first: 0x88, payload: []byte{3}}), 1002},
		"close reason not UTF-8":        {closing(1000, "\xc3\x28"), 1007},
		"close reason cut":              {closing(1000, "\xe2\x82"), 1007},
		"close reason a surrogate":      {closing(1000, "\xed\xa0\x80"), 1007},
		"empty close":                   {join(raw{first: 0x88}), 1000},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, hub.Options{}, server.Options{})
			p := r.join("", "")
			p.sync()
			p.write(c.send)
			if code, _ := p.ended(); code != c.code {
				t.Errorf("closed %d, want %d", code, c.code)
			}
			p.net.Close()
		})
	}
}

func TestCloseCodesOfClients(t *testing.T) {
	want := map[int]int{}
	for _, code := range []int{1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3999, 4000, 4999} {
		want[code] = code // echoed
	}
	for _, code := range []int{0, 1, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65535} {
		want[code] = 1002
	}
	r := newRig(t, hub.Options{}, server.Options{})
	for code, echo := range want {
		p := r.join("", "")
		p.sync()
		p.write(closing(code, "bye ⌘"))
		if got, _ := p.ended(); got != echo {
			t.Errorf("close %d is answered with %d, want %d", code, got, echo)
		}
		p.net.Close()
	}
}

func TestPingsInsideAMessage(t *testing.T) {
	ping := pingFrame(t)
	p := newRig(t, hub.Options{}, server.Options{}).join("", "")
	p.sync()
	p.write(join(
		raw{first: 0x02, payload: ping[:5]}, raw{first: 0x89, payload: []byte("one")},
		raw{first: 0x00}, raw{first: 0x8a, payload: []byte("a pong nobody asked for")},
		raw{first: 0x80, payload: ping[5:]},
	))
	for _, op := range []ws.Opcode{ws.Pong, ws.Binary} {
		m := p.next()
		if m.op != op || op == ws.Pong && string(m.data) != "one" {
			t.Fatalf("got a %v frame %q, want a %v", m.op, m.data, op)
		}
	}
	for _, payload := range []string{"", strings.Repeat("y", 125), "\x00\xff\xfe"} {
		p.write(join(raw{first: 0x89, payload: []byte(payload)}))
		if m := p.next(); m.op != ws.Pong || string(m.data) != payload {
			t.Errorf("got a %v frame of %d bytes, want a pong of %d", m.op, len(m.data), len(payload))
		}
	}
}

// A message in two fragments with a ping between them, and a close, cut in two at
// every byte.
func TestFramesSplitAtEveryByte(t *testing.T) {
	ping := pingFrame(t)
	all := append(join(raw{first: 0x02, payload: ping[:9]}, raw{first: 0x89, payload: []byte("p")},
		raw{first: 0x80, payload: ping[9:]}), closing(4321, "bye")...)
	r := newRig(t, hub.Options{}, server.Options{})
	for cut := range all { // 0: byte by byte
		p := r.join("", "")
		p.sync()
		if cut == 0 {
			for i := range all {
				p.write(all[i : i+1])
			}
		} else {
			p.write(all[:cut])
			p.write(all[cut:])
		}
		for _, op := range []ws.Opcode{ws.Pong, ws.Binary, ws.Close} {
			if m := p.next(); m.op != op {
				t.Fatalf("cut at %d: got a %v frame, want a %v", cut, m.op, op)
			}
		}
		if p.closed.Code != 4321 {
			t.Fatalf("cut at %d: closed %d", cut, p.closed.Code)
		}
		p.net.Close()
	}
}

// Frames in the same segment as the handshake are not lost.
func TestBytesBehindTheHandshake(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	nc, err := net.Dial("tcp", r.web.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	nc.SetDeadline(time.Now().Add(patience))
	request := "GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
	hello := control.Hello{Version: 2}
	frame, err := hello.AppendFrame(nil)
	if err != nil {
		t.Fatal(err)
	}
	early := join(raw{first: 0x82, payload: frame}, raw{first: 0x82, payload: pingFrame(t)})
	if _, err := nc.Write(append([]byte(request), early...)); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(nc)
	res, err := http.ReadResponse(in, nil)
	if err != nil || res.StatusCode != http.StatusSwitchingProtocols {
		t.Fatal(res, err)
	}
	p := &rawPeer{t: t, net: nc, in: in, parser: ws.NewParser(false, 0)}
	got := map[uint32]bool{}
	for range 3 {
		head, _, _ := p.frame()
		got[head.ID] = true
	}
	if !got[control.HelloID] || !got[control.WelcomeID] || !got[control.PongID] {
		t.Errorf("got %v", got)
	}
}
