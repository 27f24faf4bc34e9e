package golden_test

import (
	"testing"

	"github.com/ignex/nova/internal/golden"
	"github.com/ignex/nova/wire"
)

// Bad UTF-8 becomes U+FFFD on the way out. internal/golden's readers are
// google's, which repair nothing.
func TestGoRepairsTextOnEncode(t *testing.T) {
	s := load(t, "market")
	for _, bad := range []string{"\xff", "a\xf0\x9f\x98", "\xed\xa0\x80", "\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41"} {
		for _, table := range s.roots() {
			first := s.layout.Tables[table].Fields[0].Name
			m := s.generated(t, table)
			v := golden.Complete(s.layout, table, golden.Value{first: bad})
			golden.Fill(s.layout, table, v, m)
			payload, err := m.AppendNova(nil)
			if err != nil {
				t.Fatal(err)
			}
			v[first] = wire.ToValid(bad)
			if d := golden.Diff(golden.Complete(s.layout, table, golden.Read(s.layout, table, payload)), v); d != "" {
				t.Errorf("%x: %s", bad, d)
			}
		}
	}
}
