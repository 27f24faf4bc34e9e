package peers

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/ignex/nova/bench/peers/load"
)

// Bench runs workloads.
type Bench struct {
	JS      string    // folder of the scripts, with their node_modules
	Samples int       // rounds of each workload
	Keep    bool      // keep samples although others used the machine
	Sleep   bool      // the client sleeps while there is nothing to read
	Log     io.Writer // progress
	// Profiles is a folder for CPU profiles of the servers in Go; default none.
	Profiles string

	self string
}

const (
	maxOther = 0.10 // share of the machine that others may use
	attempts = 3    // at a sample that others disturbed
)

// Table holds the samples of one workload: for each peer, one a round; nil where
// there is none.
type Table struct {
	Workload Workload
	Peers    []Peer
	Samples  map[string][]*load.Result
	Dropped  int      // samples that others disturbed
	Failed   []string // what went wrong, one line each
}

// Run measures the peers of a workload, interleaved.
func (b *Bench) Run(ctx context.Context, w Workload, peers []Peer) (*Table, error) {
	if b.self == "" {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		b.self = self
	}
	t := &Table{Workload: w, Samples: map[string][]*load.Result{}}
	for _, p := range peers {
		if slices.Contains(w.Peers, p.Name) {
			t.Peers = append(t.Peers, p)
		}
	}
	rounds := b.Samples
	if w.Once {
		rounds = min(rounds, 3)
	}
	for round := range rounds {
		for i := range t.Peers {
			p := t.Peers[(i+round)%len(t.Peers)] // nobody always follows the same
			r := b.try(ctx, t, p)
			if err := ctx.Err(); err != nil {
				return t, err
			}
			t.Samples[p.Name] = append(t.Samples[p.Name], r)
		}
	}
	return t, nil
}

// try takes one sample, again when it was disturbed.
func (b *Bench) try(ctx context.Context, t *Table, p Peer) *load.Result {
	for range attempts {
		r, err := b.sample(ctx, p, t.Workload)
		if err != nil {
			t.Failed = append(t.Failed, err.Error())
			fmt.Fprintf(b.Log, "%s %s failed: %v\n", t.Workload.Name, p.Name, err)
			return nil
		}
		fmt.Fprintf(b.Log, "%s %-16s %s\n", t.Workload.Name, p.Name, line(t.Workload.Spec.Kind, r))
		if b.Keep || r.Other <= maxOther {
			return &r
		}
		t.Dropped++
	}
	return nil
}

func line(kind string, r load.Result) string {
	switch kind {
	case load.Idle, load.Growth:
		return fmt.Sprintf("%.1f MB in all, %.2f KB a connection", r.Memory/1e6, r.Memory/1024/10_000)
	case load.Paced:
		return fmt.Sprintf("p50 %.2f ms, p99 %.2f ms, CPU %.0f %%, client %.0f %%, others %.0f %%",
			r.P50*1e3, r.P99*1e3, 100*r.CPU/r.Wall, 100*r.ClientCPU, 100*r.Other)
	}
	return fmt.Sprintf("%.0f k per CPU second, %.0f k/s, CPU %.0f %% (user %.0f ns each), client %.0f %%, others %.0f %%, %.0f bytes each",
		r.Count/r.CPU/1e3, r.Count/r.Wall/1e3, 100*r.CPU/r.Wall, r.User/r.Count*1e9, 100*r.ClientCPU, 100*r.Other, r.Bytes)
}
