package codecs

import (
	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/ignex/nova/bench/internal/fb"
	"github.com/ignex/nova/bench/internal/mp"
	"github.com/ignex/nova/bench/internal/pb"
	"github.com/ignex/nova/market"
)

func portfolioCase(name string, m *market.PortfolioSnapshot) Case {
	refs := make([]flatbuffers.UOffsetT, len(m.Positions)) // reused, as a careful user would
	all := append([]Codec{nova(m)}, google(m, func(b *flatbuffers.Builder, m *market.PortfolioSnapshot) flatbuffers.UOffsetT {
		return buildPortfolio(b, m, refs)
	}, readPortfolio)...)
	out := new(pb.PortfolioSnapshot)
	all = append(all, encodingJSON(m), protobuf(portfolioToPB(m), out, func() any { return portfolioFromPB(out) }))
	all = append(all, messagePack(portfolioToMsgp(m), func(p *mp.PortfolioSnapshot) any { return portfolioFromMsgp(p) }))
	return Case{Name: name, Message: m, Codecs: all}
}

func buildPortfolio(b *flatbuffers.Builder, m *market.PortfolioSnapshot, refs []flatbuffers.UOffsetT) flatbuffers.UOffsetT {
	account := b.CreateString(m.AccountID)
	var by flatbuffers.UOffsetT
	if m.UpdatedBy != nil {
		by = b.CreateString(*m.UpdatedBy)
	}
	for i := range m.Positions {
		p := &m.Positions[i]
		symbol := b.CreateString(p.Symbol)
		fb.PortfolioPositionStart(b)
		fb.PortfolioPositionAddSymbol(b, symbol)
		fb.PortfolioPositionAddQuantity(b, p.Quantity)
		fb.PortfolioPositionAddAvgPrice(b, p.AvgPrice)
		fb.PortfolioPositionAddPnl(b, p.Pnl)
		refs[i] = fb.PortfolioPositionEnd(b)
	}
	fb.PortfolioSnapshotStartPositionsVector(b, len(refs))
	for i := len(refs) - 1; i >= 0; i-- {
		b.PrependUOffsetT(refs[i])
	}
	positions := b.EndVector(len(refs))
	fb.PortfolioSnapshotStart(b)
	fb.PortfolioSnapshotAddAccountId(b, account)
	fb.PortfolioSnapshotAddPositions(b, positions)
	fb.PortfolioSnapshotAddTotalValue(b, m.TotalValue)
	fb.PortfolioSnapshotAddCash(b, m.Cash)
	fb.PortfolioSnapshotAddTs(b, m.Ts)
	if m.UpdatedBy != nil {
		fb.PortfolioSnapshotAddUpdatedBy(b, by)
	}
	return fb.PortfolioSnapshotEnd(b)
}

func readPortfolio(data []byte, to *market.PortfolioSnapshot) {
	m := fb.GetSizePrefixedRootAsPortfolioSnapshot(data, 0)
	to.AccountID = string(m.AccountId())
	to.TotalValue = m.TotalValue()
	to.Cash = m.Cash()
	to.Ts = m.Ts()
	if by := m.UpdatedBy(); by != nil {
		s := string(by)
		to.UpdatedBy = &s
	}
	to.Positions = make([]market.PortfolioPosition, m.PositionsLength())
	var p fb.PortfolioPosition
	for i := range to.Positions {
		m.Positions(&p, i)
		to.Positions[i] = market.PortfolioPosition{
			Symbol: string(p.Symbol()), Quantity: p.Quantity(), AvgPrice: p.AvgPrice(), Pnl: p.Pnl(),
		}
	}
}

func portfolioToPB(m *market.PortfolioSnapshot) *pb.PortfolioSnapshot {
	out := &pb.PortfolioSnapshot{AccountId: m.AccountID, TotalValue: m.TotalValue, Cash: m.Cash, Ts: m.Ts, UpdatedBy: m.UpdatedBy}
	for _, p := range m.Positions {
		out.Positions = append(out.Positions, &pb.PortfolioPosition{Symbol: p.Symbol, Quantity: p.Quantity, AvgPrice: p.AvgPrice, Pnl: p.Pnl})
	}
	return out
}

func portfolioFromPB(m *pb.PortfolioSnapshot) *market.PortfolioSnapshot {
	out := &market.PortfolioSnapshot{AccountID: m.AccountId, TotalValue: m.TotalValue, Cash: m.Cash, Ts: m.Ts, UpdatedBy: m.UpdatedBy}
	for _, p := range m.Positions {
		out.Positions = append(out.Positions, market.PortfolioPosition{Symbol: p.Symbol, Quantity: p.Quantity, AvgPrice: p.AvgPrice, Pnl: p.Pnl})
	}
	return out
}

func portfolioToMsgp(m *market.PortfolioSnapshot) *mp.PortfolioSnapshot {
	out := &mp.PortfolioSnapshot{AccountID: m.AccountID, TotalValue: m.TotalValue, Cash: m.Cash, TS: m.Ts, UpdatedBy: m.UpdatedBy}
	for _, p := range m.Positions {
		out.Positions = append(out.Positions, mp.PortfolioPosition{Symbol: p.Symbol, Quantity: p.Quantity, AvgPrice: p.AvgPrice, PNL: p.Pnl})
	}
	return out
}

func portfolioFromMsgp(m *mp.PortfolioSnapshot) *market.PortfolioSnapshot {
	out := &market.PortfolioSnapshot{AccountID: m.AccountID, TotalValue: m.TotalValue, Cash: m.Cash, Ts: m.TS, UpdatedBy: m.UpdatedBy}
	for _, p := range m.Positions {
		out.Positions = append(out.Positions, market.PortfolioPosition{Symbol: p.Symbol, Quantity: p.Quantity, AvgPrice: p.AvgPrice, Pnl: p.PNL})
	}
	return out
}
