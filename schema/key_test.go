package schema_test

import (
	"fmt"
	"testing"

	"github.com/ignex/nova/schema"
)

// A key is a string, an enum or an integer of any width.
func TestKeysOfEveryWidth(t *testing.T) {
	values := map[string][2]string{
		`{"type":"string"}`:                             {`"a"`, `"b"`},
		`{"enum":["a","b"]}`:                            {`"a"`, `"b"`},
		`{"type":"integer"}`:                            {`-1`, `1`},
		`{"type":"bigint"}`:                             {`"-9223372036854775808"`, `"9223372036854775807"`},
		`{"type":"integer","x-nova":{"type":"int8"}}`:   {`-128`, `127`},
		`{"type":"integer","x-nova":{"type":"int16"}}`:  {`-32768`, `32767`},
		`{"type":"integer","x-nova":{"type":"int32"}}`:  {`-2147483648`, `2147483647`},
		`{"type":"integer","x-nova":{"type":"uint8"}}`:  {`0`, `255`},
		`{"type":"integer","x-nova":{"type":"uint16"}}`: {`0`, `65535`},
		`{"type":"integer","x-nova":{"type":"uint32"}}`: {`0`, `4294967295`},
		`{"type":"integer","x-nova":{"type":"uint64"}}`: {`"0"`, `"18446744073709551615"`},
	}
	for kind, pair := range values {
		src := fmt.Sprintf(`{"package":"p","events":{"e":{"type":"object","properties":{"k":%s},"required":["k"],"x-nova":{"delivery":"latest","key":"k"}}}}`, kind)
		m, err := schema.Read("s.json", []byte(src), schema.Options{})
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		l, err := m.Layout()
		if err != nil {
			t.Fatal(err)
		}
		keys := map[string]bool{}
		for _, value := range pair {
			payload, err := l.EncodeJSON(nil, l.Events[0].Table, []byte(`{"k":`+value+`}`))
			if err != nil {
				t.Fatalf("%s: %v", kind, err)
			}
			key, ok := l.Key(&l.Events[0], payload)
			if !ok {
				t.Errorf("%s: %s has no key", kind, value)
			}
			keys[key] = true
		}
		if len(keys) != len(pair) {
			t.Errorf("%s: keys %v of %v", kind, keys, pair)
		}
	}
}
