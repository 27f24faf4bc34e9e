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
		if b, _ := traceSim(t, list, schema, p); a != b {
			t.Errorf("seed %d wrote %x, then %x", seed, a, b)
		}
	}
}
