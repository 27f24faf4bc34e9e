package ws_test

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// Whatever the bytes and however they are cut, the parser finds the same.
func FuzzParser(f *testing.F) {
	for _, c := range table() {
		if b := c.build(true); len(b) < 4096 {
			f.Add(b, true, uint64(1))
			f.Add(c.build(false), false, uint64(2))
		}
	}
	f.Fuzz(func(t *testing.T, stream []byte, masked bool, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 3))
		want, wantErr := parse(stream, masked, 1000, whole)
		for range 3 {
			got, err := parse(stream, masked, 1000, random(rng))
			if strings.Join(got, "\n") != strings.Join(want, "\n") || code(err) != code(wantErr) {
				t.Fatalf("whole: %q %v\ncut:   %q %v", want, wantErr, got, err)
			}
		}
	})
}
