//go:build !unix

package server_test

import "time"

// processorTime is not known here; figures per processor second are infinite.
func processorTime() time.Duration { return 0 }
