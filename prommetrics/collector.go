// Package prommetrics gives the metrics of a nova server to the registry of a
// program that uses github.com/prometheus/client_golang. Programs that do not can
// scrape the server's own /metrics, which has the same names and values.
package prommetrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ignex/nova/server"
)

// Collector returns a collector of the server's metrics and those of its hub. Each
// collection takes one snapshot. Of several servers with one hub register one: their
// metrics have the same names.
func Collector(s *server.Server) prometheus.Collector { return &collector{s} }

type collector struct{ server *server.Server }

// Describe implements prometheus.Collector.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	m := c.server.Metrics()
	for _, f := range m.Families() {
		out <- describe(&f)
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	m := c.server.Metrics()
	for _, f := range m.Families() {
		d := describe(&f)
		for _, s := range f.Samples {
			out <- metric(d, &f, &s)
		}
	}
}

func describe(f *server.Family) *prometheus.Desc {
	var labels []string
	if f.Label != "" {
		labels = []string{f.Label}
	}
	return prometheus.NewDesc(f.Name, f.Help, labels, nil)
}

func metric(d *prometheus.Desc, f *server.Family, s *server.Sample) prometheus.Metric {
	var labels []string
	if f.Label != "" {
		labels = []string{s.Label}
	}
	var m prometheus.Metric
	var err error
	switch f.Kind {
	case server.Histogram:
		buckets := make(map[float64]uint64, len(s.Buckets))
		for _, b := range s.Buckets {
			buckets[b.UpTo] = b.Count
		}
		m, err = prometheus.NewConstHistogram(d, s.Count, s.Sum, buckets, labels...)
	case server.Gauge:
		m, err = prometheus.NewConstMetric(d, prometheus.GaugeValue, s.Value, labels...)
	default:
		m, err = prometheus.NewConstMetric(d, prometheus.CounterValue, s.Value, labels...)
	}
	if err != nil {
		return prometheus.NewInvalidMetric(d, err) // the registry reports it
	}
	return m
}
