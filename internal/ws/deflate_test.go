package ws_test

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/ignex/nova/internal/ws"
)

// text is data of about n bytes that compresses as events do.
func text(rng *rand.Rand, n int) []byte {
	var b []byte
	for i := 0; len(b) < n; i++ {
		b = fmt.Appendf(b, `{"symbol":"S%d","bid":%d.%d,"note":"the quick brown fox"},`, rng.IntN(100), rng.IntN(1000), i)
	}
	return b[:n]
}

// The standard library reads back what a Deflater writes, and finds no last block.
func TestDeflateJudge(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	for level := 1; level <= 9; level++ {
		d, err := ws.NewDeflater(level)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{0, 1, 100, 1000, 20_000, 70_000, 200_000} {
			data := text(rng, n)
			if rng.IntN(3) == 0 {
				for i := range data {
					data[i] = byte(rng.Uint32())
				}
			}
			packed := d.Deflate(data)
			r := flate.NewReader(bytes.NewReader(append(bytes.Clone(packed), ws.DeflateTail...)))
			got, err := io.ReadAll(r)
			if !bytes.Equal(got, data) || !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatalf("level %d, %d bytes: the judge reads %d bytes, %v", level, n, len(got), err)
			}
		}
	}
	for _, level := range []int{-1, 0, 10} {
		if _, err := ws.NewDeflater(level); err == nil {
			t.Errorf("level %d is taken", level)
		}
	}
}

// inflating parses a stream with compressed messages.
func inflating(stream []byte, most int, feed func(p *ws.Parser, h ws.Handler) error) (got []string, err error) {
	p := ws.NewParser(true, most)
	p.AllowCompressed()
	h := funcs{
		message: func(_ ws.Opcode, data []byte) error { got = append(got, string(data)); return nil },
		control: func(op ws.Opcode, data []byte) error { got = append(got, fmt.Sprint(op, " ", data)); return nil },
	}
	if feed != nil {
		return got, feed(&p, h)
	}
	err = p.Feed(stream, h)
	return got, err
}

// judge compresses as senders of other implementations do.
func judge(t testing.TB, level int, data []byte) []byte {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, level)
	if err != nil {
		t.Fatal(err)
	}
	w.Write(data)
	w.Flush()
	return bytes.TrimSuffix(b.Bytes(), []byte(ws.DeflateTail))
}

// Messages of the standard library, stored blocks and all, are read, also in
// fragments with control frames between, and so is each message behind them.
func TestInflateJudge(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 2))
	for range 200 {
		var stream []byte
		var want []string
		for range 1 + rng.IntN(5) {
			data := text(rng, rng.IntN(1+rng.IntN(60_000)))
			key := [4]byte{1, byte(rng.Uint32()), 3, 4}
			want = append(want, string(data))
			if rng.IntN(3) == 0 {
				stream = ws.AppendMasked(stream, ws.Binary, data, key)
				continue
			}
			packed := judge(t, rng.IntN(10), data)
			cut := rng.IntN(len(packed) + 1)
			first := ws.AppendMaskedCompressed(nil, ws.Binary, packed[:cut], key)
			first[0] &^= 0x80
			stream = append(stream, first...)
			if rng.IntN(2) == 0 {
				stream = ws.AppendMasked(stream, ws.Ping, []byte{7}, key)
				want = append(want[:len(want)-1], "ping [7]", string(data))
			}
			stream = ws.AppendMasked(stream, ws.Continuation, packed[cut:], key)
		}
		got, err := inflating(nil, 1<<20, func(p *ws.Parser, h ws.Handler) error {
			for rest := bytes.Clone(stream); len(rest) > 0; {
				n := min(len(rest), 1+rng.IntN(5000))
				if err := p.Feed(rest[:n], h); err != nil {
					return err
				}
				rest = rest[n:]
			}
			return nil
		})
		if err != nil || strings.Join(got, "|") != strings.Join(want, "|") {
			t.Fatalf("%d messages, %v; want %d", len(got), err, len(want))
		}
	}
}

// The examples of RFC 7692, section 7.2.3, for messages that share no window.
func TestInflateExamples(t *testing.T) {
	for _, c := range []struct{ packed, want string }{
		{"\xf2\x48\xcd\xc9\xc9\x07\x00", "Hello"},
		{"\x00\x05\x00\xfa\xff\x48\x65\x6c\x6c\x6f\x00", "Hello"},         // a stored block
		{"\xf3\x48\xcd\xc9\xc9\x07\x00\x00", "Hello"},                     // a last block
		{"\xf2\x48\x05\x00\x00\x00\xff\xff\xca\xc9\xc9\x07\x00", "Hello"}, // two blocks
		{"\x00", ""},
	} {
		stream := ws.AppendMaskedCompressed(nil, ws.Binary, []byte(c.packed), [4]byte{1, 2, 3, 4})
		stream = ws.AppendMaskedCompressed(stream, ws.Binary, []byte("\xf2\x48\xcd\xc9\xc9\x07\x00"), [4]byte{1, 2, 3, 4})
		if got, err := inflating(stream, 0, nil); err != nil || len(got) != 2 || got[0] != c.want || got[1] != "Hello" {
			t.Errorf("% x: got %q, %v", c.packed, got, err)
		}
	}
}

func TestInflateRefuses(t *testing.T) {
	bomb := judge(t, 9, make([]byte, 10<<20))
	key := [4]byte{1, 2, 3, 4}
	packed := func(data string) []byte { return ws.AppendMaskedCompressed(nil, ws.Binary, []byte(data), key) }
	mark := func(b []byte, first byte) []byte { b[0] = first; return b }
	for _, c := range []struct {
		name   string
		stream []byte
		code   int
	}{
		{"bomb", packed(string(bomb)), 1009},
		{"one byte too many", packed(string(judge(t, 1, make([]byte, 1<<16+1)))), 1009},
		{"many streams", packed(strings.Repeat("\x03\x00", 100)), 1002},
		{"not deflate", packed("\xff\xff\xff"), 1002},
		{"cut off", packed("\xf2\x48"), 1002},
		{"a stored block at the end", packed("\x00\x05\x00\xfa\xff\x48\x65\x6c\x6c\x6f"), 1002},
		{"compressed control frame", mark(ws.AppendMasked(nil, ws.Ping, nil, key), 0xc9), 1002},
		{"compressed continuation", append(mark(packed("\xf2"), 0x42), mark(packed("\x48"), 0xc0)...), 1002},
		{"another reserved bit", mark(packed("\xf2"), 0xe2), 1002},
	} {
		if _, err := inflating(c.stream, 1<<16, nil); code(err) != c.code {
			t.Errorf("%s: %v, want %d", c.name, err, c.code)
		}
	}
	if got, err := inflating(packed(string(judge(t, 1, make([]byte, 1<<16)))), 1<<16, nil); err != nil || len(got[0]) != 1<<16 {
		t.Errorf("a message of the most bytes: %v", err)
	}
	stored := packed(string(judge(t, 0, bytes.Repeat([]byte("0123456789abcdef"), 1<<12))))
	if got, err := inflating(stored, 1<<16, nil); err != nil || len(got[0]) != 1<<16 {
		t.Errorf("a message of the most bytes, not shorter compressed: %v", err)
	}
	p := ws.NewParser(true, 0)
	if err := p.Feed(packed("\xf2"), funcs{}); code(err) != 1002 {
		t.Errorf("a compressed message that was not agreed on: %v", err)
	}
}

// A bomb costs the memory of one message, not of what it holds.
func TestBombIsFlat(t *testing.T) {
	stream := ws.AppendMaskedCompressed(nil, ws.Binary, judge(t, 1, make([]byte, 60<<20)), [4]byte{1, 2, 3, 4})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 5 {
		if _, err := inflating(bytes.Clone(stream), 1<<20, nil); code(err) != 1009 {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if used := (after.TotalAlloc - before.TotalAlloc) / 5; used > 8<<20 {
		t.Errorf("a bomb of 60 MiB allocates %d bytes", used)
	}
}

// Whatever claims to be compressed gives what the standard library makes of it, or an end.
func FuzzInflate(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 2))
	for level := range 10 {
		f.Add(judge(f, level, text(rng, 300*level)))
	}
	f.Add([]byte("\xf3\x48\xcd\xc9\xc9\x07\x00\x00"))
	f.Fuzz(func(t *testing.T, packed []byte) {
		const most = 10_000
		got, err := inflating(ws.AppendMaskedCompressed(nil, ws.Binary, packed, [4]byte{1, 2, 3, 4}), most, nil)
		r := flate.NewReader(bytes.NewReader(append(bytes.Clone(packed), "\x00\x00\xff\xff\x01\x00\x00\xff\xff"...)))
		want, wantErr := io.ReadAll(io.LimitReader(r, most+1))
		switch {
		case len(packed) > most+most>>8+64 && code(err) == 1009:
		case err == nil && (len(got) != 1 || !strings.HasPrefix(got[0], string(want)) || wantErr != nil):
			t.Fatalf("%d bytes, the judge %d bytes, %v", len(got[0]), len(want), wantErr)
		case wantErr != nil && err == nil, wantErr == nil && len(want) > most && code(err) != 1009:
			t.Fatalf("%v, the judge %v", err, wantErr)
		case err == nil && len(got[0]) > most:
			t.Fatalf("%d bytes passed", len(got[0]))
		}
	})
}
