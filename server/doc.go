// Package server owns sockets: it upgrades and authenticates connections, admits
// them to a hub, feeds it their frames, and writes what the hub queued for them.
//
// A connection leaves the net/http handler after the handshake. One goroutine
// waits for bytes holding no buffer; writes are made by whoever holds the write
// flag of the session's cursor: the hub's loop with one non-blocking write, or a
// goroutine started for a socket that took less than it was offered.
package server
