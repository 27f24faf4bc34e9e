package peers

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Report is the text of RESULTS.md.
type Report struct {
	machine string
	command string
	began   time.Time
	took    time.Duration
	tables  []*Table
}

// NewReport begins a report. js is the folder of the JavaScript servers.
func NewReport(js, command string) (*Report, error) {
	m, err := describeMachine(js)
	return &Report{machine: m, command: command, began: time.Now()}, err
}

// Add adds the table of a workload.
func (r *Report) Add(t *Table) {
	r.tables = append(r.tables, t)
	r.took = time.Since(r.began)
}

// String returns the report in Markdown.
func (r *Report) String() string {
	var s strings.Builder
	s.WriteString("# Fan-out servers compared\n\n")
	s.WriteString(r.machine)
	fmt.Fprintf(&s, "- %s, took %v\n- `%s` in `bench/`\n\n", r.began.UTC().Format("2006-01-02 15:04 MST"), r.took.Round(time.Second), r.command)
	s.WriteString(method)
	if b := barTable(r.tables); b != "" {
		s.WriteString("## Bars\n\n" + b + "\n")
	}
	for _, t := range r.tables {
		t.write(&s)
	}
	return s.String()
}

const method = `Each sample is a fresh server process on processor 0 and a fresh load client on processor 1; the peers take turns, so that a round has one sample of each. Figures are medians with the range in brackets. Both ends share the machine, so throughput is what one second of server CPU time (user and system) delivers, not what a second on the wall does. "nova / peer" is the median of the ratios within one round: judge by these, and take gaps below 15 % for nothing. The client polls without sleeping, so that no server pays for waking it; where nothing is pinned, and over TLS, it sleeps. Samples during which others used more than 10 % of the machine are dropped. A latency is from the moment a broadcast was due to the moment the client had read it, its own queue included. Memory is resident memory after garbage was collected and returned; what the kernel holds for sockets is not in it. nova runs as it comes, with sessions and history on, but for the limit on upgrades a second; its payload of 100 bytes is one FlatBuffer.

`

// write writes the section of one workload.
func (t *Table) write(s *strings.Builder) {
	ms := measures(t.Workload.Spec.Kind)
	fmt.Fprintf(s, "## %s\n\n%s.\n\n| peer |", t.Workload.Name, t.Workload.About)
	for _, m := range ms {
		fmt.Fprintf(s, " %s |", m.name)
	}
	fmt.Fprintf(s, " %s / peer | samples |\n|---|", t.base())
	s.WriteString(strings.Repeat("---|", len(ms)+2) + "\n")
	for _, p := range t.Peers {
		fmt.Fprintf(s, "| %s |", p.Name)
		for i, m := range ms {
			s.WriteString(" " + figure(t.values(p.Name, m), i == 0) + " |")
		}
		ratio := figure(t.ratios(t.base(), p.Name, ms[0]), true)
		if p.Name == t.base() {
			ratio = ""
		}
		fmt.Fprintf(s, " %s | %d |\n", ratio, len(t.values(p.Name, ms[0])))
	}
	s.WriteString("\n")
	if t.Dropped > 0 {
		fmt.Fprintf(s, "%d samples were dropped because others used the machine.\n\n", t.Dropped)
	}
	for _, f := range slices.Compact(slices.Sorted(slices.Values(t.Failed))) {
		fmt.Fprintf(s, "- failed: %s\n", f)
	}
	if len(t.Failed) > 0 {
		s.WriteString("\n")
	}
}

// base is the peer that the others are compared with.
func (t *Table) base() string {
	if len(t.Peers) == 0 {
		return "nova"
	}
	for _, p := range t.Peers {
		if p.Name == "nova" {
			return p.Name
		}
	}
	return t.Peers[0].Name
}

// figure shows a median, and the range if wanted.
func figure(v []float64, spread bool) string {
	if len(v) == 0 {
		return "–"
	}
	s := number(median(v))
	if spread && len(v) > 1 {
		s += fmt.Sprintf(" (%s–%s)", number(slices.Min(v)), number(slices.Max(v)))
	}
	return s
}

// number shows three digits or so.
func number(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v):
		return "–"
	case a >= 100:
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}
