package session

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// gateLog drives a gate the way a socket does and writes down what happens.
type gateLog struct {
	g   BaseGate
	out []string
}

func (l *gateLog) push(seq uint64) {
	for {
		v := l.g.Push(seq, binary.LittleEndian.AppendUint64(nil, seq))
		switch v {
		case Deliver:
			l.out = append(l.out, fmt.Sprint(seq))
			l.release()
		case Duplicate:
			l.out = append(l.out, fmt.Sprintf("dup %d", seq))
		case Hold:
			if l.g.Ask() {
				l.out = append(l.out, fmt.Sprintf("ask %d", l.g.last))
			}
		case Overflow:
			l.flush()
			continue
		}
		return
	}
}

func (l *gateLog) release() {
	for {
		frame, ok := l.g.Next()
		if !ok {
			return
		}
		l.out = append(l.out, fmt.Sprint(binary.LittleEndian.Uint64(frame)))
	}
}

func (l *gateLog) flush() {
	for {
		l.release()
		from, to, ok := l.g.Skip()
		if !ok {
			return
		}
		l.out = append(l.out, fmt.Sprintf("gap %d-%d", from, to))
	}
}

func (l *gateLog) do(step string) {
	var n, m uint64
	switch {
	case step == "open":
		l.g.Open()
	case step == "close":
		l.g.Close()
	case step == "timeout":
		l.flush()
	case strings.HasPrefix(step, "ok "):
		fmt.Sscanf(step, "ok %d", &n)
		if l.g.Resumed(true, n) {
			l.flush()
		}
	case step == "refused":
		if l.g.Resumed(false, 0) {
			l.flush()
		}
	case strings.Contains(step, "-"):
		fmt.Sscanf(step, "%d-%d", &n, &m)
		for ; n <= m; n++ {
			l.push(n)
		}
	default:
		fmt.Sscan(step, &n)
		l.push(n)
	}
}

func TestGate(t *testing.T) {
	for _, c := range []struct{ name, steps, want string }{
		{"in order", "open,1-3", "1,2,3"},
		{"twice", "open,1,2,2,1,3", "1,2,dup 2,dup 1,3"},
		{"hole filled", "open,1,3,4,2", "1,ask 1,2,3,4"},
		{"held twice", "open,1,3,3,2", "1,ask 1,dup 3,2,3"},
		{"late order", "open,1,5,3,4,2,6", "1,ask 1,2,3,4,5,6"},
		{"asked once", "open,1,3,5,2,4", "1,ask 1,2,3,4,5"},
		{"hole given up", "open,1,3,4,7,timeout,8", "1,ask 1,gap 2-2,3,4,gap 5-6,7,8"},
		{"late frame of a gap", "open,1,3,timeout,2", "1,ask 1,gap 2-2,3,dup 2"},
		{"timeout with nothing held", "open,1,timeout,2", "1,2"},
		{"refused", "open,1,3,refused,4", "1,ask 1,gap 2-2,3,4"},
		{"nothing to send again", "open,1,3,ok 0", "1,ask 1,gap 2-2,3"},
		{"answer first, then frames", "open,1,3,ok 2,2,3,4", "1,ask 1,2,3,dup 3,4"},
		{"frames first, then answer", "open,1,3,2,3,ok 2,4", "1,ask 1,2,3,dup 3,4"},
		{"asks again after an answer", "open,1,3,ok 2,5,2,4", "1,ask 1,ask 1,2,3,4,5"},
		{"asks again after giving up", "open,1,3,timeout,5", "1,ask 1,gap 2-2,3,ask 3"},
		{"no answer ever", "open,1,3,timeout,4,6,timeout", "1,ask 1,gap 2-2,3,4,ask 4,gap 5-5,6"},
		{"refused with nothing held", "open,1,2,refused,3", "1,2,3"},
		{"first number above 1", "open,5,timeout,6", "ask 0,gap 1-4,5,6"},
		{"counter kept over a loss", "open,1-3,close,open,4", "1,2,3,4"},
		{"held is forgotten with the connection", "open,1,3,close,open,2,3", "1,ask 1,2,3"},
		{"server started again", "open,1-3,close,open,1,2", "1,2,3,1,2"},
		{"server started again, later number", "open,1-9,close,open,5,6", "1,2,3,4,5,6,7,8,9,5,6"},
		{"only the first number may go back", "open,1-3,close,open,4,2,5", "1,2,3,4,dup 2,5"},
		{"overflow", "open,1,3,5,7,9,timeout", "1,ask 1,gap 2-2,3,gap 4-4,5,gap 6-6,7,ask 7,gap 8-8,9"},
	} {
		l := gateLog{g: BaseGate{MaxFrames: 3, MaxBytes: 1 << 20}}
		for step := range strings.SplitSeq(c.steps, ",") {
			l.do(step)
		}
		if got := strings.Join(l.out, ","); got != c.want {
			t.Errorf("%s: %s\ngot  %s\nwant %s", c.name, c.steps, got, c.want)
		}
		if l.g.Waiting() == 0 && (l.g.bytes != 0 || l.g.held != nil) {
			t.Errorf("%s: keeps %d bytes for nothing", c.name, l.g.bytes)
		}
	}
}

func TestGateBytes(t *testing.T) {
	g := BaseGate{MaxFrames: 1000, MaxBytes: 100}
	g.Open()
	if v := g.Push(5, make([]byte, 500)); v != Hold {
		t.Errorf("the first frame is not held, however large: %d", v)
	}
	if v := g.Push(7, make([]byte, 1)); v != Overflow {
		t.Errorf("more bytes than allowed: %d", v)
	}
}

// A network that loses, repeats and delays, with reconnects, against the slow
// and obvious account of what must come of it.
func TestGateModel(t *testing.T) {
	for range 300 {
		seed := rand.Uint64()
		rng := rand.New(rand.NewPCG(seed, 0))
		l := gateLog{g: BaseGate{MaxFrames: 1 + rng.IntN(20), MaxBytes: 1 + rng.IntN(400)}}
		l.g.Open()
		sent := uint64(0)
		var network []uint64
		for range 400 {
			switch rng.IntN(10) {
			case 0: // an old frame again
				if sent > 0 {
					network = append(network, 1+rng.Uint64N(sent))
				}
			case 1:
				l.do("timeout")
			case 2:
				l.do([]string{"refused", "ok 0", "ok 1"}[rng.IntN(3)])
			case 3:
				if rng.IntN(10) == 0 && l.g.last > 0 {
					l.do("close")
					l.do("open")
					// The server resumes after what we have.
					network = nil
					l.push(l.g.last + 1)
					sent = max(sent, l.g.last)
				}
			default:
				sent++
				if rng.IntN(8) != 0 {
					network = append(network, sent)
				}
			}
			for len(network) > 0 && rng.IntN(3) != 0 {
				at := 0
				if rng.IntN(4) == 0 {
					at = rng.IntN(len(network))
				}
				// The first number of a connection may not be an old one here:
				// that would mean a server that started again.
				if seq := network[at]; !l.g.fresh || seq > l.g.last {
					l.push(seq)
				}
				network = slices.Delete(network, at, at+1)
			}
			if len(l.g.held) > l.g.MaxFrames {
				t.Fatalf("seed %d: holds %d frames", seed, len(l.g.held))
			}
		}
		l.do("timeout")
		next := uint64(1)
		for _, line := range l.out {
			var a, b uint64
			if _, err := fmt.Sscanf(line, "gap %d-%d", &a, &b); err == nil {
				if a != next || b < a {
					t.Fatalf("seed %d: %s where %d was next", seed, line, next)
				}
				next = b + 1
			} else if strings.HasPrefix(line, "dup") || strings.HasPrefix(line, "ask") {
				continue
			} else if line != fmt.Sprint(next) {
				t.Fatalf("seed %d: delivered %s where %d was next", seed, line, next)
			} else {
				next++
			}
		}
		if l.g.last != next-1 || l.g.Waiting() != 0 {
			t.Fatalf("seed %d: ended at %d, counter says %d", seed, next-1, l.g.last)
		}
	}
}
