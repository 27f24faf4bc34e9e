package peers

import (
	"fmt"
	"slices"
	"strings"
)

// bar is a bound that nova is to keep.
type bar struct {
	workload string
	a, b     string // the ratio a / b; without b the figure of a
	measure  measure
	atMost   bool
	bound    float64
}

func bars() []bar {
	return []bar{
		{"fanout-n1000-w1", "nova", "centrifuge", perCPU, false, 1.7},
		{"fanout-n1000-w1", "nova", "nats", perCPU, false, 1.7},
		{"fanout-n1000-w1", "nova", "bun", perCPU, false, 0.95},
		{"fanout-n1000-w1", "nova", "bare", perCPU, false, 0.95},
		{"fanout-n1000-w16", "nova", "centrifuge", perCPU, false, 2.5},
		{"fanout-n1000-w16", "nova", "nats", perCPU, false, 2},
		{"fanout-n1000-w16", "nova", "bun", perCPU, false, 0.85},
		{"fanout-n1000-w16", "nova", "nova-plain", perCPU, false, 0.85},
		{"fanout-n1000-w16", "nova-tls", "nova", perCPU, false, 0.5},
		{"fanout-n1000-w16", "nova-batch", "nova", perCPU, false, 0.85},
		{"fanout-n1000-w64", "nova", "centrifuge", perCPU, false, 8},
		{"fanout-n1000-w64", "nova", "bun", perCPU, false, 1.2},
		{"fanout-n10000-w16", "nova", "centrifuge", perCPU, false, 15},
		{"fanout-n10000-w16", "nova", "centrifuge-10ms", perCPU, false, 10},
		{"fanout-n10000-w16", "nova", "bun", perCPU, false, 0.85},
		{"deflate", "nova-deflate", "gorilla-deflate", perCPU, false, 5},
		{"deflate", "nova-deflate", "gorilla-deflate", wireEach, true, 1.03},
		{"procs", "nova-p2", "nova-p1", perWall, false, 1},
		{"paced-20", "nova", "bun", p99, true, 1.2},
		{"paced-20", "nova", "centrifuge", p99, true, 0.7},
		{"paced-200", "nova", "centrifuge", p99, true, 0.5},
		{"paced-200", "nova", "centrifuge", busy, true, 1},
		{"inbound", "nova-raw", "gws", perCPU, false, 2},
		{"inbound", "nova-raw", "gorilla", perCPU, false, 4},
		{"inbound", "nova", "gws", perCPU, false, 1},
		{"idle", "nova", "", eachKB, true, 6},
		{"idle-256", "nova-256", "", eachKB, true, 12},
		{"growth", "nova", "", grownMB, true, 20},
	}
}

// verdict says whether the median keeps the bar, and if not, whether a round did.
func (b *bar) verdict(got []float64) string {
	keeps := func(v float64) bool { return v >= b.bound && !b.atMost || v <= b.bound && b.atMost }
	switch {
	case keeps(median(got)):
		return "yes"
	case slices.ContainsFunc(got, keeps):
		return "some rounds"
	}
	return "**no**"
}

// barTable compares the bars that the tables can tell about.
func barTable(tables []*Table) string {
	var s strings.Builder
	for _, b := range bars() {
		for _, t := range tables {
			if t.Workload.Name != b.workload {
				continue
			}
			what, got := b.a+", "+b.measure.name, t.values(b.a, b.measure)
			if b.b != "" {
				what, got = fmt.Sprintf("%s / %s, %s", b.a, b.b, b.measure.name), t.ratios(b.a, b.b, b.measure)
			}
			if len(got) == 0 {
				continue
			}
			sign := "≥"
			if b.atMost {
				sign = "≤"
			}
			fmt.Fprintf(&s, "| %s | %s | %s %s | %s | %s |\n", b.workload, what, sign, number(b.bound), figure(got, true), b.verdict(got))
		}
	}
	if s.Len() == 0 {
		return ""
	}
	return "| workload | | bar | measured | holds |\n|---|---|---|---|---|\n" + s.String()
}
