//go:build race

package sim_test

// Under the race detector the simulator looks for races, in few programs; the
// many run without it (`make sim-short`).
const (
	seeds  = 1000
	mutate = false
)
