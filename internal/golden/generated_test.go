package golden_test

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/ignex/nova/internal/golden"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/wire"
)

// The bytes of a message do not depend on where in a buffer they are written,
// nor on what was in the buffer before; what stands behind it stays.
func TestEncodingIntoUsedBuffers(t *testing.T) {
	each(t, func(t *testing.T, s *subject) {
		random := seeded(t, s.layout)
		for _, table := range s.roots() {
			for range 40 {
				v := random.Table(table)
				text := golden.JSON(s.layout, table, v)
				want, err := s.layout.EncodeJSON(nil, table, text)
				if err != nil {
					t.Fatal(err)
				}
				for before := range 10 {
					dirty := bytes.Repeat([]byte{0xEE}, before+2*len(want)+100)[:before]
					checkAppended(t, dirty, want, func(b []byte) ([]byte, error) { return s.layout.EncodeJSON(b, table, text) })
					small := bytes.Repeat([]byte{0xEE}, before)
					checkAppended(t, small, want, func(b []byte) ([]byte, error) { return s.layout.EncodeJSON(b, table, text) })
					if m := s.generated(t, table); m != nil {
						golden.Fill(s.layout, table, v, m)
						checkAppended(t, bytes.Repeat([]byte{0xEE}, cap(dirty))[:before], want, m.AppendNova)
						checkAppended(t, small, want, m.AppendNova)
					}
				}
			}
		}
	})
}

func checkAppended(t *testing.T, dst, want []byte, encode func([]byte) ([]byte, error)) {
	t.Helper()
	n := len(dst)
	got, err := encode(dst)
	if err != nil || !bytes.Equal(got[:n], bytes.Repeat([]byte{0xEE}, n)) || !bytes.Equal(got[n:], want) {
		t.Fatalf("after %d bytes: %x, %v; want %x", n, got, err, want)
	}
	if behind := dst[:cap(dst)]; len(behind) > len(got) && &behind[0] == &got[:1][0] {
		if behind = behind[len(got):]; !bytes.Equal(behind, bytes.Repeat([]byte{0xEE}, len(behind))) {
			t.Fatalf("bytes behind the message were changed: %x", behind)
		}
	}
}

// Every bit of a double survives in Go, also those of a NaN.
func TestDoublesAreBitExact(t *testing.T) {
	for _, bits := range []uint64{0, 1 << 63, 1, 0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000001, 0xFFF123456789ABCD, 0x000FFFFFFFFFFFFF} {
		in := market.Complex{Total: math.Float64frombits(bits), Prices: []float64{math.Float64frombits(bits)}}
		payload, err := in.AppendNova(nil)
		if err != nil {
			t.Fatal(err)
		}
		var out market.Complex
		if err := out.UnmarshalNova(payload); err != nil {
			t.Fatal(err)
		}
		if math.Float64bits(out.Total) != bits || math.Float64bits(out.Prices[0]) != bits {
			t.Errorf("%#x became %#x and %#x", bits, math.Float64bits(out.Total), math.Float64bits(out.Prices[0]))
		}
	}
}

// A required list is never nil after decoding; an optional object is nil
// exactly when absent; and decoding over an old value leaves nothing of it.
func TestAbsentAndEmpty(t *testing.T) {
	payload, err := new(market.Order).AppendNova(nil)
	if err != nil {
		t.Fatal(err)
	}
	old := market.Order{
		OrderID: "old", Customer: market.Customer{ID: "old", Vip: true}, Lines: []market.OrderLine{{Sku: "old"}},
		Notes: []string{"old"}, Discounts: []float64{1}, Active: true, CreatedAt: 1, Billing: &market.Customer{ID: "old"},
	}
	empty := []byte{12, 0, 0, 0, 8, 0, 0, 0, 4, 0, 4, 0, 4, 0, 0, 0} // a table without any field
	for name, payload := range map[string][]byte{"written by us": payload, "without fields": empty} {
		m := old
		if err := m.UnmarshalNova(payload); err != nil {
			t.Fatal(err)
		}
		if m.Lines == nil || m.Notes == nil || m.Discounts == nil || len(m.Lines)+len(m.Notes)+len(m.Discounts) != 0 {
			t.Errorf("%s: lists %#v %#v %#v, want empty ones", name, m.Lines, m.Notes, m.Discounts)
		}
		if m.OrderID != "" || m.Customer != (market.Customer{}) || m.Active || m.CreatedAt != 0 || m.Billing != nil {
			t.Errorf("%s: something of the old value is left: %+v", name, m)
		}
	}
}

func TestCheckInt64(t *testing.T) {
	const limit = 1<<53 - 1
	for name, c := range map[string]struct {
		message interface{ CheckInt64() error }
		path    string
		value   int64
	}{
		"inside":       {&market.Quote{BidSize: limit, AskSize: -limit}, "", 0},
		"above":        {&market.Quote{AskSize: limit + 1}, "askSize", limit + 1},
		"below":        {&market.Quote{Ts: -limit - 1}, "ts", -limit - 1},
		"the least":    {&market.Quote{Ts: math.MinInt64}, "ts", math.MinInt64},
		"bigint":       {&market.BigVal{Seq: math.MaxInt64}, "", 0},
		"by a bigint":  {&market.BigVal{Seq: math.MaxInt64, When: math.MaxInt64}, "when", math.MaxInt64},
		"in a vector":  {&market.Complex{Counts: []int64{0, limit + 2}}, "counts[1]", limit + 2},
		"nested":       {&market.Order{Customer: market.Customer{LoyaltyPoints: limit + 3}}, "customer.loyaltyPoints", limit + 3},
		"in an option": {&market.Order{Billing: &market.Customer{LoyaltyPoints: limit + 3}}, "billing.loyaltyPoints", limit + 3},
		"in elements":  {&market.Order{Lines: []market.OrderLine{{}, {}, {Qty: -limit - 9}}}, "lines[2].qty", -limit - 9},
	} {
		err := c.message.CheckInt64()
		var unsafe *wire.Int64Error
		switch {
		case c.path == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.path != "" && (!errors.As(err, &unsafe) || unsafe.Path != c.path || unsafe.Value != c.value):
			t.Errorf("%s: %v, want %d at %s", name, err, c.value, c.path)
		case c.path != "" && !strings.Contains(err.Error(), "bigint"):
			t.Errorf("%s: the error does not name the way out: %v", name, err)
		}
	}
}
