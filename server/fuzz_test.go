package server_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/wire/control"
)

// How FuzzInbound sends its bytes.
const (
	asBytes uint8 = iota
	asMessage
	asBatch
	asCompressed
)

// FuzzInbound gives a connection any bytes after its handshake: raw, masked as a
// message, as one of several frames, and as a compressed one. Whatever they are, the connection answers a ping or ends, and
// a neighbour is served as before.
func FuzzInbound(f *testing.F) {
	deflater, err := ws.NewDeflater(1)
	if err != nil {
		f.Fatal(err)
	}
	hello, err := (&control.Hello{Version: 2, Caps: []string{"batch/1"}}).AppendFrame(nil)
	if err != nil {
		f.Fatal(err)
	}
	add := func(m frameWriter) {
		frame, err := m.AppendFrame(nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(frame, asMessage)
		f.Add(ws.AppendMasked(nil, ws.Binary, frame, [4]byte{1, 2, 3, 4}), asBytes)
		f.Add(deflater.Deflate(frame), asCompressed)
		f.Add(append(frame, frame...), asBatch)
	}
	add(&control.Hello{Version: 2, Caps: []string{"topics/1"}, LastSeq: 7})
	add(&control.Subscribe{Topic: "t"})
	add(&control.TopicSubscribe{ID: 1, Topic: "t", Epoch: "e", Offset: -1})
	add(&control.SnapshotRequest{Topic: "t", FromSeq: 1})
	add(&control.Resume{LastSeq: 1 << 60})
	add(&control.RpcCall{ID: "1", Name: "quote", PayloadB64: "AAAA"})
	quoteFrame, err := market.QuoteEvent.AppendFrame(nil, quote(1))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(quoteFrame, asMessage)
	f.Add(bytes.Repeat(quoteFrame, 3), asBatch)
	f.Add(append(bytes.Repeat(quoteFrame, 2), 9), asBatch)
	f.Add(deflater.Deflate(bytes.Repeat(quoteFrame, 50)), asCompressed)
	f.Add(ws.AppendMasked(nil, ws.Close, ws.AppendClosePayload(nil, 1000, "x"), [4]byte{}), asBytes)

	r := newRig(f, hub.Options{}, server.Options{AcceptRate: -1, Compression: server.Compression{Level: 1}})
	market.QuoteEvent.On(r.hub, func(ctx context.Context, from *nova.Client, q *market.Quote) error {
		return market.QuoteEvent.Publish(ctx, nil, nova.Topic("t"), q)
	})
	addr := r.web.Listener.Addr().String()
	neighbour := r.join("", "")
	f.Fuzz(func(t *testing.T, data []byte, as uint8) {
		nc, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		nc.SetDeadline(time.Now().Add(patience))
		io.WriteString(nc, "GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
			"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Extensions: permessage-deflate\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
		in := bufio.NewReader(nc)
		if res, err := http.ReadResponse(in, nil); err != nil || res.StatusCode != 101 {
			t.Fatal(res, err)
		}
		key := [4]byte{4, 3, 2, 1}
		switch as % 4 {
		case asMessage:
			data = ws.AppendMasked(nil, ws.Binary, data, key)
		case asBatch:
			data = ws.AppendMasked(ws.AppendMasked(nil, ws.Binary, hello, key), ws.Binary, data, key)
		case asCompressed:
			data = ws.AppendMaskedCompressed(nil, ws.Binary, data, key)
		}
		nc.Write(data)
		nc.Write(ping())
		nc.(*net.TCPConn).CloseWrite()
		parser := ws.NewParser(false, 0)
		parser.AllowCompressed()
		buf := make([]byte, 4096)
		for { // only frames of the protocol come back, then the end
			n, err := in.Read(buf)
			if n > 0 {
				if err := parser.Feed(buf[:n], new(rawPeer)); err != nil {
					t.Fatalf("the server wrote rubbish: %v", err)
				}
			}
			var late net.Error
			if errors.As(err, &late) && late.Timeout() {
				t.Fatal("the connection neither answers nor ends")
			}
			if err != nil {
				break
			}
		}
		neighbour.t = t
		neighbour.net.SetDeadline(time.Now().Add(patience))
		neighbour.sync()
	})
}
