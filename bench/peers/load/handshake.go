package load

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// handshake is a connection while it is set up, with blocking calls.
type handshake struct {
	w io.Writer
	r *bufio.Reader
}

// do upgrades and subscribes; it returns what has come behind that already.
func (h *handshake) do(p *protocol) ([]byte, error) {
	if p.path != "" {
		if err := h.upgrade(p); err != nil {
			return nil, err
		}
	}
	if p.join != nil {
		if err := p.join(h); err != nil {
			return nil, err
		}
	}
	rest, err := h.r.Peek(h.r.Buffered())
	return append([]byte(nil), rest...), err
}

func (h *handshake) send(b []byte) error {
	_, err := h.w.Write(b)
	return err
}

func (h *handshake) upgrade(p *protocol) error {
	err := h.send([]byte("GET " + p.path + " HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n" + p.header + "\r\n"))
	if err != nil {
		return err
	}
	for first := true; ; first = false {
		line, err := h.r.ReadString('\n')
		if err != nil {
			return fmt.Errorf("upgrade: %w", err)
		}
		if first && !strings.Contains(line, " 101 ") {
			return fmt.Errorf("upgrade: the server answered %q", strings.TrimSpace(line))
		}
		if line == "\r\n" {
			return nil
		}
	}
}

// until reads messages up to the one that is wanted.
func (h *handshake) until(what string, wanted func(frame []byte) bool) error {
	for range 16 {
		frame, err := h.frame()
		if err != nil {
			return fmt.Errorf("waiting for %s: %w", what, err)
		}
		if len(frame) > 0 && wanted(frame) {
			return nil
		}
	}
	return errors.New("no " + what + " among the first messages")
}

func (h *handshake) frame() ([]byte, error) {
	var p parser
	for p.left == 0 {
		b, err := h.r.ReadByte()
		if err != nil {
			return nil, err
		}
		p.header([]byte{b})
		if p.nhead == 0 && p.length == 0 {
			return nil, nil
		}
	}
	frame := make([]byte, p.left)
	if _, err := io.ReadFull(h.r, frame); err != nil {
		return nil, err
	}
	if p.op == 8 {
		return nil, fmt.Errorf("the server closed: %q", frame)
	}
	return frame, nil
}
