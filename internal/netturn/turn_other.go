//go:build !unix

package netturn

import "runtime"

// Turn does without on this system.
type Turn struct{}

// Yield lets what is runnable run.
func (*Turn) Yield() { runtime.Gosched() }

// Close does nothing.
func (*Turn) Close() {}
