// Package bench measures nova beside other codecs. It is a module of its own, so
// that its peers are no dependencies of nova.
//
//	go test -bench Codec -count 5   # the usual benchmark lines
//	go run ./cmd/ratios             # interleaved rounds, medians and paired ratios
package bench
