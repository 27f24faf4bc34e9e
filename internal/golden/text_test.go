package golden_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ignex/nova/internal/golden"
	"github.com/ignex/nova/wire"
)

// Bad UTF-8 becomes U+FFFD on the way out. The reader is google's, which
// repairs nothing.
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

// Each lone surrogate becomes one U+FFFD, as encoding/json reads it, too.
func TestTypeScriptRepairsTextOnEncode(t *testing.T) {
	s := load(t, "market")
	node := golden.StartNode(t, s.layout, s.schema, s.file(t, "index.ts"))
	table := s.layout.EventByName("chat").Table
	long := strings.Repeat("0123456789", 50)
	for _, escaped := range []string{
		`\ud800`, `\udfff`, `a\ud83d`, `\ud83d\ud83d\ude00`, `\ude00\ud83d`, `\ud800\udbff\udfff\udc00é`,
		long + `\ud83d`, `\udc00` + long, long + `\ud83d\ude00` + long,
	} {
		var want string
		if err := json.Unmarshal([]byte(`"`+escaped+`"`), &want); err != nil {
			t.Fatal(err)
		}
		payload, err := node.EncodeJSONText(t, table, "text", escaped)
		if err != nil {
			t.Fatal(err)
		}
		v := golden.Complete(s.layout, table, golden.Value{"text": want})
		if d := golden.Diff(golden.Complete(s.layout, table, golden.Read(s.layout, table, payload)), v); d != "" {
			t.Errorf("%s: %s", escaped, d)
		}
	}
}
