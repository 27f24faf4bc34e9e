package load

import (
	"fmt"
	"slices"
	"time"
)

// The kinds of work.
const (
	Fanout  = "fanout"  // as fast as Window allows
	Paced   = "paced"   // Rate broadcasts a second
	Inbound = "inbound" // clients send
	Idle    = "idle"    // memory of connections at rest
	Growth  = "growth"  // memory while broadcasting
)

// Spec is one measurement of one server process.
type Spec struct {
	Protocol    string        `json:"protocol"`
	DataPort    int           `json:"dataPort"`
	ControlPort int           `json:"controlPort"`
	PID         int           `json:"pid"` // of the server
	TLS         bool          `json:"tls"`
	Spin        bool          `json:"spin"` // poll without sleeping, so that no server pays for waking the client
	Kind        string        `json:"kind"`
	N           int           `json:"n"`      // connections
	Window      int           `json:"window"` // broadcasts outstanding
	Rate        int           `json:"rate"`   // broadcasts a second
	Count       int           `json:"count"`  // broadcasts in all, of Idle and Growth
	Warm        time.Duration `json:"warm"`
	Duration    time.Duration `json:"duration"`
}

// Result is what one measurement gave.
type Result struct {
	Count     float64 `json:"count"`     // deliveries or inbound messages in the window
	CPU       float64 `json:"cpu"`       // seconds of the server, user and system
	User      float64 `json:"user"`      // the user part of CPU
	Wall      float64 `json:"wall"`      // seconds of the window
	Other     float64 `json:"other"`     // share of the machine that others used
	ClientCPU float64 `json:"clientCPU"` // share of one CPU that the client used
	Bytes     float64 `json:"bytes"`     // on the wire, for each delivery
	P50       float64 `json:"p50"`       // seconds
	P99       float64 `json:"p99"`
	Memory    float64 `json:"memory"` // bytes of the server's resident growth
}

// maxConns stays below the limit of descriptors of one process.
const maxConns = 18_000

func (s *Spec) check() error {
	switch {
	case protocols[s.Protocol] == nil:
		return fmt.Errorf("load: protocol %q is unknown", s.Protocol)
	case s.N < 1 || s.N > maxConns:
		return fmt.Errorf("load: %d connections; one process takes 1 to %d", s.N, maxConns)
	case !slices.Contains([]string{Fanout, Paced, Inbound, Idle, Growth}, s.Kind):
		return fmt.Errorf("load: kind %q is unknown", s.Kind)
	case s.Kind == Paced && (s.Rate < 1 || float64(s.Rate)*(s.Warm+s.Duration).Seconds() > ringSize/2):
		return fmt.Errorf("load: rate %d for %v is out of range", s.Rate, s.Warm+s.Duration)
	case s.Kind != Paced && s.Kind != Inbound && (s.Window < 1 || s.Window > ringSize/2):
		return fmt.Errorf("load: window %d is out of range", s.Window)
	}
	return nil
}
