package server_test

import (
	"bytes"
	"compress/flate"
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/wire"
	"github.com/ignex/nova/wire/control"
)

func TestCompressionOffers(t *testing.T) {
	const yes = "permessage-deflate; server_no_context_takeover; client_no_context_takeover"
	r := newRig(t, hub.Options{}, server.Options{Compression: server.Compression{Level: 1}})
	off := newRig(t, hub.Options{}, server.Options{})
	for _, c := range []struct{ offer, want string }{
		{"", ""},
		{"permessage-deflate", yes},
		{"permessage-deflate; client_max_window_bits", yes}, // Chromium, Firefox
		{"permessage-deflate; client_max_window_bits=9", yes},
		{"permessage-deflate; server_no_context_takeover; client_no_context_takeover", yes},
		{"permessage-deflate; server_max_window_bits=15", yes + "; server_max_window_bits=15"},
		{"permessage-deflate; server_max_window_bits=14", ""},
		{"permessage-deflate; server_max_window_bits=9", ""},
		{"permessage-deflate; server_max_window_bits=10, permessage-deflate", yes},
		{"permessage-deflate; server_max_window_bits", ""},
		{"permessage-deflate; server_max_window_bits=16", ""},
		{"permessage-deflate; no_such_parameter", ""},
		{"permessage-deflate; server_no_context_takeover; server_no_context_takeover", ""},
		{"x-webkit-deflate-frame", ""},
		{"x-other, permessage-deflate", yes},
		{"permessage-deflate;;=", ""},
	} {
		header := ""
		if c.offer != "" {
			header = "Sec-WebSocket-Extensions: " + c.offer + "\r\n"
		}
		for _, rig := range []*rig{r, off} {
			p, res := rig.tryDial("", header)
			if p == nil {
				t.Fatalf("%q: %s", c.offer, res.Status)
			}
			want := c.want
			if rig == off {
				want = ""
			}
			if got := res.Header.Get("Sec-WebSocket-Extensions"); got != want {
				t.Errorf("%q: answered %q, want %q", c.offer, got, want)
			}
			p.net.Close()
		}
	}
	if _, err := server.New(r.hub, server.Options{Compression: server.Compression{Level: 10}}); err == nil {
		t.Error("level 10 is taken")
	}
}

// compressing is a client of gorilla/websocket that agreed on compression.
type compressing struct {
	*websocket.Conn
	t testing.TB
}

func (r *rig) compressing(caps ...string) *compressing {
	r.t.Helper()
	d := websocket.Dialer{EnableCompression: true}
	c, res, err := d.Dial("ws"+strings.TrimPrefix(r.web.URL, "http")+"/ws", nil)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { c.Close() })
	if !strings.Contains(res.Header.Get("Sec-WebSocket-Extensions"), "permessage-deflate") {
		r.t.Fatal("no compression")
	}
	p := &compressing{Conn: c, t: r.t}
	p.send(&control.Hello{Version: 2, Caps: caps})
	return p
}

func (p *compressing) send(m frameWriter) {
	p.t.Helper()
	frame, err := m.AppendFrame(nil)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := p.WriteMessage(websocket.BinaryMessage, frame); err != nil {
		p.t.Fatal(err)
	}
}

// sync waits until the server has handled what was sent before.
func (p *compressing) sync() {
	p.t.Helper()
	p.send(&control.Ping{Ts: 1})
	p.SetReadDeadline(time.Now().Add(patience))
	for {
		_, frame, err := p.ReadMessage()
		if err != nil {
			p.t.Fatal(err)
		}
		if head, _, err := wire.ParseFrame(frame); err == nil && head.ID == control.PongID {
			return
		}
	}
}

// chatText is text of about n bytes that compresses as events do.
func chatText(n, seed int) string {
	var b strings.Builder
	for i := seed; b.Len() < n; i++ {
		fmt.Fprintf(&b, `{"id":%d,"user":"u%d","text":"message number %d"},`, i*7919, i%13, i)
	}
	return b.String()[:n]
}

// Another implementation reads every frame, long ones and short ones behind them,
// with numbers that differ by connection, and with positions of a topic.
func TestCompressionJudge(t *testing.T) {
	for _, caps := range [][]string{nil, {"topics/1"}, {"topics/1", "batch/1"}} {
		for _, level := range []int{1, 6, 9} {
			r := newRig(t, hub.Options{}, server.Options{Compression: server.Compression{Level: level}})
			late := r.compressing(caps...)
			late.send(&control.Subscribe{Topic: "t"})
			early := r.compressing(caps...)
			early.send(&control.Subscribe{Topic: "t"})
			late.sync()
			early.sync()
			var want []string
			for i := range 60 {
				text := chatText([]int{10, 700, 3000, 9000, 30_000, 600}[i%6], i)
				want = append(want, text)
				if err := market.ChatEvent.Publish(context.Background(), r.hub, nova.Topic("t"), &market.Chat{Room: "r", Text: text}); err != nil {
					t.Fatal(err)
				}
				if i == 10 {
					market.ChatEvent.Publish(context.Background(), r.hub, nova.Broadcast(), &market.Chat{Room: "r", Text: text})
					want = append(want, text)
				}
			}
			for _, p := range []*compressing{late, early} {
				for i := 0; i < len(want); {
					_, message, err := p.ReadMessage()
					if err != nil {
						t.Fatal(err)
					}
					for len(message) > 0 {
						var frame []byte
						frame, message = wire.Split(message)
						head, payload, err := wire.ParseFrame(frame)
						if err != nil {
							t.Fatalf("%v, level %d, frame %d: %v", caps, level, i, err)
						}
						if head.ID != market.ChatEvent.ID() {
							continue
						}
						var chat market.Chat
						if err := chat.UnmarshalNova(payload); err != nil || chat.Text != want[i] {
							t.Fatalf("%v, level %d, frame %d: %v, %d bytes of text, want %d", caps, level, i, err, len(chat.Text), len(want[i]))
						}
						if i++; head.Seq != uint64(i) && caps == nil {
							t.Fatalf("number %d, want %d", head.Seq, i)
						}
					}
				}
			}
		}
	}
}

// What clients send compressed is handled, as any client of another
// implementation does with each message.
func TestCompressedInbound(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{Compression: server.Compression{Level: 1}})
	got := make(chan string, 100)
	market.ChatEvent.On(r.hub, func(_ context.Context, _ *nova.Client, c *market.Chat) error {
		got <- c.Text
		return nil
	})
	p := r.compressing()
	for i := range 30 {
		text := chatText(1+i*1000, i)
		if i == 29 {
			text = strings.Repeat("x", 60_000)
		}
		frame, err := market.ChatEvent.AppendFrame(nil, &market.Chat{Room: "r", Text: text})
		if err != nil {
			t.Fatal(err)
		}
		p.EnableWriteCompression(i%3 > 0)
		if err := p.WriteMessage(websocket.BinaryMessage, frame); err != nil {
			t.Fatal(err)
		}
		if handled := <-got; handled != text {
			t.Fatalf("message %d: %d bytes handled, want %d", i, len(handled), len(text))
		}
	}
}

// rawCompressed is a peer that sees the bytes of messages as they are.
func (r *rig) rawCompressed() *rawPeer {
	p := r.dial("", "Sec-WebSocket-Extensions: permessage-deflate\r\n")
	p.parser.AllowCompressed()
	return r.greet(p)
}

// A payload is compressed once: all receivers get it within 3 % of the bytes that
// compressing each message by itself takes.
func TestCompressedBytes(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{Compression: server.Compression{Level: 1}})
	p := r.rawCompressed()
	p.sync()
	before := r.srv.Metrics().SentBytes
	own, plain := 0, 0
	for i := range 200 {
		frame, err := market.ChatEvent.AppendFrame(nil, &market.Chat{Room: "r", Text: chatText(1024, i*50)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.hub.PublishFrame(context.Background(), nova.Publication{Event: eventOf(r, "chat"), Target: nova.Broadcast(), Frame: frame}); err != nil {
			t.Fatal(err)
		}
		wire.Stamp(frame, uint64(i+1))
		var b bytes.Buffer
		w, _ := flate.NewWriter(&b, 1)
		w.Write(frame)
		w.Flush()
		own += b.Len() - len(ws.DeflateTail) + 4
		plain += len(frame) + 4
	}
	for range 200 {
		p.frame()
	}
	sent := int(r.srv.Metrics().SentBytes - before)
	t.Logf("%d bytes plain, %d compressed each by itself, %d shared", plain, own, sent)
	if float64(sent) > 1.03*float64(own) {
		t.Errorf("%d bytes, compressed each by itself %d", sent, own)
	}
}

func eventOf(r *rig, name string) *wire.Event { return r.hub.Schema().Layout().EventByName(name) }

// Frames below the minimum, of events that say so, and of clients that did not ask
// go as they are.
func TestNotCompressed(t *testing.T) {
	layout := *market.Schema.Layout()
	layout.Events = slices.Clone(layout.Events)
	for i := range layout.Events {
		layout.Events[i].Compress = layout.Events[i].Name != "chat"
	}
	silent, err := nova.SchemaOf(&layout)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		schema *nova.Schema
		min    int
		text   string
		packed bool
	}{
		{"long", market.Schema, 0, chatText(700, 1), true},
		{"short", market.Schema, 0, chatText(400, 1), false},
		{"short, minimum 100", market.Schema, 100, chatText(400, 1), true},
		{"no minimum", market.Schema, -1, strings.Repeat("x", 90), true},
		{"compress: false", silent, 0, chatText(700, 1), false},
	} {
		r := newRig(t, hub.Options{Schema: c.schema}, server.Options{Compression: server.Compression{Level: 6, MinSize: c.min}})
		packed, plain := r.rawCompressed(), r.join("", "")
		for _, p := range []*rawPeer{packed, plain} {
			p.sync()
		}
		if err := market.ChatEvent.Publish(context.Background(), r.hub, nova.Broadcast(), &market.Chat{Room: "r", Text: c.text}); err != nil {
			t.Fatal(err)
		}
		for _, p := range []*rawPeer{packed, plain} {
			var first [1]byte
			if _, err := io.ReadFull(p.in, first[:]); err != nil {
				t.Fatal(err)
			}
			if got := first[0]&0x40 != 0; got != (c.packed && p == packed) {
				t.Errorf("%s: compressed %v", c.name, got)
			}
			if err := p.parser.Feed(first[:], p); err != nil {
				t.Fatal(err)
			}
			head, payload, _ := p.frame()
			var chat market.Chat
			if err := chat.UnmarshalNova(payload); err != nil || head.ID != market.ChatEvent.ID() || chat.Text != c.text {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	}
}

// An inflated message counts whole against the limit, and a bomb costs no memory.
func TestDeflateBomb(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{Compression: server.Compression{Level: 1}})
	var b bytes.Buffer
	w, _ := flate.NewWriter(&b, 9)
	io.CopyN(w, zeroes{}, 50<<20)
	w.Flush()
	bomb := ws.AppendMaskedCompressed(nil, ws.Binary, bytes.TrimSuffix(b.Bytes(), []byte(ws.DeflateTail)), [4]byte{1, 2, 3, 4})
	if len(bomb) > 64<<10 {
		t.Fatalf("the bomb has %d bytes", len(bomb))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 20 {
		p := r.rawCompressed()
		p.write(bomb)
		p.expectEnd(1009, "message too big")
	}
	runtime.ReadMemStats(&after)
	if grown := int64(after.Sys) - int64(before.Sys); grown > 20<<20 {
		t.Errorf("20 bombs of 50 MiB took %d MiB of memory", grown>>20)
	}
}

type zeroes struct{}

func (zeroes) Read(b []byte) (int, error) { clear(b); return len(b), nil }
