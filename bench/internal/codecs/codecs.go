// Package codecs puts five codecs side by side on the same messages: nova,
// google/flatbuffers, encoding/json, protobuf (vtprotobuf) and msgp.
package codecs

import (
	"encoding/json"
	"fmt"

	flatbuffers "github.com/google/flatbuffers/go"
	"github.com/tinylib/msgp/msgp"

	"github.com/ignex/nova/market"
)

// Codec encodes and decodes one fixed message.
type Codec struct {
	Name string
	// Encode writes the message, over buf where the codec can reuse a buffer, and
	// returns the bytes and the buffer for the next call.
	Encode func(buf []byte) (data, next []byte)
	// Decode reads data into a zeroed value of the codec's own type, which it
	// reuses for every call.
	Decode func(data []byte) error
	// Decoded returns what Decode read last, as a message of package market.
	Decoded func() any
}

// Case is one message and its codecs, nova first.
type Case struct {
	Name    string
	Message any // of package market
	Codecs  []Codec
}

// Cases returns the messages measured.
func Cases() []Case {
	return []Case{
		quoteCase("quote", Quote()),
		portfolioCase("portfolio3", Portfolio(3)),
		portfolioCase("portfolio200", Portfolio(200)),
		orderCase("order", Order()),
	}
}

// novaMessage is what generated types have on their pointer.
type novaMessage[T any] interface {
	*T
	AppendNova(dst []byte) ([]byte, error)
	UnmarshalNova(payload []byte) error
}

func nova[T any, M novaMessage[T]](m *T) Codec {
	out := new(T)
	return Codec{
		Name: "nova",
		Encode: func(buf []byte) ([]byte, []byte) {
			b, err := M(m).AppendNova(buf[:0])
			must(err)
			return b, b
		},
		Decode: func(data []byte) error {
			*out = *new(T)
			return M(out).UnmarshalNova(data)
		},
		Decoded: func() any { return out },
	}
}

// google gives two codecs: with one builder for all messages, and with a new one
// for each. Decoding reads through the unverified accessors and copies.
func google[T any](m *T, build func(*flatbuffers.Builder, *T) flatbuffers.UOffsetT, read func(data []byte, to *T)) []Codec {
	out := new(T)
	reused := flatbuffers.NewBuilder(1024)
	encode := func(b *flatbuffers.Builder) []byte {
		b.FinishSizePrefixed(build(b, m))
		return b.FinishedBytes()
	}
	decode := func(data []byte) error {
		*out = *new(T)
		read(data, out)
		return nil
	}
	decoded := func() any { return out }
	return []Codec{{
		Name:    "flatbuffers-reused",
		Encode:  func(buf []byte) ([]byte, []byte) { reused.Reset(); return encode(reused), buf },
		Decode:  decode,
		Decoded: decoded,
	}, {
		Name:    "flatbuffers-fresh",
		Encode:  func(buf []byte) ([]byte, []byte) { return encode(flatbuffers.NewBuilder(256)), buf },
		Decode:  decode,
		Decoded: decoded,
	}}
}

func encodingJSON[T any](m *T) Codec {
	out := new(T)
	return Codec{
		Name: "json",
		Encode: func(buf []byte) ([]byte, []byte) {
			b, err := json.Marshal(m)
			must(err)
			return b, buf
		},
		Decode: func(data []byte) error {
			*out = *new(T)
			return json.Unmarshal(data, out)
		},
		Decoded: func() any { return out },
	}
}

// vtMessage is what vtprotobuf generates.
type vtMessage interface {
	SizeVT() int
	MarshalToSizedBufferVT(b []byte) (int, error)
	UnmarshalVT(b []byte) error
	Reset()
}

func protobuf(m, out vtMessage, decoded func() any) Codec {
	return Codec{
		Name: "vtprotobuf",
		Encode: func(buf []byte) ([]byte, []byte) {
			n := m.SizeVT()
			if n > cap(buf) {
				buf = make([]byte, n)
			}
			_, err := m.MarshalToSizedBufferVT(buf[:n])
			must(err)
			return buf[:n], buf
		},
		Decode: func(data []byte) error {
			out.Reset()
			return out.UnmarshalVT(data)
		},
		Decoded: decoded,
	}
}

type msgpMessage[T any] interface {
	*T
	msgp.Marshaler
	msgp.Unmarshaler
}

func messagePack[T any, M msgpMessage[T]](m *T, decoded func(*T) any) Codec {
	out := new(T)
	return Codec{
		Name: "msgp",
		Encode: func(buf []byte) ([]byte, []byte) {
			b, err := M(m).MarshalMsg(buf[:0])
			must(err)
			return b, b
		},
		Decode: func(data []byte) error {
			*out = *new(T)
			_, err := M(out).UnmarshalMsg(data)
			return err
		},
		Decoded: func() any { return decoded(out) },
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// Quote returns the message of case quote.
func Quote() *market.Quote {
	return &market.Quote{Symbol: "AAPL", Bid: 189.4125, Ask: 189.4225, BidSize: 300, AskSize: 1200, Ts: 1767225600123}
}

// Portfolio returns a snapshot of n positions.
func Portfolio(n int) *market.PortfolioSnapshot {
	m := &market.PortfolioSnapshot{AccountID: "ACC-1029384", TotalValue: 1234567.89, Cash: 9876.54, Ts: 1767225600123}
	for i := range n {
		m.Positions = append(m.Positions, market.PortfolioPosition{
			Symbol: fmt.Sprintf("SYM%d", i), Quantity: int64(100 + i), AvgPrice: 100.25 + float64(i), Pnl: -12.5 * float64(i+1),
		})
	}
	return m
}

// Order returns an order of four lines.
func Order() *market.Order {
	customer := market.Customer{ID: "C-77", Name: "Ada Lovelace", Vip: true, LoyaltyPoints: 4200, Rating: 4.75}
	m := &market.Order{
		OrderID: "O-2026-000123", Customer: customer, Notes: []string{"leave at the door", "call first"},
		Discounts: []float64{0.05, 0.1}, Active: true, CreatedAt: 1767225600123, Billing: &customer,
	}
	for i := range 4 {
		m.Lines = append(m.Lines, market.OrderLine{
			Sku: fmt.Sprintf("SKU-%04d", i), Qty: int64(i + 1), UnitPrice: 9.99 + float64(i), Tags: []market.Tag{market.TagNew, market.TagSale},
		})
	}
	return m
}
