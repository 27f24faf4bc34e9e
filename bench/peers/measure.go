package peers

import (
	"math"
	"slices"

	"github.com/ignex/nova/bench/peers/load"
)

// measure is one figure of a sample.
type measure struct {
	name  string
	value func(r *load.Result) float64
}

var (
	perCPU   = measure{"thousand per server CPU second", func(r *load.Result) float64 { return r.Count / r.CPU / 1e3 }}
	perWall  = measure{"thousand per second", func(r *load.Result) float64 { return r.Count / r.Wall / 1e3 }}
	userEach = measure{"user ns each", func(r *load.Result) float64 { return r.User / r.Count * 1e9 }}
	wireEach = measure{"bytes each", func(r *load.Result) float64 { return r.Bytes }}
	busy     = measure{"server CPU, %", func(r *load.Result) float64 { return 100 * r.CPU / r.Wall }}
	client   = measure{"client CPU, %", func(r *load.Result) float64 { return 100 * r.ClientCPU }}
	p50      = measure{"p50, ms", func(r *load.Result) float64 { return r.P50 * 1e3 }}
	p99      = measure{"p99, ms", func(r *load.Result) float64 { return r.P99 * 1e3 }}
	eachKB   = measure{"KB a connection", func(r *load.Result) float64 { return r.Memory / 1024 / r.Count }}
	grownMB  = measure{"MB grown", func(r *load.Result) float64 { return r.Memory / 1e6 }}
)

// measures returns the figures of a kind of work; the first is the one compared.
func measures(kind string) []measure {
	switch kind {
	case load.Paced:
		return []measure{p99, p50, busy, client}
	case load.Idle:
		return []measure{eachKB}
	case load.Growth:
		return []measure{grownMB}
	case load.Inbound:
		return []measure{perCPU, perWall, userEach, busy, client}
	}
	return []measure{perCPU, perWall, userEach, busy, client, wireEach}
}

// values returns the figure of every sample of a peer that there is.
func (t *Table) values(peer string, m measure) []float64 {
	var out []float64
	for _, r := range t.Samples[peer] {
		if r != nil {
			out = append(out, m.value(r))
		}
	}
	return out
}

// ratios returns a's figure over b's for each round that has both.
func (t *Table) ratios(a, b string, m measure) []float64 {
	var out []float64
	as, bs := t.Samples[a], t.Samples[b]
	for i := range min(len(as), len(bs)) {
		if as[i] != nil && bs[i] != nil {
			out = append(out, m.value(as[i])/m.value(bs[i]))
		}
	}
	return out
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	v = slices.Sorted(slices.Values(v))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
