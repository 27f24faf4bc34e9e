package server

import (
	"fmt"
	"maps"
	"slices"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
)

// Kind is what a metric is.
type Kind uint8

// The kinds.
const (
	Counter   Kind = iota // only grows
	Gauge                 // goes up and down
	Histogram             // counts values in buckets
)

// String returns the kind as Prometheus names it.
func (k Kind) String() string { return [...]string{"counter", "gauge", "histogram"}[min(k, Histogram)] }

// Family is one metric with its values: one, or one for each value of a label. Label
// values are names of events of the schema and fixed words, never those of topics,
// users or clients: their number does not grow with the traffic.
type Family struct {
	Name    string
	Help    string
	Kind    Kind
	Label   string // "" = one sample
	Samples []Sample
}

// Sample is one value of a Family.
type Sample struct {
	Label   string
	Value   float64  // of counters and gauges
	Buckets []Bucket // of histograms, which end with Sum and Count
	Sum     float64
	Count   uint64
}

// Bucket counts the values up to a bound, those of smaller bounds included.
type Bucket struct {
	UpTo  float64
	Count uint64
}

// Families returns the snapshot as named metrics, for exporters: /metrics and
// package prommetrics write the same ones.
func (m *Metrics) Families() []Family {
	var f families
	h := &m.Hub
	f.byEvent("nova_published_total", h.Published)
	f.byEvent("nova_inbound_total", h.Inbound)
	f.byEvent("nova_handler_errors_total", h.HandlerErrors)
	f.labelled("nova_calls_total", Counter, "code", byKey(h.Calls, nova.Code.String)...)
	f.single("nova_inbound_control_total", Counter, m.InboundControl)
	f.single("nova_other_schema_total", Counter, m.OtherSchema)
	f.single("nova_not_allowed_total", Counter, h.NotAllowed)
	f.single("nova_invalid_total", Counter, h.Invalid)
	f.single("nova_rate_limited_total", Counter, m.RateLimited)
	f.single("nova_unknown_event_total", Counter, h.UnknownEvents)
	f.labelled("nova_undecodable_total", Counter, "cause", byKey(h.Damage, hub.Damage.String)...)
	f.labelled("nova_dropped_total", Counter, "reason", dropped(h)...)
	f.single("nova_superseded_total", Counter, h.Frames.Superseded)
	f.single("nova_numbered_total", Counter, h.Frames.Numbered)
	f.single("nova_sent_total", Counter, h.Frames.Written)
	f.single("nova_sent_bytes_total", Counter, m.SentBytes)
	f.single("nova_unsent_frames", Gauge, h.Frames.Unsent)
	f.depth("nova_queue_frames", &h.QueueFrames)
	f.depth("nova_flush_frames", &h.FlushFrames)
	f.latency("nova_publish_to_write_seconds", &h.PublishToWrite)
	f.labelled("nova_resumes_total", Counter, "result", count("recovered", h.Resumes), count("lost", h.ResumesFailed))
	f.single("nova_replayed_total", Counter, h.Replayed)
	f.labelled("nova_sessions", Gauge, "state", count("connected", h.Sessions-h.Detached), count("detached", h.Detached))
	f.single("nova_sessions_expired_total", Counter, h.Expired)
	f.single("nova_session_bytes", Gauge, h.SessionBytes)
	f.single("nova_disconnected_slow_total", Counter, h.SlowClosed)
	f.single("nova_rejected_joins_total", Counter, h.RejectedJoins)
	f.single("nova_connections", Gauge, m.Connections)
	f.single("nova_partial_bytes", Gauge, m.PartialBytes)
	f.single("nova_connections_total", Counter, m.Accepted)
	f.single("nova_refused_total", Counter, m.Refused)
	f.labelled("nova_closed_total", Counter, "code", byKey(m.Closed, func(code int) string { return fmt.Sprint(code) })...)
	f.single("nova_topics", Gauge, h.Topics)
	f.single("nova_groups", Gauge, h.Groups)
	f.single("nova_user_groups", Gauge, h.UserGroups)
	f.single("nova_history_bytes", Gauge, h.HistoryBytes)
	f.single("nova_uptime_seconds", Gauge, m.Uptime.Seconds())
	return f
}

// dropped tells what became of frames that no socket took.
func dropped(h *hub.Metrics) []Sample {
	f := &h.Frames
	return []Sample{
		count("oldest", f.Oldest), count("newest", f.Newest), count("class", f.Dropped-f.Oldest-f.Newest),
		count("withdrawn", f.Withdrawn), count("expired", h.ExpiredFrames),
		count("discarded", f.Discarded-min(f.Discarded, h.ExpiredFrames)),
	}
}

type number interface {
	~int | ~int64 | ~uint64 | ~float64
}

func count[N number](label string, n N) Sample { return Sample{Label: label, Value: float64(n)} }

// byKey makes a sample of each entry of a map, in the order of its keys.
func byKey[K interface{ ~int | ~uint8 | ~string }](values map[K]uint64, name func(K) string) []Sample {
	var samples []Sample
	for _, k := range slices.Sorted(maps.Keys(values)) {
		samples = append(samples, count(name(k), values[k]))
	}
	return samples
}

type families []Family

func (f *families) labelled(name string, kind Kind, label string, samples ...Sample) {
	*f = append(*f, Family{Name: name, Help: help[name], Kind: kind, Label: label, Samples: samples})
}

func (f *families) byEvent(name string, values map[string]uint64) {
	f.labelled(name, Counter, "event", byKey(values, func(event string) string { return event })...)
}

func (f *families) single(name string, kind Kind, value any) {
	var s Sample
	switch v := value.(type) {
	case int:
		s = count("", v)
	case int64:
		s = count("", v)
	case uint64:
		s = count("", v)
	case float64:
		s = count("", v)
	}
	f.labelled(name, kind, "", s)
}

func (f *families) depth(name string, d *hub.Depth) {
	s := Sample{Sum: float64(d.Sum), Count: d.Count}
	sum := uint64(0)
	for i, n := range d.Buckets[:len(d.Buckets)-1] {
		sum += n
		s.Buckets = append(s.Buckets, Bucket{float64(hub.DepthBound(i)), sum})
	}
	f.labelled(name, Histogram, "", s)
}

func (f *families) latency(name string, l *hub.Latency) {
	s := Sample{Sum: l.Sum.Seconds(), Count: l.Count}
	sum := uint64(0)
	for i, bound := range hub.LatencyBounds {
		sum += l.Buckets[i]
		s.Buckets = append(s.Buckets, Bucket{bound.Seconds(), sum})
	}
	f.labelled(name, Histogram, "", s)
}

// help says what each metric is.
var help = map[string]string{
	"nova_published_total":          "Events published here.",
	"nova_inbound_total":            "Events of clients that they may send.",
	"nova_handler_errors_total":     "Events that a handler failed on, panics included.",
	"nova_calls_total":              "Calls of clients, by the code they were answered with.",
	"nova_other_schema_total":       "Clients that came with another version of the schema.",
	"nova_inbound_control_total":    "Control frames of clients.",
	"nova_not_allowed_total":        "Events of clients that they may not send.",
	"nova_invalid_total":            "Events and calls of clients with values that Validate or CheckInbound refused.",
	"nova_rate_limited_total":       "Frames of clients that came earlier than RateLimit allows.",
	"nova_unknown_event_total":      "Frames of clients with an event that the schema does not have.",
	"nova_undecodable_total":        "Malformed frames of clients, by the part that is damaged.",
	"nova_dropped_total":            "Numbered frames that no socket got, by reason.",
	"nova_superseded_total":         "Numbered frames that a newer value of the same key replaced.",
	"nova_numbered_total":           "Frames queued for one client each.",
	"nova_sent_total":               "Numbered frames that a socket took, once each.",
	"nova_sent_bytes_total":         "Bytes that sockets took.",
	"nova_unsent_frames":            "Numbered frames queued now.",
	"nova_queue_frames":             "Frames queued when a connection begins to write.",
	"nova_flush_frames":             "Frames in one write.",
	"nova_publish_to_write_seconds": "Time from the oldest publish of a turn to the last first write of it.",
	"nova_resumes_total":            "Clients that came back, by whether their session went on.",
	"nova_replayed_total":           "Numbers given again to clients that came back.",
	"nova_sessions":                 "Sessions, with and without a socket.",
	"nova_sessions_expired_total":   "Sessions that nobody came back to.",
	"nova_session_bytes":            "Memory of what sessions hold: frames, each once, and the slots of queues.",
	"nova_disconnected_slow_total":  "Sessions ended because what must arrive did not fit into their queue.",
	"nova_rejected_joins_total":     "Joins of topics and groups that were refused.",
	"nova_connections":              "Connections open now.",
	"nova_partial_bytes":            "Bytes of messages that have come in part.",
	"nova_connections_total":        "Upgrades that became connections.",
	"nova_refused_total":            "Upgrades that did not.",
	"nova_closed_total":             "Connections ended, by close code; 1006 = without one.",
	"nova_topics":                   "Topics with members or history.",
	"nova_groups":                   "Groups with members.",
	"nova_user_groups":              "Groups of users.",
	"nova_history_bytes":            "Memory of the frames that topics keep.",
	"nova_uptime_seconds":           "Time since the server was made.",
}
