// Package leak ends a test binary with an error when goroutines are left over.
// Each package that starts goroutines calls it from its TestMain.
package leak

import (
	"testing"

	"go.uber.org/goleak"
)

// Main runs the tests of m and exits: with an error when one failed or when a
// goroutine is still running after all of them.
func Main(m *testing.M, options ...goleak.Option) {
	goleak.VerifyTestMain(m, options...)
}
