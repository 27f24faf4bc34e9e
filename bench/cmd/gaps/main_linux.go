// Command gaps shows how long the machine takes each processor away: a thread on each
// does nothing but look at the clock, and counts the times that it could not. No tail of
// latency that is measured here can be shorter than these.
//
//	go run ./cmd/gaps -duration 8s
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

func main() {
	duration := flag.Duration("duration", 8*time.Second, "how long to look")
	flag.Parse()
	lines := make([]string, runtime.NumCPU())
	var group sync.WaitGroup
	for cpu := range lines {
		group.Go(func() { lines[cpu] = watch(cpu, *duration) })
	}
	group.Wait()
	for _, line := range lines {
		fmt.Fprintln(os.Stdout, line)
	}
}

// watch looks at the clock on one processor. Its thread ends with it.
func watch(cpu int, d time.Duration) string {
	runtime.LockOSThread()
	var set unix.CPUSet
	set.Set(cpu)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Sprintf("processor %d: %v", cpu, err)
	}
	bounds := []time.Duration{500 * time.Microsecond, 3 * time.Millisecond, 10 * time.Millisecond}
	counts := make([]int, len(bounds))
	var away, longest time.Duration
	last := time.Now()
	for end := last.Add(d); last.Before(end); {
		now := time.Now()
		gap := now.Sub(last)
		last = now
		for i, bound := range bounds {
			if gap > bound {
				counts[i]++
			}
		}
		if gap > bounds[0] {
			away, longest = away+gap, max(longest, gap)
		}
	}
	return fmt.Sprintf("processor %d: away %v of %v, %d times above 0.5 ms, %d above 3 ms, %d above 10 ms, at most %v",
		cpu, away.Round(time.Millisecond), d, counts[0], counts[1], counts[2], longest.Round(100*time.Microsecond))
}
