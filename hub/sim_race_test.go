//go:build race

package hub_test

// Under the race detector the simulator looks for races, in few programs; the
// many run without it (`make sim-short`).
const (
	simSeeds  = 300
	simMutate = false
)
