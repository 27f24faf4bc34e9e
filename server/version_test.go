package server_test

import (
	"testing"

	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
)

// A client with another version of the schema is served and counted.
func TestOtherSchema(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	for _, c := range []struct {
		caps  []string
		count uint64
	}{
		{nil, 0},
		{[]string{"schema/" + market.Schema.Fingerprint()}, 0},
		{[]string{"schema/0123456789abcdef"}, 1},
		{[]string{"schema/longer than any fingerprint", "topics/1"}, 2},
	} {
		p := r.join("?nova=2", "", c.caps...)
		eventually(t, "the client is admitted", func() bool { return r.hub.Len() == 1 })
		if n := r.srv.Metrics().OtherSchema; n != c.count {
			t.Errorf("%s: %d clients counted, want %d", c.caps, n, c.count)
		}
		p.net.Close()
		eventually(t, "the client is gone", func() bool { return r.hub.Len() == 0 })
	}
}
