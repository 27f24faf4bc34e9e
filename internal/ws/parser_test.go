package ws_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"

	"github.com/ignex/nova/internal/ws"
)

// recorder writes down what a parser hands over, one line each.
type recorder struct {
	got  []string
	fail error // returned by the next call
}

func (r *recorder) Message(op ws.Opcode, data []byte) error {
	r.got = append(r.got, fmt.Sprintf("%v %q", op, short(data)))
	return r.fail
}

func (r *recorder) Control(op ws.Opcode, data []byte) error {
	r.got = append(r.got, fmt.Sprintf("%v %q", op, data))
	return r.fail
}

// short keeps expectations readable: long payloads as length and sum.
func short(data []byte) string {
	if len(data) <= 130 {
		return string(data)
	}
	sum := 0
	for i, c := range data {
		sum = (sum*31 + int(c) + i) & 0xffff
	}
	return fmt.Sprintf("%d:%d", len(data), sum)
}

// parse feeds a copy of stream in pieces of the sizes that next returns.
func parse(stream []byte, mustMask bool, limit int, next func(left int) int) ([]string, error) {
	p := ws.NewParser(mustMask, limit)
	var r recorder
	b := bytes.Clone(stream)
	for len(b) > 0 {
		n := next(len(b))
		if err := p.Feed(b[:n:n], &r); err != nil {
			return r.got, err
		}
		// What was handed over was valid during the call only.
		for i := range b[:n] {
			b[i] = 0xEE
		}
		b = b[n:]
	}
	return r.got, nil
}

func whole(left int) int { return left }
func single(int) int     { return 1 }

func random(rng *rand.Rand) func(int) int {
	return func(left int) int { return 1 + rng.IntN(min(left, 1+rng.IntN(40))) }
}

func code(err error) int {
	if err == nil {
		return 0
	}
	var c *ws.CloseError
	if errors.As(err, &c) {
		return c.Code
	}
	return -1
}

// frame builds one frame with every header bit free, the slow and obvious way.
func frame(first byte, payload string, masked bool) []byte {
	b := []byte{first, 0}
	switch n := len(payload); {
	case n < 126:
		b[1] = byte(n)
	case n < 65536:
		b[1] = 126
		b = append(b, byte(n>>8), byte(n))
	default:
		b[1] = 127
		b = append(b, 0, 0, 0, 0, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
	}
	if !masked {
		return append(b, payload...)
	}
	b[1] |= 0x80
	key := [4]byte{0x37, 0xfa, 0x21, 0x3d}
	b = append(b, key[:]...)
	for i := range len(payload) {
		b = append(b, payload[i]^key[i%4])
	}
	return b
}

func TestParserTable(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	for _, c := range table() {
		for _, masked := range []bool{true, false} {
			stream := c.build(masked)
			check := func(how string, next func(int) int) {
				got, err := parse(stream, masked, c.limit, next)
				if g, w := strings.Join(got, "\n"), strings.Join(c.want, "\n"); g != w {
					t.Errorf("%s masked=%v %s:\ngot  %s\nwant %s", c.name, masked, how, g, w)
				}
				if code(err) != c.code {
					t.Errorf("%s masked=%v %s: got %v, want close code %d", c.name, masked, how, err, c.code)
				}
			}
			check("whole", whole)
			check("byte by byte", single)
			splits := 20
			if len(stream) > 10000 {
				splits = 2
			}
			for range splits {
				check("random", random(rng))
			}
		}
	}
}

func TestParserSize(t *testing.T) {
	if n := unsafe.Sizeof(ws.Parser{}); n > 64 {
		t.Errorf("the state of an idle connection is %d bytes, more than 64", n)
	}
}

func TestParserHoldsNothingBetweenMessages(t *testing.T) {
	p := ws.NewParser(true, 1<<20)
	var r recorder
	feed := func(b []byte) {
		if err := p.Feed(b, &r); err != nil {
			t.Fatal(err)
		}
	}
	msg := frame(0x82, strings.Repeat("x", 5000), true)
	feed(msg[:3000])
	if p.Held() < 2900 || p.Held() > 4096 {
		t.Errorf("holds %d bytes for 3000 that arrived", p.Held())
	}
	feed(msg[3000:])
	if p.Held() != 0 {
		t.Errorf("holds %d bytes after the message", p.Held())
	}
	feed(frame(0x02, "a", true))
	ping := frame(0x89, "b", true)
	feed(ping[:7])
	feed(frame(0x80, "", true)[:0])
	if p.Held() == 0 {
		t.Error("lost the fragment")
	}
	// A header that claims a gigabyte costs nothing.
	q := ws.NewParser(true, 1<<30)
	if err := q.Feed([]byte{0x82, 0xff, 0, 0, 0, 0, 0x3f, 0, 0, 0, 1, 2, 3, 4, 'x'}, &r); err != nil {
		t.Fatal(err)
	}
	if q.Held() > 64 {
		t.Errorf("holds %d bytes for 1 that arrived", q.Held())
	}
}

func TestParserZeroCopy(t *testing.T) {
	b := append(frame(0x82, "first", true), frame(0x82, "second", true)...)
	p := ws.NewParser(true, 0)
	var in [][]byte
	h := funcs{message: func(_ ws.Opcode, data []byte) error { in = append(in, data); return nil }}
	if n := testing.AllocsPerRun(10, func() {
		in = in[:0]
		if err := p.Feed(bytes.Clone(b), h); err != nil {
			t.Fatal(err)
		}
	}); n > 3 { // the clone and the slice of messages
		t.Errorf("%v allocations", n)
	}
	in = nil
	if err := p.Feed(b, h); err != nil {
		t.Fatal(err)
	}
	if len(in) != 2 || &in[0][0] != &b[6] || &in[1][0] != &b[6+5+6] {
		t.Error("messages do not lie in the fed bytes")
	}
	if cap(in[0]) != 5 {
		t.Error("appending to a message would overwrite the next one")
	}
}

func TestParserErrorsStay(t *testing.T) {
	stop := errors.New("stop")
	p := ws.NewParser(false, 0)
	r := recorder{fail: stop}
	two := append(frame(0x82, "a", false), frame(0x82, "b", false)...)
	for range 3 {
		if err := p.Feed(two, &r); err != stop {
			t.Fatalf("got %v", err)
		}
	}
	if len(r.got) != 1 {
		t.Errorf("handed over %q after an error", r.got)
	}
}

type funcs struct {
	message func(ws.Opcode, []byte) error
	control func(ws.Opcode, []byte) error
}

func (f funcs) Message(op ws.Opcode, data []byte) error { return f.message(op, data) }
func (f funcs) Control(op ws.Opcode, data []byte) error { return f.control(op, data) }

func BenchmarkParse64(b *testing.B) {
	one := ws.AppendMasked(nil, ws.Binary, bytes.Repeat([]byte("x"), 64), [4]byte{1, 2, 3, 4})
	stream := bytes.Repeat(one, 256)
	p := ws.NewParser(true, 1<<20)
	n := 0
	h := funcs{message: func(ws.Opcode, []byte) error { n++; return nil }}
	b.SetBytes(int64(len(one)))
	b.ReportAllocs()
	for i := 0; i < b.N; i += 256 {
		if err := p.Feed(stream, h); err != nil {
			b.Fatal(err)
		}
	}
	_ = n
}

func BenchmarkMask64(b *testing.B) {
	buf := make([]byte, 64)
	b.SetBytes(64)
	for b.Loop() {
		ws.Mask(buf, [4]byte{1, 2, 3, 4}, 0)
	}
}
