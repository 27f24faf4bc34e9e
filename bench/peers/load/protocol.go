package load

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/ignex/nova/bench/peers/internal/note"
	"github.com/ignex/nova/wire"
	"github.com/ignex/nova/wire/control"
)

// protocol is how to subscribe with one family of servers.
type protocol struct {
	path    string // "" = no WebSocket handshake at all
	header  string // more lines of the request
	framing framing
	join    func(h *handshake) error // nil: the upgrade alone subscribes
	message func() ([]byte, error)   // one inbound message; nil: 64 bytes
	op      byte                     // of inbound messages; 0 = binary
}

var protocols = map[string]*protocol{
	"raw":          {path: "/"},
	"bare":         {},
	"nova":         {path: "/", join: func(h *handshake) error { return joinNova(h) }, message: novaMove},
	"nova-batch":   {path: "/", framing: perSize, join: func(h *handshake) error { return joinNova(h, "batch/1") }},
	"nova-deflate": {path: "/", header: deflateOffer, join: func(h *handshake) error { return joinNova(h) }},
	"raw-deflate":  {path: "/", header: deflateOffer},
	"centrifuge": {path: "/?cf_protocol=protobuf", header: "Sec-WebSocket-Protocol: centrifuge-protobuf\r\n",
		framing: perReply, join: joinCentrifuge},
	"nats":     {path: "/", framing: perLine, join: joinNATS},
	"socketio": {path: "/socket.io/?EIO=4&transport=websocket", join: joinSocketIO},
}

// deflateOffer is what browsers offer.
const deflateOffer = "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n"

// inboundSize is the length of an inbound WebSocket message.
const inboundSize = 64

// joinNova speaks the base protocol; the pong to a ping tells that what was sent
// before it is done.
func joinNova(h *handshake, caps ...string) error {
	hello := control.Hello{Version: wire.Version, Caps: caps}
	subscribe := control.Subscribe{Topic: "t"}
	group := control.JoinGroup{Group: "g"}
	ping := control.Ping{Ts: 1}
	var out []byte
	for _, append := range []func([]byte) ([]byte, error){
		hello.AppendFrame, subscribe.AppendFrame, group.AppendFrame, ping.AppendFrame,
	} {
		frame, err := append(nil)
		if err != nil {
			return err
		}
		out = appendMasked(out, 2, frame)
	}
	if err := h.send(out); err != nil {
		return err
	}
	return h.until("pong", func(frame []byte) bool {
		head, _, err := wire.ParseFrame(frame)
		return err == nil && head.ID == control.PongID
	})
}

// novaMove is an event frame of inboundSize bytes.
func novaMove() ([]byte, error) {
	frame, err := note.MoveEvent.AppendFrame(nil, &note.Move{X: 1.5, Y: -2.5})
	if err == nil && len(frame) > inboundSize {
		err = fmt.Errorf("load: the inbound event has %d bytes, more than %d", len(frame), inboundSize)
	}
	return frame, err
}

// joinCentrifuge sends a connect and a subscribe command in the protobuf
// protocol: each a varint length and a Command (id = 1, connect = 4, subscribe = 5).
func joinCentrifuge(h *handshake) error {
	connect := []byte{8, 1, 0x22, 0}
	subscribe := []byte{8, 2, 0x2a, 3, 0x0a, 1, 't'}
	for i, command := range [][]byte{connect, subscribe} {
		if err := h.send(appendMasked(nil, 2, append([]byte{byte(len(command))}, command...))); err != nil {
			return err
		}
		want := []byte{8, byte(i + 1)} // Reply.id
		err := h.until("reply", func(frame []byte) bool {
			_, n := binary.Uvarint(frame)
			return n > 0 && bytes.HasPrefix(frame[n:], want)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func joinNATS(h *handshake) error {
	if err := h.until("INFO", func(frame []byte) bool { return bytes.HasPrefix(frame, []byte("INFO")) }); err != nil {
		return err
	}
	out := []byte("CONNECT {\"verbose\":false,\"pedantic\":false,\"lang\":\"bench\",\"version\":\"1\",\"protocol\":1}\r\nSUB t 1\r\nPING\r\n")
	if err := h.send(appendMasked(nil, 2, out)); err != nil {
		return err
	}
	return h.until("PONG", func(frame []byte) bool { return bytes.Contains(frame, []byte("PONG\r\n")) })
}

func joinSocketIO(h *handshake) error {
	if err := h.until("open", func(frame []byte) bool { return frame[0] == '0' }); err != nil {
		return err
	}
	if err := h.send(appendMasked(nil, 1, []byte("40"))); err != nil {
		return err
	}
	return h.until("connect", func(frame []byte) bool { return bytes.HasPrefix(frame, []byte("40")) })
}
