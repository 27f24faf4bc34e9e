//go:build !race

package sim_test

// seeds is how many programs TestSimQueue runs unless told otherwise, mutate
// whether the mutations run.
const (
	seeds  = 10_000
	mutate = true
)
