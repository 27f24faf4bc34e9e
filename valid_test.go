package nova_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ignex/nova"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/wire"
)

// A validated event refuses what breaks a constraint, with the place; the plain
// one and one without constraints take it.
func TestValidated(t *testing.T) {
	long := strings.Repeat("x", 2001)
	frame, err := market.ChatEvent.AppendFrame(nil, &market.Chat{Text: long})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := market.ChatEvent.DecodeFrame(frame); err != nil {
		t.Fatalf("the plain event: %v", err)
	}
	_, err = market.ChatEvent.Validated().DecodeFrame(frame)
	var broken *wire.ValidationError
	if nova.CodeOf(err) != nova.Invalid || !errors.As(err, &broken) || broken.Pointer != "/text" {
		t.Fatalf("the validated event: %v", err)
	}
	if frame, err = market.ChatEvent.AppendFrame(nil, &market.Chat{Text: long[1:]}); err != nil {
		t.Fatal(err)
	}
	if v, err := market.ChatEvent.Validated().DecodeFrame(frame); err != nil || len(v.Text) != 2000 {
		t.Fatalf("a valid value: %v", err)
	}
}
