package main

import (
	"context"
	"math"
	"math/rand/v2"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/market"
)

// equities is the topic of quotes and trades.
const equities = "equities"

// instrument is one security of the synthetic market.
type instrument struct {
	symbol string
	anchor float64 // the price it is drawn back to
	mid    float64
	spread float64 // between bid and ask
	held   int64   // by the demo account
	cost   float64 // average price paid
}

// marketWalk is a random market: the same seed gives the same events, whatever
// the clock says.
type marketWalk struct {
	random      *rand.Rand
	instruments []instrument
	cash        float64
}

func newMarketWalk(seed uint64) *marketWalk {
	m := &marketWalk{random: rand.New(rand.NewPCG(seed, 0x6e6f7661)), cash: 125_000}
	for _, s := range []struct {
		symbol string
		price  float64
		held   int64
	}{
		{"AAPL", 229.35, 120}, {"MSFT", 437.10, 60}, {"NVDA", 138.25, 300}, {"AMZN", 207.90, 0},
		{"GOOG", 176.45, 80}, {"META", 573.20, 0}, {"TSLA", 342.05, -40}, {"JPM", 246.55, 0},
		{"BRK.B", 472.80, 25}, {"XOM", 118.65, 0}, {"COST", 961.30, 0}, {"KO", 63.85, 500},
	} {
		m.instruments = append(m.instruments, instrument{symbol: s.symbol, anchor: s.price, mid: s.price,
			spread: max(0.01, cents(s.price*0.0001)), held: s.held, cost: cents(s.price * (0.94 + 0.1*m.random.Float64()))})
	}
	return m
}

func cents(x float64) float64 { return math.Round(x*100) / 100 }

// next moves one price and returns a quote, or, for about every fourth event, a
// trade at the price before.
func (m *marketWalk) next(ts int64) (*market.Quote, *market.Trade) {
	i := &m.instruments[m.random.IntN(len(m.instruments))]
	if m.random.IntN(4) == 0 {
		side, price := market.SideBuy, i.ask()
		if m.random.IntN(2) == 0 {
			side, price = market.SideSell, i.bid()
		}
		return nil, &market.Trade{Symbol: i.symbol, Price: price, Volume: m.lots(1), Side: side, Ts: ts}
	}
	// A step of about 0.03 %, drawn back gently, so that a long demo stays credible.
	i.mid *= 1 + 0.0003*m.random.NormFloat64() + 0.0005*(i.anchor/i.mid-1)
	return &market.Quote{Symbol: i.symbol, Bid: i.bid(), Ask: i.ask(), BidSize: m.lots(100), AskSize: m.lots(100), Ts: ts}, nil
}

func (i *instrument) bid() float64 { return cents(i.mid - i.spread/2) }
func (i *instrument) ask() float64 { return cents(i.bid() + i.spread) }

// lots returns a quantity of which small ones are far more likely.
func (m *marketWalk) lots(unit int64) int64 {
	return unit * (1 + int64(m.random.ExpFloat64()*6))
}

// portfolio values the demo account.
func (m *marketWalk) portfolio(ts int64) *market.PortfolioSnapshot {
	by := "nova demo"
	p := &market.PortfolioSnapshot{AccountID: "DEMO-1", Cash: m.cash, TotalValue: m.cash, Ts: ts, UpdatedBy: &by}
	for _, i := range m.instruments {
		if i.held == 0 {
			continue
		}
		quantity := float64(i.held)
		p.Positions = append(p.Positions, market.PortfolioPosition{Symbol: i.symbol, Quantity: i.held, AvgPrice: i.cost, Pnl: cents((i.mid - i.cost) * quantity)})
		p.TotalValue = cents(p.TotalValue + i.mid*quantity)
	}
	return p
}

// simulate publishes the synthetic market until ctx ends.
func (d *demo) simulate(ctx context.Context) error {
	walk := newMarketWalk(d.seed)
	// One quote of each first, so that a page has a full table at once.
	for i := range walk.instruments {
		in := &walk.instruments[i]
		q := &market.Quote{Symbol: in.symbol, Bid: in.bid(), Ask: in.ask(), BidSize: walk.lots(100), AskSize: walk.lots(100), Ts: time.Now().UnixMilli()}
		if err := d.publishQuote(ctx, q); err != nil {
			return err
		}
	}
	pace := newPace(d.rate)
	tick := time.NewTicker(pace.period)
	defer tick.Stop()
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case now := <-second.C:
			err = market.PortfolioEvent.Publish(ctx, d.hub, nova.Broadcast(), walk.portfolio(now.UnixMilli()))
		case rate := <-d.pace.changed:
			pace = newPace(rate)
			tick.Reset(pace.period)
		case now := <-tick.C:
			err = d.quotes(ctx, walk, pace.due(now))
		}
		if err != nil {
			return err
		}
	}
}

// quotes publishes n events of the walk.
func (d *demo) quotes(ctx context.Context, walk *marketWalk, n int) error {
	for range n {
		quote, trade := walk.next(time.Now().UnixMilli())
		var err error
		if quote != nil {
			err = d.publishQuote(ctx, quote)
		} else {
			err = market.TradeEvent.Publish(ctx, d.hub, nova.Topic(d.topic), trade)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pace spreads events over time: how many are due at each tick.
type pace struct {
	rate   float64
	period time.Duration
	last   time.Time
	owed   float64
}

// newPace chooses a tick that is neither longer than an event nor too short to
// keep.
func newPace(rate float64) *pace {
	return &pace{rate: rate, period: max(time.Duration(float64(time.Second)/rate), 5*time.Millisecond), last: time.Now()}
}

// due returns how many events to send now. After a pause of the machine at most
// one second is made up for.
func (p *pace) due(now time.Time) int {
	p.owed += p.rate * min(now.Sub(p.last).Seconds(), 1)
	p.last = now
	n := int(p.owed)
	p.owed -= float64(n)
	return n
}
