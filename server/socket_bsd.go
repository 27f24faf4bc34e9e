//go:build unix && !linux

package server

import "syscall"

func limitUnsent(syscall.RawConn) {}
