package load

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// frame is an unmasked frame of a server.
func frame(op byte, payload []byte) []byte {
	b := []byte{0x80 | op}
	switch n := len(payload); {
	case n < 126:
		b = append(b, byte(n))
	case n < 1<<16:
		b = append(b, 126, byte(n>>8), byte(n))
	default:
		b = append(b, 127, 0, 0, 0, 0, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
	}
	return append(b, payload...)
}

// TestParserCounts builds streams whose deliveries are known by construction and
// feeds them in pieces of any length.
func TestParserCounts(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	unit := map[framing]func(size int) []byte{
		perReply: func(size int) []byte {
			return append([]byte{byte(size) | 128, byte(size >> 7)}, make([]byte, size)...)
		},
		perSize: func(size int) []byte {
			return append(append(make([]byte, 14), byte(size), byte(size>>8), 0, 0), make([]byte, size)...)
		},
		perLine: func(size int) []byte {
			return append(fmt.Appendf(nil, "MSG t 1 %d\r\n", size), append(make([]byte, size), "\r\n"...)...)
		},
	}
	for _, f := range []framing{perFrame, perReply, perLine, perSize} {
		for range 300 {
			var stream []byte
			want := 0
			for range rnd.IntN(20) {
				size := 128 + rnd.IntN(3000)
				if unit[f] == nil {
					if rnd.IntN(10) == 0 {
						size = 70_000
					}
					stream = append(stream, frame(2, make([]byte, size))...)
					want++
				} else {
					var message []byte
					for range 1 + rnd.IntN(4) {
						message = append(message, unit[f](size)...)
						want++
					}
					cut := rnd.IntN(len(message)) // a message may end anywhere
					stream = append(append(stream, frame(2, message[:cut])...), frame(2, message[cut:])...)
				}
				if rnd.IntN(4) == 0 {
					stream = append(stream, frame(9, []byte("hello"))...)
				}
			}
			p := parser{framing: f}
			got := 0
			for len(stream) > 0 {
				n := 1 + rnd.IntN(min(len(stream), 1+rnd.IntN(5000)))
				got += p.feed(stream[:n])
				stream = stream[n:]
			}
			if got != want || p.closed {
				t.Fatalf("framing %d: %d deliveries, want %d", f, got, want)
			}
		}
	}
}

// TestParserAnswers checks what each protocol wants sent back.
func TestParserAnswers(t *testing.T) {
	for _, c := range []struct {
		framing framing
		in      []byte
		op      byte
		want    string
	}{
		{perFrame, frame(9, []byte("abc")), 10, "abc"},
		{perFrame, frame(9, nil), 10, ""},
		{perFrame, frame(1, []byte("2")), 1, "3"},
		{perReply, frame(2, []byte{0}), 2, "\x00"},
		{perLine, frame(2, []byte("PING\r\n")), 2, "PONG\r\n"},
	} {
		p := parser{framing: c.framing}
		if n := p.feed(c.in); n != 0 || string(p.answer) != string(appendMasked(nil, c.op, []byte(c.want))) {
			t.Errorf("%q: %d deliveries, answer %q", c.in, n, p.answer)
		}
	}
}

// TestHistogram compares with sorted values.
func TestHistogram(t *testing.T) {
	var h histogram
	for i := range 100_000 {
		h.add(int64(i+1) * 1000)
	}
	for _, q := range []float64{0.01, 0.5, 0.99} {
		want := q * 0.1
		if got := h.quantile(q); got < want*0.98 || got > want*1.02 {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
}
