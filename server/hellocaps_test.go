package server_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/wire/control"
)

// The frame that took the original 8 seconds and 20 million strings, or killed it: a
// hello of some 60 bytes that claims to have millions of capabilities. Here it is one
// malformed frame.
func TestHelloThatLiesAboutItsLength(t *testing.T) {
	hello := control.Hello{Version: 2, Caps: []string{"x"}}
	frame, err := hello.AppendFrame(nil)
	if err != nil {
		t.Fatal(err)
	}
	// The vector of one string: its length, an offset, the string "x".
	at := strings.Index(string(frame), "\x01\x00\x00\x00\x04\x00\x00\x00\x01\x00\x00\x00x")
	if at < 0 {
		t.Fatalf("no vector in % x", frame)
	}
	for _, n := range []uint32{2, 1000, 20_000_000, 1<<31 - 1, 1 << 31, 1<<32 - 1} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			r := newRig(t, hub.Options{}, server.Options{})
			p := r.dial("", "")
			p.frame()
			p.frame()
			bad := slices.Clone(frame)
			binary.LittleEndian.PutUint32(bad[at:], n)
			before := int64(heap())
			p.message(bad)
			p.sync()
			if m := r.hub.Metrics(); m.Undecodable != 1 || m.Damage[hub.DamageControl] != 1 {
				t.Errorf("%d undecodable, %v", m.Undecodable, m.Damage)
			}
			if grown := int64(heap()) - before; grown > 1<<20 {
				t.Errorf("it took %d bytes", grown)
			}
		})
	}
}
