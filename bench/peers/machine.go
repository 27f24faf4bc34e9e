package peers

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
)

// described are the modules whose versions the report names.
var described = []string{
	"github.com/centrifugal/centrifuge", "github.com/nats-io/nats-server/v2", "github.com/lxzan/gws",
	"github.com/gorilla/websocket", "github.com/coder/websocket",
}

// describeMachine tells where and with what was measured.
func describeMachine(js string) (string, error) {
	var s strings.Builder
	cpu, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "", fmt.Errorf("this comparison needs Linux: %w", err)
	}
	kernel, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return "", err
	}
	fmt.Fprintf(&s, "- %s, %d processors, Linux %s, loopback\n", field(string(cpu), "model name"), runtime.NumCPU(), strings.TrimSpace(string(kernel)))
	s.WriteString("- " + runtime.Version())
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, path := range described {
			for _, m := range info.Deps {
				if m.Path == path {
					fmt.Fprintf(&s, ", %s %s", strings.TrimPrefix(path, "github.com/"), m.Version)
				}
			}
		}
	}
	if out, err := exec.Command("node", "--version").Output(); err == nil {
		fmt.Fprintf(&s, ", Node %s", strings.TrimSpace(string(out)))
	}
	for _, name := range []string{"socket.io", "bun"} {
		if v := packageVersion(js, name); v != "" {
			fmt.Fprintf(&s, ", %s %s", name, v)
		}
	}
	s.WriteString("\n")
	return s.String(), nil
}

func field(text, name string) string {
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}

func packageVersion(js, name string) string {
	b, err := os.ReadFile(js + "/node_modules/" + name + "/package.json")
	if err != nil {
		return ""
	}
	var p struct {
		Version string `json:"version"`
	}
	if json.Unmarshal(b, &p) != nil {
		return ""
	}
	return p.Version
}
