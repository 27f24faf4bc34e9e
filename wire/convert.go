package wire

import (
	"strconv"
	"strings"
)

// Convert returns a list with each element converted; nil stays nil. Generated
// code uses it for lists that Go holds as other types than the wire.
func Convert[From, To any](list []From, one func(From) To) []To {
	if list == nil {
		return nil
	}
	out := make([]To, len(list))
	for i, v := range list {
		out[i] = one(v)
	}
	return out
}

// UnknownLiteral returns the number of unknown:7, which stands in Go strings and
// in JSON for a number that the schema does not have.
func UnknownLiteral(s string) (int32, bool) {
	digits, ok := strings.CutPrefix(s, "unknown:")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(digits, 10, 32)
	return int32(n), err == nil && strconv.FormatInt(n, 10) == digits
}
