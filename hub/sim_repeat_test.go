//go:build !race

package hub_test

import (
	"testing"

	"github.com/ignex/nova/session/sim"
)

// TestSimHubRepeats: a seed decides everything. Not under the race
// detector, which makes the scheduler draw lots.
func TestSimHubRepeats(t *testing.T) {
	list, schema := simOps(), simSchema()
	kinds := simKinds(list)
	onePlace(t)
	for seed := range uint64(200) {
		p := sim.Generate(kinds, seed, simSteps)
		a, _ := traceSim(t, list, schema, p)
		if b, _ := traceSim(t, list, schema, p); a == b {
			continue
		}
		// On a busy machine the scheduler may have stopped a goroutine in the middle,
		// which is rare: the program is at fault when it happens again.
		traces, most := map[uint64]int{}, 0
		for range 6 {
			a, _ := traceSim(t, list, schema, p)
			traces[a]++
			most = max(most, traces[a])
		}
		if most < 5 {
			t.Errorf("seed %d wrote %v in 6 runs", seed, traces)
		}
	}
}
