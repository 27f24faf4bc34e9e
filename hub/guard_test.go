package hub_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/market"
)

// A warning comes once for each event and field, whatever the place in an array.
func TestInt64Warnings(t *testing.T) {
	const big = 1 << 53
	for _, guard := range []hub.Guard{hub.GuardWarn, hub.GuardOff} {
		var out bytes.Buffer
		h := newHub(t, hub.Options{Int64Guard: guard, Logger: slog.New(slog.NewJSONHandler(&out, nil))})
		publish := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		ctx := t.Context()
		for range 3 {
			publish(market.QuoteEvent.Publish(ctx, h, nova.Broadcast(), &market.Quote{Ts: big}))
			publish(market.QuoteEvent.Publish(ctx, h, nova.Broadcast(), &market.Quote{BidSize: -big}))
			publish(market.TradeEvent.Publish(ctx, h, nova.Broadcast(), &market.Trade{Ts: big}))
			publish(market.QuoteEvent.Publish(ctx, h, nova.Broadcast(), &market.Quote{Ts: big - 1}))
		}
		for n := range 3 {
			p := &market.PortfolioSnapshot{Positions: make([]market.PortfolioPosition, 3)}
			p.Positions[n].Quantity = big
			publish(market.PortfolioEvent.Publish(ctx, h, nova.Broadcast(), p))
		}
		var got []string
		for line := range strings.Lines(out.String()) {
			var entry struct{ Level, Event, Field string }
			if err := json.Unmarshal([]byte(line), &entry); err != nil {
				t.Fatal(line, err)
			}
			if entry.Level == "WARN" {
				got = append(got, entry.Event+"."+entry.Field)
			}
		}
		want := []string{"quote.ts", "quote.bidSize", "trade.ts", "portfolio.positions[].quantity"}
		if guard == hub.GuardOff {
			want = nil
		}
		if !slices.Equal(got, want) {
			t.Errorf("guard %d warned of %q, want %q", guard, got, want)
		}
	}
}
