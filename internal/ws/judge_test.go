package ws_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	gobwas "github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"
	"github.com/gorilla/websocket"

	"github.com/ignex/nova/internal/ws"
)

// Frames of gobwas/ws, fragmented at random with control frames in between, are
// found as they were meant; ours are read back by gobwas/ws.
func TestJudgeGobwas(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 4))
	for range 200 {
		masked := rng.IntN(2) == 0
		var theirs, ours bytes.Buffer
		var want, back []string
		for range 1 + rng.IntN(6) {
			payload := bytes.Repeat([]byte{byte('a' + rng.IntN(26))}, rng.IntN(1+rng.IntN(70000)))
			key := [4]byte{byte(rng.Uint32()), byte(rng.Uint32()), 7, 9}
			if masked {
				ours.Write(ws.AppendMasked(nil, ws.Binary, payload, key))
			} else {
				ours.Write(ws.AppendFrame(nil, ws.Binary, payload))
			}
			back = append(back, short(payload))
			want = append(want, writeGobwas(t, rng, &theirs, payload, masked)...)
		}
		got, err := parse(theirs.Bytes(), masked, 0, random(rng))
		if err != nil || strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Fatalf("got  %q, %v\nwant %q", got, err, want)
		}
		for _, w := range back {
			//lint:ignore SA1019 the bytes it reads are our own
			f, err := gobwas.ReadFrame(&ours)
			if err != nil || f.Header.OpCode != gobwas.OpBinary || !f.Header.Fin || f.Header.Masked != masked {
				t.Fatalf("gobwas reads %+v, %v", f.Header, err)
			}
			if f.Header.Masked {
				f = gobwas.UnmaskFrameInPlace(f)
			}
			if short(f.Payload) != w {
				t.Fatalf("gobwas reads %q, want %q", short(f.Payload), w)
			}
		}
	}
}

func writeGobwas(t *testing.T, rng *rand.Rand, w io.Writer, payload []byte, masked bool) (want []string) {
	t.Helper()
	write := func(f gobwas.Frame) {
		if masked {
			f = gobwas.MaskFrame(f)
		}
		if err := gobwas.WriteFrame(w, f); err != nil {
			t.Fatal(err)
		}
	}
	op, rest := gobwas.OpBinary, payload
	for {
		n := len(rest)
		if rng.IntN(2) == 0 {
			n = rng.IntN(n + 1)
		}
		f := gobwas.NewFrame(op, n == len(rest), rest[:n])
		write(f)
		if rest = rest[n:]; f.Header.Fin {
			return append(want, fmt.Sprintf("binary %q", short(payload)))
		}
		if rng.IntN(2) == 0 {
			write(gobwas.NewPingFrame([]byte("between")))
			want = append(want, `ping "between"`)
		}
		op = gobwas.OpContinuation
	}
}

// gobwas/ws refuses the headers that this parser refuses, and no others, as far
// as its own check goes (it leaves lengths to its reader).
func TestJudgeGobwasHeaders(t *testing.T) {
	for first := range 256 {
		stream := frame(byte(first), "", false)
		_, err := parse(stream, false, 0, whole)
		h, herr := gobwas.ReadHeader(bytes.NewReader(stream))
		if herr == nil {
			herr = gobwas.CheckHeader(h, gobwas.StateClientSide)
		}
		if (err != nil) != (herr != nil) {
			t.Errorf("first byte %#x: we say %v, gobwas says %v", first, err, herr)
		}
	}
}

// A whole conversation with gorilla/websocket as the client and then as the server.
func TestJudgeGorilla(t *testing.T) {
	t.Run("client", func(t *testing.T) {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			conn, _, _, err := gobwas.UpgradeHTTP(r, w)
			if err != nil {
				t.Error(err)
				return
			}
			echo(t, conn, true, nil)
		}))
		defer srv.Close()
		c, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(srv.URL, "http"), nil)
		if err != nil {
			t.Fatal(err)
		}
		converse(t, c)
	})
	t.Run("server", func(t *testing.T) {
		done := make(chan struct{})
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer close(done)
			c, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
			if err != nil {
				t.Error(err)
				return
			}
			converse(t, c)
		}))
		defer srv.Close()
		conn, br, _, err := gobwas.Dial(t.Context(), "ws"+strings.TrimPrefix(srv.URL, "http"))
		if err != nil {
			t.Fatal(err)
		}
		var behind []byte // frames that came in one segment with the handshake
		if br != nil {
			behind, _ = br.Peek(br.Buffered())
		}
		echo(t, conn, false, behind)
		<-done
	})
}

// echo answers messages with themselves and pings with pongs until the close.
func echo(t *testing.T, conn net.Conn, server bool, behind []byte) {
	defer conn.Close()
	p := ws.NewParser(server, 1<<20)
	send := func(op ws.Opcode, data []byte) error {
		b := ws.AppendFrame(nil, op, data)
		if !server {
			b = ws.AppendMasked(nil, op, data, [4]byte{1, 2, 3, 4})
		}
		_, err := conn.Write(b)
		return err
	}
	h := funcs{message: send, control: func(op ws.Opcode, data []byte) error {
		switch op {
		case ws.Ping:
			return send(ws.Pong, data)
		case ws.Close:
			if err := send(ws.Close, data); err != nil {
				return err
			}
			return io.EOF
		}
		return nil
	}}
	if err := p.Feed(behind, h); err != nil {
		t.Error(err)
	}
	buf := make([]byte, 4096)
	for {
		n, err := conn.Read(buf)
		if err == nil {
			err = p.Feed(buf[:n], h)
		}
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Error(err)
			return
		}
	}
}

func converse(t *testing.T, c *websocket.Conn) {
	defer c.Close()
	pongs := 0
	c.SetPongHandler(func(s string) error {
		if s != "are you there" {
			t.Errorf("pong %q", s)
		}
		pongs++
		return nil
	})
	for _, n := range []int{0, 1, 125, 126, 65535, 65536, 300000} {
		msg := bytes.Repeat([]byte{byte(n)}, n)
		if err := c.WriteControl(websocket.PingMessage, []byte("are you there"), time.Time{}); err != nil {
			t.Error(err)
		}
		if err := c.WriteMessage(websocket.BinaryMessage, msg); err != nil {
			t.Error(err)
		}
		typ, got, err := c.ReadMessage()
		if err != nil || typ != websocket.BinaryMessage || !bytes.Equal(got, msg) {
			t.Errorf("%d bytes come back as %d, type %d, %v", n, len(got), typ, err)
			return
		}
	}
	if pongs != 7 {
		t.Errorf("%d pongs", pongs)
	}
	if err := c.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(4000, "paused")); err != nil {
		t.Error(err)
	}
	_, _, err := c.ReadMessage()
	if !websocket.IsCloseError(err, 4000) || err.(*websocket.CloseError).Text != "paused" {
		t.Errorf("close comes back as %v", err)
	}
}

// gobwas's own reader accepts what we write with a server's eyes.
func TestJudgeGobwasReader(t *testing.T) {
	var b bytes.Buffer
	b.Write(ws.AppendMasked(nil, ws.Binary, []byte("hello"), [4]byte{5, 6, 7, 8}))
	got, op, err := wsutil.ReadClientData(&b)
	if err != nil || op != gobwas.OpBinary || string(got) != "hello" {
		t.Errorf("got %q %v %v", got, op, err)
	}
	b.Write(ws.AppendClose(nil, 1011, "internal error"))
	_, _, err = wsutil.ReadServerData(&b)
	if ce, ok := err.(wsutil.ClosedError); !ok || ce.Code != 1011 || ce.Reason != "internal error" {
		t.Errorf("got %v", err)
	}
}
