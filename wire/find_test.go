package wire_test

import (
	"testing"

	"github.com/ignex/nova/wire"
)

func TestFindCall(t *testing.T) {
	l := &wire.Layout{Package: "p", Tables: []wire.Table{{Name: "A"}}, Calls: []wire.Call{{Name: "getQuote"}, {Name: "stop"}}}
	if c, err := l.FindCall("stop"); err != nil || c != &l.Calls[1] {
		t.Error(c, err)
	}
	for name, want := range map[string]string{
		"getQuotes": `unknown call "getQuotes"; did you mean "getQuote"? (calls of schema p: "getQuote", "stop")`,
		"xyz":       `unknown call "xyz"; schema p has "getQuote", "stop"`,
	} {
		if _, err := l.FindCall(name); err == nil || err.Error() != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := (&wire.Layout{Package: "p"}).FindCall("x"); err == nil || err.Error() != `unknown call "x"; schema p has no calls` {
		t.Error(err)
	}
}
