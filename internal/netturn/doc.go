// Package netturn lets a goroutine that works without a pause give the network a turn.
//
// The Go scheduler asks the network who is ready only when a processor has nothing
// else to do, and otherwise every 10 ms. runtime.Gosched does not change that: what is
// runnable goes first. While all processors work, what comes in waits.
package netturn
