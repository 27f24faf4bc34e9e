//go:build unix

package main

import (
	"fmt"
	"syscall"
)

// spareFiles are the files a server has open besides its connections: listener,
// log segments, requests to the HTTP API.
const spareFiles = 100

// descriptorWarning says that the process may open fewer files than it may have
// connections. Go has raised the limit as far as it may before main.
func descriptorWarning(connections int) string {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return ""
	}
	allowed := uint64(limit.Cur)
	wanted := uint64(connections) + spareFiles
	switch {
	case allowed >= wanted && connections > 0, allowed >= 10_000 && connections == 0:
		return ""
	case connections == 0:
		return fmt.Sprintf("this process may open %d files, so about %d connections; raise the limit (ulimit -n, LimitNOFILE)", allowed, max(allowed, spareFiles)-spareFiles)
	}
	return fmt.Sprintf("this process may open %d files, too few for max-connections %d; raise the limit to %d (ulimit -n, LimitNOFILE)", allowed, connections, wanted)
}
