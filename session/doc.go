// Package session is the delivery state of one client: numbering, the bounded
// ring that is send queue and resume history at once, and the place of a socket
// in it. It does no I/O, reads no clock and takes no lock, so that a simulator
// can drive it; package hub holds the lock and package server the sockets.
//
// The ring (docs/protocol.md, "Numbers and resume"):
//
//	lost < history ≤ written < unsent
//
// Entries are runs of an immutable batch that all receivers share, or holes:
// numbers whose frame was dropped. A number, once given, stays used.
package session
