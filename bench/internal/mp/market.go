// Package mp holds the market messages for tinylib/msgp.
package mp

// Quote is market.Quote.
type Quote struct {
	Symbol  string  `msg:"symbol"`
	Bid     float64 `msg:"bid"`
	Ask     float64 `msg:"ask"`
	BidSize int64   `msg:"bidSize"`
	AskSize int64   `msg:"askSize"`
	TS      int64   `msg:"ts"`
}

// PortfolioPosition is market.PortfolioPosition.
type PortfolioPosition struct {
	Symbol   string  `msg:"symbol"`
	Quantity int64   `msg:"quantity"`
	AvgPrice float64 `msg:"avgPrice"`
	PNL      float64 `msg:"pnl"`
}

// PortfolioSnapshot is market.PortfolioSnapshot.
type PortfolioSnapshot struct {
	AccountID  string              `msg:"accountId"`
	Positions  []PortfolioPosition `msg:"positions"`
	TotalValue float64             `msg:"totalValue"`
	Cash       float64             `msg:"cash"`
	TS         int64               `msg:"ts"`
	UpdatedBy  *string             `msg:"updatedBy,omitempty"`
}

// Customer is market.Customer.
type Customer struct {
	ID            string  `msg:"id"`
	Name          string  `msg:"name"`
	VIP           bool    `msg:"vip"`
	LoyaltyPoints int64   `msg:"loyaltyPoints"`
	Rating        float64 `msg:"rating"`
}

// OrderLine is market.OrderLine.
type OrderLine struct {
	SKU       string  `msg:"sku"`
	Qty       int64   `msg:"qty"`
	UnitPrice float64 `msg:"unitPrice"`
	Tags      []int32 `msg:"tags"`
}

// Order is market.Order.
type Order struct {
	OrderID   string      `msg:"orderId"`
	Customer  Customer    `msg:"customer"`
	Lines     []OrderLine `msg:"lines"`
	Notes     []string    `msg:"notes"`
	Discounts []float64   `msg:"discounts"`
	Active    bool        `msg:"active"`
	CreatedAt int64       `msg:"createdAt"`
	Billing   *Customer   `msg:"billing,omitempty"`
}
