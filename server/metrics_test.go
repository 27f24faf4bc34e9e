package server_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/wire/control"
)

// scrape reads /metrics with Prometheus' own parser.
func (r *rig) scrape() map[string]*dto.MetricFamily {
	r.t.Helper()
	req, err := http.NewRequest(http.MethodGet, r.web.URL+"/metrics", nil)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer admin")
	res, err := r.web.Client().Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		r.t.Fatal(res.Status, err)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(string(text)))
	if err != nil {
		r.t.Fatalf("%v in\n%s", err, text)
	}
	return families
}

// value returns one number; label is the value of the only label, "" = none.
func value(t *testing.T, families map[string]*dto.MetricFamily, name, label string) float64 {
	t.Helper()
	f := families[name]
	if f == nil {
		t.Fatalf("no metric %s", name)
	}
	for _, m := range f.Metric {
		if label == "" && len(m.Label) == 0 || len(m.Label) == 1 && m.Label[0].GetValue() == label {
			switch {
			case m.Counter != nil:
				return m.Counter.GetValue()
			case m.Gauge != nil:
				return m.Gauge.GetValue()
			}
			return float64(m.Histogram.GetSampleCount())
		}
	}
	t.Fatalf("no %s with label %q", name, label)
	return 0
}

// A client may choose its close code, and no number of choices hides the codes that the
// server closes with.
func TestCloseCodesOfClientsHideNone(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	const codes = 80
	for n := range codes {
		p := r.join("", "")
		p.write(ws.AppendMasked(nil, ws.Close, ws.AppendClosePayload(nil, 4500+n, ""), [4]byte{}))
		p.untilClosed()
	}
	eventually(t, "all are counted", func() bool {
		sum := uint64(0)
		for _, n := range r.srv.Metrics().Closed {
			sum += n
		}
		return sum == codes
	})
	p := r.join("", "")
	p.write(ws.AppendMasked(nil, ws.Text, []byte("x"), [4]byte{}))
	p.expectEnd(1003, "text frame received")
	closed := r.srv.Metrics().Closed
	if closed[1003] != 1 || closed[0] != codes-64 || len(closed) != 64+2 {
		t.Errorf("%v", closed)
	}
}

func TestMetricNames(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{AdminToken: "admin"})
	want := map[string]string{ // name: label, "" = none
		"nova_published_total": "event", "nova_inbound_total": "event", "nova_handler_errors_total": "event",
		"nova_dropped_total": "reason", "nova_undecodable_total": "cause", "nova_resumes_total": "result",
		"nova_sessions": "state", "nova_closed_total": "code", "nova_calls_total": "code",
		"nova_sent_total": "", "nova_sent_bytes_total": "", "nova_superseded_total": "", "nova_disconnected_slow_total": "",
		"nova_inbound_control_total": "", "nova_not_allowed_total": "", "nova_unknown_event_total": "",
		"nova_rejected_joins_total": "", "nova_numbered_total": "", "nova_session_bytes": "", "nova_connections": "",
		"nova_connections_total": "", "nova_queue_frames": "", "nova_flush_frames": "", "nova_publish_to_write_seconds": "",
		"nova_topics": "", "nova_other_schema_total": "", "nova_groups": "", "nova_user_groups": "", "nova_uptime_seconds": "",
		"nova_unsent_frames": "", "nova_sessions_expired_total": "", "nova_refused_total": "",
		"nova_replayed_total": "", "nova_history_bytes": "",
		"nova_rate_limited_total": "", "nova_invalid_total": "", "nova_partial_bytes": "",
	}
	p := r.join("", "", "calls/1")
	p.get(0, 1, "x")
	p.replied(1, nova.Unimplemented)
	p.write(ws.AppendMasked(nil, ws.Text, []byte("x"), [4]byte{}))
	p.expectEnd(1003, "text frame received")
	families := r.scrape()
	if got, names := slices.Sorted(maps.Keys(families)), slices.Sorted(maps.Keys(want)); !slices.Equal(got, names) {
		t.Errorf("names\n%v\nwant\n%v", got, names)
	}
	for name, label := range want {
		kind := dto.MetricType_GAUGE
		switch name {
		case "nova_queue_frames", "nova_flush_frames", "nova_publish_to_write_seconds":
			kind = dto.MetricType_HISTOGRAM
		default:
			if strings.HasSuffix(name, "_total") {
				kind = dto.MetricType_COUNTER
			}
		}
		f := families[name]
		if f.GetHelp() == "" {
			t.Errorf("%s has no help", name)
		}
		if f.GetType() != kind {
			t.Errorf("%s is a %v, want a %v", name, f.GetType(), kind)
		}
		for _, m := range f.GetMetric() {
			if label == "" && len(m.Label) > 0 || label != "" && (len(m.Label) != 1 || m.Label[0].GetName() != label) {
				t.Errorf("%s has labels %v", name, m.Label)
			}
		}
	}
	labels := func(name string) (list []string) {
		for _, m := range families[name].Metric {
			list = append(list, m.Label[0].GetValue())
		}
		return list
	}
	for name, want := range map[string]string{
		"nova_dropped_total": "oldest newest class withdrawn expired discarded", "nova_resumes_total": "recovered lost",
		"nova_sessions": "connected detached", "nova_undecodable_total": "envelope control payload", "nova_closed_total": "1003",
	} {
		if got := strings.Join(labels(name), " "); got != want {
			t.Errorf("%s has %q, want %q", name, got, want)
		}
	}
}

// numbered = written + dropped + superseded + unsent, with every way that a frame
// can take.
func TestMetricsAddUp(t *testing.T) {
	var now atomic.Int64
	now.Store(time.Now().UnixNano())
	r := newRig(t, hub.Options{
		Backpressure: hub.Backpressure{MaxFrames: 64},
		Clock:        func() time.Time { return time.Unix(0, now.Load()) },
	}, server.Options{AdminToken: "admin"})
	sum := func() (families map[string]*dto.MetricFamily, total float64) {
		families = r.scrape()
		for _, reason := range []string{"oldest", "newest", "class", "withdrawn", "expired", "discarded"} {
			total += value(t, families, "nova_dropped_total", reason)
		}
		for _, name := range []string{"nova_sent_total", "nova_superseded_total", "nova_unsent_frames"} {
			total += value(t, families, name, "")
		}
		return families, total
	}
	check := func(step string) map[string]*dto.MetricFamily {
		t.Helper()
		families, total := sum()
		if numbered := value(t, families, "nova_numbered_total", ""); numbered != total {
			t.Errorf("%s: %v numbered, %v accounted for", step, numbered, total)
		}
		return families
	}
	p, m := r.attach("", "", 0)
	c := r.hub.Client(m.ClientID)
	if err := c.Join(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	check("joined")
	p.net.Close()
	r.detached(1)
	for n := range 200 { // latest: superseded; others by policy
		r.publish(nova.Broadcast(), n%3)
		r.publish(nova.Topic("t"), n)
		if err := market.TradeEvent.Publish(context.Background(), r.hub, nova.Broadcast(), &market.Trade{}); err != nil {
			t.Fatal(err)
		}
		if n%50 == 0 {
			c.Leave("none") // waits for the loop
			check(fmt.Sprint("published ", n))
		}
	}
	c.Leave("t")
	check("withdrawn")
	gone, _ := r.attach("", "", 0)
	gone.net.Close()
	r.detached(2)
	r.publish(nova.Broadcast(), 1)
	r.hub.Settle(t.Context()) // the lost session has it
	_, again := r.attach("", m.Session, 0)
	families := check("attached again")
	t.Logf("recovered %v, %v", again.Recovered, families["nova_dropped_total"].Metric)
	now.Add(int64(time.Hour))
	eventually(t, "the lost session expires", func() bool { return r.hub.Len() == 1 })
	families = check("expired")
	for _, reason := range []string{"withdrawn", "expired"} {
		if value(t, families, "nova_dropped_total", reason) == 0 {
			t.Errorf("nothing was %s", reason)
		}
	}
	if n := value(t, families, "nova_resumes_total", "recovered") + value(t, families, "nova_resumes_total", "lost"); n != 1 {
		t.Errorf("%v resumes", n)
	}
	if value(t, families, "nova_queue_frames", "") == 0 || value(t, families, "nova_flush_frames", "") == 0 ||
		value(t, families, "nova_publish_to_write_seconds", "") == 0 || value(t, families, "nova_superseded_total", "") == 0 {
		t.Error("a histogram is empty, or nothing was superseded")
	}
}

// What is given again is counted, by either way of coming back.
func TestReplayedIsCounted(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	p, m := r.attach("", "", 0)
	base := r.join("", "")
	base.sync()
	for n := 1; n <= 5; n++ {
		r.publish(nova.Broadcast(), n)
		p.expectQuote(uint64(n), int64(n))
		base.quote(uint64(n))
	}
	p.net.Close()
	r.detached(1)
	if _, again := r.attach("", m.Session, 2); !again.Recovered {
		t.Fatal("not recovered")
	}
	if n := r.hub.Metrics().Replayed; n != 3 {
		t.Errorf("%d replayed, want 3", n)
	}
	base.send(&control.Resume{LastSeq: 1})
	base.control(control.ResumedID, new(control.Resumed))
	if n := r.hub.Metrics().Replayed; n != 7 {
		t.Errorf("%d replayed, want 7", n)
	}
}
