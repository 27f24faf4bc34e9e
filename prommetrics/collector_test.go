package prommetrics_test

import (
	"bytes"
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"google.golang.org/protobuf/proto"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/internal/leak"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/prommetrics"
	"github.com/ignex/nova/server"
)

func TestMain(m *testing.M) { leak.Main(m) }

func newServer(t *testing.T) (*hub.Hub, *server.Server) {
	t.Helper()
	h, err := hub.New(hub.Options{Schema: market.Schema})
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(h, server.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return h, s
}

// The registry's own checks find nothing, and it has what /metrics has.
func TestCollectorHasWhatMetricsHas(t *testing.T) {
	h, s := newServer(t)
	for n := range 3 {
		if err := market.QuoteEvent.Publish(t.Context(), h, nova.Topic("t"), &market.Quote{Symbol: "A", Ts: int64(n)}); err != nil {
			t.Fatal(err)
		}
	}
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(prommetrics.Collector(s)); err != nil {
		t.Fatal(err)
	}
	gathered, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	m := s.Metrics()
	if _, err := m.WriteTo(&text); err != nil {
		t.Fatal(err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	scraped, err := parser.TextToMetricFamilies(&text)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range gathered {
		other := scraped[f.GetName()]
		delete(scraped, f.GetName())
		if f.GetName() == "nova_uptime_seconds" {
			continue // it went on
		}
		sortLabels(f)
		sortLabels(other)
		if !proto.Equal(f, other) {
			t.Errorf("collected\n%v\nscraped\n%v", f, other)
		}
	}
	for name, f := range scraped {
		if len(f.Metric) > 0 {
			t.Errorf("only /metrics has %s", name)
		}
	}
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Errorf("promlint: %v, %v", problems, err)
	}
}

// sortLabels gives the samples of a family the registry's order, and leaves out the
// bucket without a bound, which the text must have and the registry does not.
func sortLabels(f *dto.MetricFamily) {
	slices.SortFunc(f.GetMetric(), func(a, b *dto.Metric) int { return strings.Compare(label(a), label(b)) })
	for _, m := range f.GetMetric() {
		if h := m.GetHistogram(); h != nil {
			h.Bucket = slices.DeleteFunc(h.Bucket, func(b *dto.Bucket) bool { return math.IsInf(b.GetUpperBound(), 1) })
		}
	}
}

func label(m *dto.Metric) string {
	if len(m.Label) == 0 {
		return ""
	}
	return m.Label[0].GetValue()
}
