package taken

import "fmt"

// Quote is one.
//
//nova:event quote
type Quote struct {
	Bid float64 `json:"bid"`
}

// QuoteEvent has the name of the descriptor.
type QuoteEvent struct{}

// Schema is taken.
const Schema = 1

func (q *Quote) AppendNova(dst []byte) ([]byte, error) { return nil, nil }

// String and fillQuote stay ours.
func (q Quote) String() string { return fmt.Sprint(q.Bid) }

func fillQuote() {}

func novaReadQuote() {}

func wire() {}
