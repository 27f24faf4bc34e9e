package load

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of times in /proc (USER_HZ).
const tick = 100

// usage is a reading of the clocks.
type usage struct {
	at           time.Time
	user, system float64 // of the server, seconds
	self         float64 // of this process
	busy         float64 // of all processors
	processors   int
}

func readUsage(pid int) (u usage, err error) {
	u.at = time.Now()
	if u.user, u.system, err = processTimes(strconv.Itoa(pid)); err != nil {
		return u, err
	}
	user, system, err := processTimes("self")
	if err != nil {
		return u, err
	}
	u.self = user + system
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return u, err
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		switch {
		case len(f) < 9 || !strings.HasPrefix(f[0], "cpu"):
		case f[0] == "cpu":
			for i, s := range f[1:9] {
				if i != 3 && i != 4 { // idle, iowait
					n, _ := strconv.ParseFloat(s, 64)
					u.busy += n / tick
				}
			}
		default:
			u.processors++
		}
	}
	return u, nil
}

func processTimes(pid string) (user, system float64, err error) {
	b, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return 0, 0, err
	}
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(f) < 13 {
		return 0, 0, fmt.Errorf("/proc/%s/stat: %q is too short", pid, b)
	}
	user, _ = strconv.ParseFloat(f[11], 64)
	system, _ = strconv.ParseFloat(f[12], 64)
	return user / tick, system / tick, nil
}

// fill sets what the time between two readings tells.
func (r *Result) fill(from, to usage) {
	r.User = to.user - from.user
	r.CPU = r.User + to.system - from.system
	r.Wall = to.at.Sub(from.at).Seconds()
	self := to.self - from.self
	r.ClientCPU = self / r.Wall
	r.Other = max(0, to.busy-from.busy-r.CPU-self) / (r.Wall * float64(max(to.processors, 1)))
}

// memory reads a field of /proc/PID/status in bytes.
func memory(pid int, field string) (float64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == field+":" {
			n, err := strconv.ParseFloat(f[1], 64)
			return n * 1024, err
		}
	}
	return 0, fmt.Errorf("/proc/%d/status has no %s", pid, field)
}

// resetPeak makes VmHWM start again from the present.
func resetPeak(pid int) error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
}
