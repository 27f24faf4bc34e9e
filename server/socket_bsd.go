//go:build unix && !linux

package server

import "syscall"

func send(fd int, b []byte) (int, error)    { return syscall.Write(fd, b) }
func receive(fd int, b []byte) (int, error) { return syscall.Read(fd, b) }

func giveWay() {}

const (
	unsentLimit = 0
	readyUnsent = 0
	readyBytes  = 0
)

// limitUnsent has no way to do so here, nor is it known how much a writable socket takes.
func limitUnsent(syscall.RawConn, int) bool { return false }

func writable(int) bool { return false }
