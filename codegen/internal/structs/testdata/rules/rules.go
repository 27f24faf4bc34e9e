package rules

// Side has a literal that is reserved.
type Side string

const (
	Buy  Side = "buy"
	Odd  Side = "unknown:7"
)

// Quote breaks rules of the schema.
//
//nova:event quote delivery=latest key=symbl
//nova:event nova.quote
type Quote struct {
	Symbol  string  `json:"symbol"`
	BidSize int     `json:"bidSize"`
	Bid     float64 `json:"bid_size"`
	Side    Side    `json:"side"`
	Loop    Loop    `json:"loop"`
	Match   string  `json:"match" nova:"pattern=(?=x)"`
}

// Loop never ends.
type Loop struct {
	Again Again
}

// Again leads back.
type Again struct {
	Loop map[string]Loop `json:"loop"`
	More []Loop
}
