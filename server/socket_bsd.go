//go:build unix && !linux

package server

import "syscall"

func send(fd int, b []byte) (int, error) { return syscall.Write(fd, b) }

func limitUnsent(syscall.RawConn) {}
