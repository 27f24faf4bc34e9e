// Package uring sends to many sockets with one system call, where Linux offers
// io_uring. A send then costs what the network stack takes and no more: no way into
// the kernel and back of its own, which on machines with mitigations is a fifth of a
// small one.
package uring

// Send is one non-blocking send. Ring.Send sets N and Err.
type Send struct {
	FD   int
	Data []byte // not empty; unchanged until the ring's Send returns

	N   int   // bytes the socket took, 0 when it has no room now
	Err error // the socket takes nothing any more
}
