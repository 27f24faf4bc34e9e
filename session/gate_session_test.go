package session

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// step applies one step to a gate and says what came of it.
func step(g *SessionGate, text string) string {
	var a, b uint64
	switch {
	case text == "open":
		g.Open()
		return ""
	case strings.HasPrefix(text, "new "):
		fmt.Sscanf(text, "new %d", &a)
		return fmt.Sprint(g.Attach(false, a))
	case strings.HasPrefix(text, "on "):
		fmt.Sscanf(text, "on %d", &a)
		return fmt.Sprint(g.Attach(true, a))
	case strings.HasPrefix(text, "gap "):
		fmt.Sscanf(text, "gap %d-%d", &a, &b)
		first, v := g.Gap(a, b)
		if v == Deliver {
			return fmt.Sprintf("%d-%d", first, b)
		}
		return v.String()
	}
	fmt.Sscan(text, &a)
	if v := g.Push(a); v != Deliver {
		return v.String()
	}
	return fmt.Sprint(a)
}

func TestSessionGate(t *testing.T) {
	for _, c := range []struct{ name, steps, want string }{
		{"in order", "open,new 1,1,2,3", "true,1,2,3"},
		{"before nova.session", "open,1,2,gap 1-2,new 1,1", "discard,discard,discard,true,1"},
		{"first number above 1", "open,new 5,5", "true,5"},
		{"a hole", "open,new 1,1,3", "true,1,violation"},
		{"twice", "open,new 1,1,1", "true,1,violation"},
		{"declared", "open,new 1,1,gap 2-4,5", "true,1,2-4,5"},
		{"declared at the end", "open,new 1,1,gap 2-2,open,on 3,3", "true,1,2-2,true,3"},
		{"a gap after the next", "open,new 1,1,gap 3-4", "true,1,violation"},
		{"a gap of the past", "open,new 1,1,2,gap 1-2", "true,1,2,violation"},
		{"a gap that begins in the past", "open,new 1,1,2,gap 1-4,5", "true,1,2,3-4,5"},
		{"a gap backwards", "open,new 1,gap 1-0,gap 0-3", "true,violation,violation"},
		{"recovered", "open,new 1,1,2,open,3,on 3,3", "true,1,2,discard,true,3"},
		{"recovered twice in a row", "open,new 1,1,open,on 2,open,on 2,2", "true,1,true,true,2"},
		{"recovered before the first", "open,new 1,open,on 1,1", "true,true,1"},
		{"recovered elsewhere", "open,new 1,1,open,on 3", "true,1,false"},
		{"recovered in the past", "open,new 1,1,2,open,on 2", "true,1,2,false"},
		{"not recovered", "open,new 1,1,2,open,new 1,1", "true,1,2,true,1"},
		{"not recovered, later number", "open,new 1,1,open,new 9,9", "true,1,true,9"},
		{"no next number", "open,new 0", "false"},
		{"identity changed", "open,new 1,1,2,new 1,1", "true,1,2,true,1"},
		{"session moved on, overtaking frames", "open,new 1,1,on 9,2", "true,1,true,2"},
	} {
		var g SessionGate
		var got []string
		for s := range strings.SplitSeq(c.steps, ",") {
			if out := step(&g, s); out != "" {
				got = append(got, out)
			}
		}
		if out := strings.Join(got, ","); out != c.want {
			t.Errorf("%s: %s\ngot  %s\nwant %s", c.name, c.steps, out, c.want)
		}
	}
}

// A faithful server that cuts, drops and declares: the gate never objects, and
// every number is delivered or declared once. A server with one fault is caught
// before a later number passes.
func TestSessionGateModel(t *testing.T) {
	for range 300 {
		seed := rand.Uint64()
		rng := rand.New(rand.NewPCG(seed, 0))
		var g SessionGate
		g.Open()
		g.Attach(false, 1)
		accounted := uint64(0) // by delivery or declaration
		faulty := rng.IntN(2) == 0
		for range 200 {
			switch rng.IntN(8) {
			case 0:
				g.Open()
				if v := g.Push(accounted + 1); v != Discard {
					t.Fatalf("seed %d: %v before nova.session", seed, v)
				}
				if !g.Attach(true, accounted+1) {
					t.Fatalf("seed %d: refuses to go on after %d", seed, accounted)
				}
			case 1:
				to := accounted + 1 + rng.Uint64N(5)
				first, v := g.Gap(accounted+1-rng.Uint64N(min(accounted, 3)+1), to)
				if v != Deliver || first != accounted+1 {
					t.Fatalf("seed %d: gap to %d after %d: from %d, %v", seed, to, accounted, first, v)
				}
				accounted = to
			default:
				seq := accounted + 1
				if faulty && rng.IntN(20) == 0 {
					seq = accounted + 2 + rng.Uint64N(3)
					if rng.IntN(2) == 0 && accounted > 0 {
						seq = 1 + rng.Uint64N(accounted)
					}
					if v := g.Push(seq); v != Violation {
						t.Fatalf("seed %d: number %d after %d: %v", seed, seq, accounted, v)
					}
					continue
				}
				if v := g.Push(seq); v != Deliver {
					t.Fatalf("seed %d: number %d after %d: %v", seed, seq, accounted, v)
				}
				accounted = seq
			}
			if g.Last() != accounted {
				t.Fatalf("seed %d: stands at %d, want %d", seed, g.Last(), accounted)
			}
		}
	}
}
