package ws_test

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ignex/nova/internal/ws"
)

func TestAppend(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 5, 125, 126, 127, 300, 65535, 65536, 70000} {
		payload := strings.Repeat("payload ", n/8+1)[:n]
		for _, op := range []ws.Opcode{ws.Text, ws.Binary, ws.Ping, ws.Pong} {
			if got, want := ws.AppendFrame([]byte("pre"), op, []byte(payload)), append([]byte("pre"), frame(0x80|byte(op), payload, false)...); !bytes.Equal(got, want) {
				t.Fatalf("%v of %d bytes: header % x, want % x", op, n, got[:20], want[:20])
			}
			if got, want := ws.AppendMasked(nil, op, []byte(payload), [4]byte{0x37, 0xfa, 0x21, 0x3d}), frame(0x80|byte(op), payload, true); !bytes.Equal(got, want) {
				t.Fatalf("masked %v of %d bytes differs", op, n)
			}
		}
		if got := len(ws.AppendHeader(nil, ws.Binary, n)); got != ws.HeaderSize(n) {
			t.Errorf("HeaderSize(%d) = %d, header has %d", n, ws.HeaderSize(n), got)
		}
	}
}

func TestMask(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 2))
	for range 2000 {
		b := make([]byte, rng.IntN(200))
		want := make([]byte, len(b))
		key := [4]byte{byte(rng.Uint32()), byte(rng.Uint32()), byte(rng.Uint32()), byte(rng.Uint32())}
		pos := rng.IntN(9)
		for i := range b {
			b[i] = byte(rng.Uint32())
			want[i] = b[i] ^ key[(pos+i)%4]
		}
		ws.Mask(b, key, pos)
		if !bytes.Equal(b, want) {
			t.Fatalf("%d bytes from position %d differ", len(b), pos)
		}
	}
}

func TestAppendClose(t *testing.T) {
	for _, c := range []struct {
		code   int
		reason string
		want   string // payload
	}{
		{1000, "", "\x03\xe8"},
		{1013, "slow consumer", "\x03\xf5slow consumer"},
		{1005, "never sent", ""},
		{1006, "", ""},
		{0, "", ""},
		{1000, "bad \xff", "\x03\xe8bad \uFFFD"},
		{1000, strings.Repeat("x", 200), "\x03\xe8" + strings.Repeat("x", 123)},
		{1000, strings.Repeat("x", 122) + "€", "\x03\xe8" + strings.Repeat("x", 122)},
	} {
		b := ws.AppendClose(nil, c.code, c.reason)
		if string(b[2:]) != c.want || int(b[1]) != len(c.want) || b[0] != 0x88 {
			t.Errorf("close %d %q: got % x", c.code, c.reason, b)
		}
		code, reason, err := ws.ParseClose(b[2:])
		if err != nil || !utf8.ValidString(reason) || c.want == "" && code != ws.CodeNoStatus {
			t.Errorf("close %d %q: parsed %d %q %v", c.code, c.reason, code, reason, err)
		}
	}
}
