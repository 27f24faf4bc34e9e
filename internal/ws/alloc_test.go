package ws_test

import (
	"bytes"
	"testing"

	"github.com/ignex/nova/internal/ws"
)

// counter counts what a parser hands over.
type counter struct{ messages int }

func (c *counter) Message(ws.Opcode, []byte) error { c.messages++; return nil }
func (c *counter) Control(ws.Opcode, []byte) error { return nil }

// short256 is what one read of a busy connection brings.
func short256() []byte {
	var block []byte
	for range 256 {
		block = ws.AppendMasked(block, ws.Binary, bytes.Repeat([]byte{7}, 64), [4]byte{1, 2, 3, 4})
	}
	return block
}

func TestWholeFramesCostNoMemory(t *testing.T) {
	block := short256()
	p, c := ws.NewParser(true, 0), new(counter)
	if n := testing.AllocsPerRun(100, func() { p.Feed(block, c) }); n != 0 {
		t.Errorf("%v allocations for 256 frames", n)
	}
	if want := 101 * 256; c.messages != want {
		t.Errorf("%d messages, want %d", c.messages, want)
	}
}

func BenchmarkFeed(b *testing.B) {
	block := short256()
	p, c := ws.NewParser(true, 0), new(counter)
	b.ReportAllocs()
	for b.Loop() {
		p.Feed(block, c)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/256, "ns/frame")
}
