//go:build !race

package hub_test

// simSeeds is how many programs TestSimHub runs unless told otherwise, simMutate
// whether the mutations run.
const (
	simSeeds  = 10_000
	simMutate = true
)
