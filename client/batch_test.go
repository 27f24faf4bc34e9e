package client_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/ignex/nova"
	"github.com/ignex/nova/client"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/wire/control"
)

// batch brings a client up with a server of batch/1.
func (f *fake) batch(c *client.Conn, m control.Session) *peer {
	f.t.Helper()
	go func() { _ = c.Connect(f.t.Context()) }()
	p := f.next()
	p.welcome("session/1", "topics/1", "batch/1")
	p.expect("hello 2 [session/1 topics/1 batch/1 calls/1] 0", `attach "" 0`)
	for len(p.sizes) > 0 { // what comes behind m is the test's
		<-p.sizes
	}
	m.ClientID, m.NextSeq = "c1", 1
	p.control(&m)
	return p
}

func TestBatchesFromTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		var r record
		c := f.client(r.options())
		market.ChatEvent.Listen(c, func(_ context.Context, m *market.Chat) error { r.add("chat %s", m.Text); return nil })
		p := f.batch(c, control.Session{})
		r.take()
		gap := encode(&control.Gap{From: 3, To: 4, Reason: 1})
		p.send(bytes.Join([][]byte{chat("1", 1), chat("2", 2), gap, chat("5", 5)}, nil))
		r.is(t, "chat 1, chat 2, chat 5")
		damaged := chat("x", 0)
		damaged[0] = 9
		p.send(bytes.Join([][]byte{chat("6", 6), damaged, chat("lost", 0)}, nil))
		p.send(chat("7", 7))
		r.is(t, "chat 6, invalid, chat 7")
		damaged = chat("x", 8) // decodes not, and takes nothing else with it
		damaged[18] ^= 0xff
		p.send(bytes.Join([][]byte{damaged, chat("9", 9)}, nil))
		if got := r.take(); !strings.HasSuffix(got, "chat 9") {
			t.Errorf("got %s", got)
		}
		if n := c.Stats(); n.Undecodable != 2 || n.Received == 0 {
			t.Errorf("%+v", n)
		}
		shut(t, c, p)
	})
}

// Frames that wait go in as few messages as the server's limit allows.
func TestBatchesToTheServer(t *testing.T) {
	size := len(chat("00", 1))
	for _, c := range []struct{ limit, frames int }{{0, 60}, {size * 10, 10}, {size*10 - 1, 9}, {size, 1}} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(t)
			conn := f.client(client.Options{})
			for i := range 60 {
				say(t, conn, fmt.Sprintf("%02d", i))
			}
			p := f.batch(conn, control.Session{MaxMessage: int64(c.limit)})
			for i := range 60 {
				p.expect(fmt.Sprintf("chat %02d #%d", i, i+1))
			}
			for left := 60; left > 0; left -= c.frames {
				if got := <-p.sizes; got != min(left, c.frames)*size {
					t.Errorf("limit %d: a message of %d bytes, want %d frames of %d", c.limit, got, min(left, c.frames), size)
				}
			}
			shut(t, conn, p)
		})
	}
}

// Events go both ways between a client and a server with compression, long and
// short ones, also over TLS; what does not fit a message is refused as before.
func TestCompressionBothWays(t *testing.T) {
	for _, secure := range []bool{false, true} {
		r := newReal(t, secure, hub.Options{}, server.Options{Compression: server.Compression{Level: 1}})
		market.ChatEvent.On(r.hub, func(ctx context.Context, from *nova.Client, in *market.Chat) error {
			return market.ChatEvent.Publish(ctx, r.hub, nova.Broadcast(), in)
		})
		for _, compressed := range []bool{true, false} {
			var read, written counter
			c := r.dial(t, client.Options{Compression: compressed, NetDial: func(ctx context.Context, network, addr string) (net.Conn, error) {
				conn, err := new(net.Dialer).DialContext(ctx, network, addr)
				return counted{conn, &read, &written}, err
			}})
			got := make(chan string, 200)
			market.ChatEvent.Listen(c, func(_ context.Context, m *market.Chat) error { got <- m.Text; return nil })
			total := 0
			var want []string
			for i := range 100 {
				text := strings.Repeat(fmt.Sprintf(`{"id":%d,"text":"again and again"},`, i), []int{1, 30, 300}[i%3])
				want = append(want, text)
				total += len(text)
				say(t, c, text)
			}
			for i, w := range want {
				if text := <-got; text != w {
					t.Fatalf("text %d has %d bytes, want %d", i, len(text), len(w))
				}
			}
			for _, n := range []int{read.n(), written.n()} {
				if small := n < total/4; small != compressed {
					t.Errorf("tls %v, compressed %v: %d bytes for %d of text", secure, compressed, n, total)
				}
			}
		}
	}
}

// A server that agrees to what was not offered is not spoken to.
func TestCompressionNotOffered(t *testing.T) {
	for _, answer := range []string{
		"permessage-deflate", // would keep its window
		"permessage-deflate; server_no_context_takeover; client_max_window_bits=9",
		"permessage-deflate; nonsense",
		"x-other",
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			accept := handshake(conn)
			fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\nSec-WebSocket-Extensions: %s\r\n\r\n", accept, answer)
			_, _ = io.Copy(io.Discard, conn)
		}()
		_, err = client.Dial(t.Context(), "ws://"+l.Addr().String(), client.Options{Compression: true, Reconnect: client.Reconnect{Off: true}})
		l.Close()
		if err == nil {
			t.Errorf("%q is taken", answer)
		}
	}
}

// handshake reads an upgrade and returns the accept key.
func handshake(conn net.Conn) string {
	req, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		return ""
	}
	sum := sha1.Sum([]byte(req.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// counter counts bytes.
type counter struct{ atomic.Int64 }

func (c *counter) n() int { return int(c.Load()) }

// counted is a connection that counts what goes through it.
type counted struct {
	net.Conn
	read, written *counter
}

func (c counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.read.Add(int64(n))
	return n, err
}

func (c counted) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.written.Add(int64(n))
	return n, err
}
