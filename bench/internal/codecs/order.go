package codecs

import (
	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/ignex/nova/bench/internal/fb"
	"github.com/ignex/nova/bench/internal/mp"
	"github.com/ignex/nova/bench/internal/pb"
	"github.com/ignex/nova/market"
)

func orderCase(name string, m *market.Order) Case {
	refs := make([]flatbuffers.UOffsetT, max(len(m.Lines), len(m.Notes))) // reused, as a careful user would
	all := append([]Codec{nova(m)}, google(m, func(b *flatbuffers.Builder, m *market.Order) flatbuffers.UOffsetT {
		return buildOrder(b, m, refs)
	}, readOrder)...)
	out := new(pb.Order)
	all = append(all, encodingJSON(m), protobuf(orderToPB(m), out, func() any { return orderFromPB(out) }))
	all = append(all, messagePack(orderToMsgp(m), func(p *mp.Order) any { return orderFromMsgp(p) }))
	return Case{Name: name, Message: m, Codecs: all}
}

func buildCustomer(b *flatbuffers.Builder, m *market.Customer) flatbuffers.UOffsetT {
	id, name := b.CreateString(m.ID), b.CreateString(m.Name)
	fb.CustomerStart(b)
	fb.CustomerAddId(b, id)
	fb.CustomerAddName(b, name)
	fb.CustomerAddVip(b, m.Vip)
	fb.CustomerAddLoyaltyPoints(b, m.LoyaltyPoints)
	fb.CustomerAddRating(b, m.Rating)
	return fb.CustomerEnd(b)
}

func buildLine(b *flatbuffers.Builder, m *market.OrderLine) flatbuffers.UOffsetT {
	sku := b.CreateString(m.Sku)
	fb.OrderLineStartTagsVector(b, len(m.Tags))
	for i := len(m.Tags) - 1; i >= 0; i-- {
		b.PrependInt32(int32(m.Tags[i]))
	}
	tags := b.EndVector(len(m.Tags))
	fb.OrderLineStart(b)
	fb.OrderLineAddSku(b, sku)
	fb.OrderLineAddQty(b, m.Qty)
	fb.OrderLineAddUnitPrice(b, m.UnitPrice)
	fb.OrderLineAddTags(b, tags)
	return fb.OrderLineEnd(b)
}

func vectorOf(b *flatbuffers.Builder, refs []flatbuffers.UOffsetT) flatbuffers.UOffsetT {
	b.StartVector(4, len(refs), 4)
	for i := len(refs) - 1; i >= 0; i-- {
		b.PrependUOffsetT(refs[i])
	}
	return b.EndVector(len(refs))
}

func buildOrder(b *flatbuffers.Builder, m *market.Order, refs []flatbuffers.UOffsetT) flatbuffers.UOffsetT {
	id := b.CreateString(m.OrderID)
	customer := buildCustomer(b, &m.Customer)
	var billing flatbuffers.UOffsetT
	if m.Billing != nil {
		billing = buildCustomer(b, m.Billing)
	}
	for i := range m.Lines {
		refs[i] = buildLine(b, &m.Lines[i])
	}
	lines := vectorOf(b, refs[:len(m.Lines)])
	for i, note := range m.Notes {
		refs[i] = b.CreateString(note)
	}
	notes := vectorOf(b, refs[:len(m.Notes)])
	fb.OrderStartDiscountsVector(b, len(m.Discounts))
	for i := len(m.Discounts) - 1; i >= 0; i-- {
		b.PrependFloat64(m.Discounts[i])
	}
	discounts := b.EndVector(len(m.Discounts))
	fb.OrderStart(b)
	fb.OrderAddOrderId(b, id)
	fb.OrderAddCustomer(b, customer)
	fb.OrderAddLines(b, lines)
	fb.OrderAddNotes(b, notes)
	fb.OrderAddDiscounts(b, discounts)
	fb.OrderAddActive(b, m.Active)
	fb.OrderAddCreatedAt(b, m.CreatedAt)
	if m.Billing != nil {
		fb.OrderAddBilling(b, billing)
	}
	return fb.OrderEnd(b)
}

func readCustomer(c *fb.Customer) market.Customer {
	return market.Customer{
		ID: string(c.Id()), Name: string(c.Name()), Vip: c.Vip(), LoyaltyPoints: c.LoyaltyPoints(), Rating: c.Rating(),
	}
}

func readOrder(data []byte, to *market.Order) {
	m := fb.GetSizePrefixedRootAsOrder(data, 0)
	var c fb.Customer
	to.OrderID = string(m.OrderId())
	to.Customer = readCustomer(m.Customer(&c))
	if m.Billing(&c) != nil {
		billing := readCustomer(&c)
		to.Billing = &billing
	}
	to.Lines = make([]market.OrderLine, m.LinesLength())
	var l fb.OrderLine
	for i := range to.Lines {
		m.Lines(&l, i)
		tags := make([]market.Tag, l.TagsLength())
		for j := range tags {
			tags[j] = market.Tag(l.Tags(j))
		}
		to.Lines[i] = market.OrderLine{Sku: string(l.Sku()), Qty: l.Qty(), UnitPrice: l.UnitPrice(), Tags: tags}
	}
	to.Notes = make([]string, m.NotesLength())
	for i := range to.Notes {
		to.Notes[i] = string(m.Notes(i))
	}
	to.Discounts = make([]float64, m.DiscountsLength())
	for i := range to.Discounts {
		to.Discounts[i] = m.Discounts(i)
	}
	to.Active = m.Active()
	to.CreatedAt = m.CreatedAt()
}

func customerToPB(m *market.Customer) *pb.Customer {
	if m == nil {
		return nil
	}
	return &pb.Customer{Id: m.ID, Name: m.Name, Vip: m.Vip, LoyaltyPoints: m.LoyaltyPoints, Rating: m.Rating}
}

func customerFromPB(m *pb.Customer) *market.Customer {
	if m == nil {
		return nil
	}
	return &market.Customer{ID: m.Id, Name: m.Name, Vip: m.Vip, LoyaltyPoints: m.LoyaltyPoints, Rating: m.Rating}
}

func orderToPB(m *market.Order) *pb.Order {
	out := &pb.Order{
		OrderId: m.OrderID, Customer: customerToPB(&m.Customer), Notes: m.Notes, Discounts: m.Discounts,
		Active: m.Active, CreatedAt: m.CreatedAt, Billing: customerToPB(m.Billing),
	}
	for _, l := range m.Lines {
		line := &pb.OrderLine{Sku: l.Sku, Qty: l.Qty, UnitPrice: l.UnitPrice}
		for _, tag := range l.Tags {
			line.Tags = append(line.Tags, pb.Tag(tag))
		}
		out.Lines = append(out.Lines, line)
	}
	return out
}

func orderFromPB(m *pb.Order) *market.Order {
	out := &market.Order{
		OrderID: m.OrderId, Customer: *customerFromPB(m.Customer), Notes: m.Notes, Discounts: m.Discounts,
		Active: m.Active, CreatedAt: m.CreatedAt, Billing: customerFromPB(m.Billing),
	}
	for _, l := range m.Lines {
		line := market.OrderLine{Sku: l.Sku, Qty: l.Qty, UnitPrice: l.UnitPrice}
		for _, tag := range l.Tags {
			line.Tags = append(line.Tags, market.Tag(tag))
		}
		out.Lines = append(out.Lines, line)
	}
	return out
}

func orderToMsgp(m *market.Order) *mp.Order {
	out := &mp.Order{
		OrderID: m.OrderID, Customer: customerToMsgp(&m.Customer), Notes: m.Notes, Discounts: m.Discounts,
		Active: m.Active, CreatedAt: m.CreatedAt,
	}
	if m.Billing != nil {
		billing := customerToMsgp(m.Billing)
		out.Billing = &billing
	}
	for _, l := range m.Lines {
		line := mp.OrderLine{SKU: l.Sku, Qty: l.Qty, UnitPrice: l.UnitPrice}
		for _, tag := range l.Tags {
			line.Tags = append(line.Tags, int32(tag))
		}
		out.Lines = append(out.Lines, line)
	}
	return out
}

func customerToMsgp(m *market.Customer) mp.Customer {
	return mp.Customer{ID: m.ID, Name: m.Name, VIP: m.Vip, LoyaltyPoints: m.LoyaltyPoints, Rating: m.Rating}
}

func customerFromMsgp(m *mp.Customer) market.Customer {
	return market.Customer{ID: m.ID, Name: m.Name, Vip: m.VIP, LoyaltyPoints: m.LoyaltyPoints, Rating: m.Rating}
}

func orderFromMsgp(m *mp.Order) *market.Order {
	out := &market.Order{
		OrderID: m.OrderID, Customer: customerFromMsgp(&m.Customer), Notes: m.Notes, Discounts: m.Discounts,
		Active: m.Active, CreatedAt: m.CreatedAt,
	}
	if m.Billing != nil {
		billing := customerFromMsgp(m.Billing)
		out.Billing = &billing
	}
	for _, l := range m.Lines {
		line := market.OrderLine{Sku: l.SKU, Qty: l.Qty, UnitPrice: l.UnitPrice}
		for _, tag := range l.Tags {
			line.Tags = append(line.Tags, market.Tag(tag))
		}
		out.Lines = append(out.Lines, line)
	}
	return out
}
