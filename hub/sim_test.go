package hub_test

import (
	"errors"
	"os"
	"runtime"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/session/sim"
)

// runSim runs a program in a bubble and returns the first violation.
func runSim(t *testing.T, list []simOp, schema *nova.Schema, p sim.Program) error {
	_, err := traceSim(t, list, schema, p)
	return err
}

// traceSim also returns a hash of everything that was written.
func traceSim(t *testing.T, list []simOp, schema *nova.Schema, p sim.Program) (trace uint64, err error) {
	synctest.Test(t, func(*testing.T) {
		w := newSimWorld(p, schema)
		for _, cl := range w.clients {
			cl.dial()
		}
		for _, s := range p.Steps {
			op := &list[s.Op]
			if w.calm && op.fault {
				continue
			}
			w.step.Add(1)
			op.run(w, s.Args[0], s.Args[1], s.Args[2])
			w.settle()
			if w.failed() != nil {
				break
			}
		}
		if w.failed() == nil {
			w.drain()
		}
		for len(w.holds) > 0 {
			w.turn()
		}
		w.close()
		if v := w.failed(); v != nil {
			err = v
		}
		trace = w.trace.Sum64()
	})
	return trace, err
}

func simKinds(list []simOp) []sim.Kind {
	kinds := make([]sim.Kind, len(list))
	for i := range list {
		kinds[i] = list[i].Kind
	}
	return kinds
}

func simRule(err error) int {
	var v *simViolation
	if errors.As(err, &v) {
		return v.rule
	}
	return -1
}

func simNumber(t *testing.T, name string, def uint64) uint64 {
	text := os.Getenv(name)
	if text == "" {
		return def
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

const simSteps = 120

// TestSimHub runs NOVA_SIM_SEEDS programs (simSeeds) from seed NOVA_SIM_SEED on (a
// new one each time), or the one in NOVA_SIM_PROGRAM.
func TestSimHub(t *testing.T) {
	list, schema := simOps(), simSchema()
	kinds := simKinds(list)
	if text := os.Getenv("NOVA_SIM_PROGRAM"); text != "" {
		onePlace(t)
		p, err := sim.Parse(kinds, text)
		if err == nil {
			err = runSim(t, list, schema, p)
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	seeds := simNumber(t, "NOVA_SIM_SEEDS", simSeeds)
	first := simNumber(t, "NOVA_SIM_SEED", uint64(time.Now().UnixNano()/1000))
	if os.Getenv("NOVA_SIM_SEED") != "" && os.Getenv("NOVA_SIM_SEEDS") == "" {
		seeds = 1
	}
	t.Logf("%d seeds from %d on", seeds, first)
	onePlace(t)
	for n := range seeds {
		p := sim.Generate(kinds, first+n, simSteps)
		err := runSim(t, list, schema, p)
		if err == nil {
			continue
		}
		small := sim.Shrink(p, int(simNumber(t, "NOVA_SIM_SHRINK", 1000)), func(p sim.Program) bool {
			return simRule(runSim(t, list, schema, p)) == simRule(err)
		})
		t.Fatalf("seed %d: %v\nshrunk to %d steps: %v\nreplay: NOVA_SIM_PROGRAM='%s' go test ./hub -run 'TestSimHub$'",
			first+n, err, len(small.Steps), runSim(t, list, schema, small), sim.Format(kinds, small))
	}
}

// onePlace runs goroutines one at a time, or what is ready at the same moment
// would run in an order of its own.
func onePlace(t *testing.T) {
	before := runtime.GOMAXPROCS(1)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
}
