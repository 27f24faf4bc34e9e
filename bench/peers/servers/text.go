package servers

import "fmt"

// text is a payload of n bytes that compresses as events do: JSON of records whose
// numbers change with every stamp.
func text(n int, stamp int64) []byte {
	b := make([]byte, 0, n+128)
	for i := uint64(stamp); len(b) < n; i++ {
		x := i * 0x9e3779b97f4a7c15
		b = fmt.Appendf(b, `{"symbol":"S%d","bid":%d.%02d,"ask":%d.%02d,"size":%d,"venue":"%s"},`,
			x>>56, x>>40&1023, x>>32%100, x>>40&1023+1, x>>24%100, x>>16&4095, []string{"XNAS", "XNYS", "BATS"}[x%3])
	}
	return b[:n]
}
