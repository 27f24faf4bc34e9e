package codecs

import (
	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/ignex/nova/bench/internal/fb"
	"github.com/ignex/nova/bench/internal/mp"
	"github.com/ignex/nova/bench/internal/pb"
	"github.com/ignex/nova/market"
)

func quoteCase(name string, m *market.Quote) Case {
	all := append([]Codec{nova(m)}, google(m, buildQuote, readQuote)...)
	out := new(pb.Quote)
	all = append(all, encodingJSON(m), protobuf(
		&pb.Quote{Symbol: m.Symbol, Bid: m.Bid, Ask: m.Ask, BidSize: m.BidSize, AskSize: m.AskSize, Ts: m.Ts}, out,
		func() any {
			return &market.Quote{Symbol: out.Symbol, Bid: out.Bid, Ask: out.Ask, BidSize: out.BidSize, AskSize: out.AskSize, Ts: out.Ts}
		}))
	all = append(all, messagePack(
		&mp.Quote{Symbol: m.Symbol, Bid: m.Bid, Ask: m.Ask, BidSize: m.BidSize, AskSize: m.AskSize, TS: m.Ts},
		func(q *mp.Quote) any {
			return &market.Quote{Symbol: q.Symbol, Bid: q.Bid, Ask: q.Ask, BidSize: q.BidSize, AskSize: q.AskSize, Ts: q.TS}
		}))
	return Case{Name: name, Message: m, Codecs: all}
}

func buildQuote(b *flatbuffers.Builder, m *market.Quote) flatbuffers.UOffsetT {
	symbol := b.CreateString(m.Symbol)
	fb.QuoteStart(b)
	fb.QuoteAddSymbol(b, symbol)
	fb.QuoteAddBid(b, m.Bid)
	fb.QuoteAddAsk(b, m.Ask)
	fb.QuoteAddBidSize(b, m.BidSize)
	fb.QuoteAddAskSize(b, m.AskSize)
	fb.QuoteAddTs(b, m.Ts)
	return fb.QuoteEnd(b)
}

func readQuote(data []byte, to *market.Quote) {
	q := fb.GetSizePrefixedRootAsQuote(data, 0)
	to.Symbol = string(q.Symbol())
	to.Bid = q.Bid()
	to.Ask = q.Ask()
	to.BidSize = q.BidSize()
	to.AskSize = q.AskSize()
	to.Ts = q.Ts()
}
