// Package stocks is an event schema written as Go structs. It says the same as
// market/schema.json does in JSON Schema, and its frames are the same bytes.
//
// nova generate . writes the codecs, as methods of these types, into
// stocks_nova.go; with --ts also the TypeScript module for browsers.
package stocks

//go:generate go run github.com/ignex/nova/cmd/nova generate . --fbs .

//nova:call getQuote GetQuoteRequest Quote

// Side of a trade.
type Side string

// The sides.
const (
	Buy  Side = "buy"
	Sell Side = "sell"
)

// Tag of an order line.
type Tag string

// The tags.
const (
	Hot  Tag = "hot"
	New  Tag = "new"
	Sale Tag = "sale"
)

// Quote is the best bid and ask of a symbol. A slow client gets the newest one
// of each symbol.
//
//nova:event quote delivery=latest key=symbol
type Quote struct {
	Symbol  string  `json:"symbol"`
	Bid     float64 `json:"bid"`
	Ask     float64 `json:"ask"`
	BidSize int     `json:"bidSize"`
	AskSize int     `json:"askSize"`
	TS      int64   `json:"ts"` // milliseconds since 1970
}

// Trade is one that took place.
//
//nova:event trade
type Trade struct {
	Symbol string  `json:"symbol"`
	Price  float64 `json:"price"`
	Volume int     `json:"volume"`
	Side   Side    `json:"side"`
	TS     int64   `json:"ts"`
}

// PortfolioPosition is what an account holds of a symbol.
type PortfolioPosition struct {
	Symbol   string  `json:"symbol"`
	Quantity int     `json:"quantity"`
	AvgPrice float64 `json:"avgPrice"`
	PNL      float64 `json:"pnl"`
}

// PortfolioSnapshot is all that an account holds.
//
//nova:event portfolio
type PortfolioSnapshot struct {
	AccountID  string              `json:"accountId"`
	Positions  []PortfolioPosition `json:"positions"`
	TotalValue float64             `json:"totalValue"`
	Cash       float64             `json:"cash"`
	TS         int64               `json:"ts"`
	UpdatedBy  *string             `json:"updatedBy,omitempty"`
}

// Complex has lists of every kind.
//
//nova:event complex
type Complex struct {
	ID     string    `json:"id"`
	Names  []string  `json:"names"`
	Prices []float64 `json:"prices"`
	Counts []int     `json:"counts"`
	Flags  []bool    `json:"flags"`
	Tags   []Tag     `json:"tags"`
	Active bool      `json:"active"`
	Total  float64   `json:"total"`
	TS     int64     `json:"ts"`
}

// Customer is who orders.
type Customer struct {
	ID            string  `json:"id"`
	Name          string  `json:"name"`
	VIP           bool    `json:"vip"`
	LoyaltyPoints int     `json:"loyaltyPoints"`
	Rating        float64 `json:"rating"`
}

// OrderLine is one article of an order.
type OrderLine struct {
	SKU       string  `json:"sku"`
	Qty       int     `json:"qty"`
	UnitPrice float64 `json:"unitPrice"`
	Tags      []Tag   `json:"tags"`
}

// Order is never lost silently.
//
//nova:event order delivery=must
type Order struct {
	OrderID   string      `json:"orderId"`
	Customer  Customer    `json:"customer"`
	Lines     []OrderLine `json:"lines"`
	Notes     []string    `json:"notes"`
	Discounts []float64   `json:"discounts"`
	Active    bool        `json:"active"`
	CreatedAt int64       `json:"createdAt"`
	Billing   *Customer   `json:"billing,omitempty"`
}

// BigVal counts beyond what a browser's number holds: its seq is a bigint there.
//
//nova:event bigVal
type BigVal struct {
	ID   string `json:"id"`
	Seq  int64  `json:"seq,string"`
	When int64  `json:"when"`
}

// Chat is what clients say in a room.
//
//nova:event chat inbound
type Chat struct {
	Room string `json:"room"`
	Text string `json:"text" nova:"maxLength=2000"`
	TS   int64  `json:"ts"`
}

// GetQuoteRequest asks for the quote of a symbol.
type GetQuoteRequest struct {
	Symbol string `json:"symbol"`
}
