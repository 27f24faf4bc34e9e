package imports

import "example.com/nowhere/money"

//nova:event a
type A struct {
	X money.Amount
}
