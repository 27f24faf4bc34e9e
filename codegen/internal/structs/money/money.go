// Package money has types that structs of another package hold.
package money

// Currency is an ISO 4217 code.
type Currency string

// The currencies in use.
const (
	Euro   Currency = "EUR"
	Dollar Currency = "USD"
)

// Amount is a sum of money.
type Amount struct {
	Cents    int64    `json:"cents"`
	Currency Currency `json:"currency"`
}
