package server

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ignex/nova/hub"
)

// Metrics is what a server and its hub have counted. Reading it changes nothing.
type Metrics struct {
	Hub            hub.Metrics
	Connections    int            // open now
	Accepted       uint64         // upgrades that became connections
	Refused        uint64         // upgrades that did not
	Closed         map[int]uint64 // connections ended, by close code
	InboundControl uint64         // control frames of clients
	SentBytes      uint64
	Uptime         time.Duration
}

type counters struct {
	accepted, refused, control, sentBytes atomic.Uint64
	mu                                    sync.Mutex
	codes                                 map[int]uint64
}

func (c *counters) closed(code int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.codes == nil {
		c.codes = map[int]uint64{}
	}
	if _, ok := c.codes[code]; !ok && len(c.codes) >= 64 {
		code = 0 // clients choose from thousands; the labels stay few
	}
	c.codes[code]++
}

// Metrics returns a snapshot.
func (s *Server) Metrics() Metrics {
	s.mu.Lock()
	connections := len(s.conns)
	s.mu.Unlock()
	s.metrics.mu.Lock()
	closed := maps.Clone(s.metrics.codes)
	s.metrics.mu.Unlock()
	return Metrics{
		Hub:            s.hub.Metrics(),
		Connections:    connections,
		Accepted:       s.metrics.accepted.Load(),
		Refused:        s.metrics.refused.Load(),
		Closed:         closed,
		InboundControl: s.metrics.control.Load(),
		SentBytes:      s.metrics.sentBytes.Load(),
		Uptime:         time.Since(s.started),
	}
}

func (s *Server) serveMetrics(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	m := s.Metrics()
	m.WriteTo(w)
}

// WriteTo writes the snapshot in the Prometheus text format.
func (m *Metrics) WriteTo(out io.Writer) (int64, error) {
	counted := &countingWriter{out: out}
	w := bufio.NewWriter(counted)
	single := func(name, kind string, v any) { fmt.Fprintf(w, "# TYPE %s %s\n%s %v\n", name, kind, name, v) }
	byEvent := func(name string, values map[string]uint64) {
		fmt.Fprintf(w, "# TYPE %s counter\n", name)
		for _, event := range slices.Sorted(maps.Keys(values)) {
			fmt.Fprintf(w, "%s{event=%q} %d\n", name, event, values[event])
		}
	}
	byEvent("nova_published_total", m.Hub.Published)
	byEvent("nova_inbound_total", m.Hub.Inbound)
	byEvent("nova_handler_errors_total", m.Hub.HandlerErrors)
	single("nova_inbound_control_total", "counter", m.InboundControl)
	single("nova_not_allowed_total", "counter", m.Hub.NotAllowed)
	single("nova_unknown_event_total", "counter", m.Hub.UnknownEvents)
	fmt.Fprintf(w, "# TYPE nova_undecodable_total counter\n")
	for _, d := range slices.Sorted(maps.Keys(m.Hub.Damage)) {
		fmt.Fprintf(w, "nova_undecodable_total{cause=%q} %d\n", d, m.Hub.Damage[d])
	}
	f := &m.Hub.Frames
	fmt.Fprintf(w, "# TYPE nova_dropped_total counter\n")
	for _, d := range []struct {
		reason string
		n      uint64
	}{
		{"oldest", f.Oldest}, {"newest", f.Newest}, {"class", f.Dropped - f.Oldest - f.Newest}, {"withdrawn", f.Withdrawn},
		{"expired", m.Hub.ExpiredFrames}, {"discarded", f.Discarded - min(f.Discarded, m.Hub.ExpiredFrames)},
	} {
		fmt.Fprintf(w, "nova_dropped_total{reason=%q} %d\n", d.reason, d.n)
	}
	single("nova_superseded_total", "counter", f.Superseded)
	single("nova_numbered_total", "counter", f.Numbered)
	single("nova_sent_total", "counter", f.Written)
	single("nova_unsent_frames", "gauge", f.Unsent)
	writeDepth(w, "nova_queue_frames", &m.Hub.QueueFrames)
	writeDepth(w, "nova_flush_frames", &m.Hub.FlushFrames)
	fmt.Fprintf(w, "# TYPE nova_resumes_total counter\n")
	fmt.Fprintf(w, "nova_resumes_total{result=\"recovered\"} %d\nnova_resumes_total{result=\"lost\"} %d\n",
		m.Hub.Resumes, m.Hub.ResumesFailed)
	fmt.Fprintf(w, "# TYPE nova_sessions gauge\n")
	fmt.Fprintf(w, "nova_sessions{state=\"connected\"} %d\nnova_sessions{state=\"detached\"} %d\n",
		m.Hub.Sessions-m.Hub.Detached, m.Hub.Detached)
	single("nova_sessions_expired_total", "counter", m.Hub.Expired)
	single("nova_session_bytes", "gauge", m.Hub.SessionBytes)
	single("nova_disconnected_slow_total", "counter", m.Hub.SlowClosed)
	single("nova_rejected_joins_total", "counter", m.Hub.RejectedJoins)
	single("nova_sent_bytes_total", "counter", m.SentBytes)
	single("nova_connections", "gauge", m.Connections)
	single("nova_connections_total", "counter", m.Accepted)
	single("nova_refused_total", "counter", m.Refused)
	fmt.Fprintf(w, "# TYPE nova_closed_total counter\n")
	for _, code := range slices.Sorted(maps.Keys(m.Closed)) {
		fmt.Fprintf(w, "nova_closed_total{code=\"%d\"} %d\n", code, m.Closed[code])
	}
	writeLatency(w, &m.Hub.PublishToWrite)
	single("nova_topics", "gauge", m.Hub.Topics)
	single("nova_groups", "gauge", m.Hub.Groups)
	single("nova_user_groups", "gauge", m.Hub.UserGroups)
	single("nova_uptime_seconds", "gauge", m.Uptime.Seconds())
	err := w.Flush()
	return counted.n, err
}

type countingWriter struct {
	out io.Writer
	n   int64
}

func (c *countingWriter) Write(b []byte) (int, error) {
	n, err := c.out.Write(b)
	c.n += int64(n)
	return n, err
}

func writeDepth(w io.Writer, name string, d *hub.Depth) {
	fmt.Fprintf(w, "# TYPE %s histogram\n", name)
	sum := uint64(0)
	for i, n := range d.Buckets[:len(d.Buckets)-1] {
		sum += n
		fmt.Fprintf(w, "%s_bucket{le=\"%d\"} %d\n", name, hub.DepthBound(i), sum)
	}
	fmt.Fprintf(w, "%s_bucket{le=\"+Inf\"} %d\n%s_sum %d\n%s_count %d\n", name, d.Count, name, d.Sum, name, d.Count)
}

func writeLatency(w io.Writer, l *hub.Latency) {
	const name = "nova_publish_to_write_seconds"
	fmt.Fprintf(w, "# TYPE %s histogram\n", name)
	sum := uint64(0)
	for i, bound := range hub.LatencyBounds {
		sum += l.Buckets[i]
		fmt.Fprintf(w, "%s_bucket{le=\"%g\"} %d\n", name, bound.Seconds(), sum)
	}
	fmt.Fprintf(w, "%s_bucket{le=\"+Inf\"} %d\n%s_sum %g\n%s_count %d\n", name, l.Count, name, l.Sum.Seconds(), name, l.Count)
}
