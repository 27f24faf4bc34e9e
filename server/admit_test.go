package server

import (
	"net"
	"testing"

	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/market"
)

// An admission by the timer that comes just behind the end of its connection takes no
// place. It is an internal test: from outside only chance lets the two meet.
func TestNoAdmissionBehindTheEnd(t *testing.T) {
	h, err := hub.New(hub.Options{Schema: market.Schema})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close(t.Context())
	s, err := New(h, Options{MaxConnectionsPerUser: 1, Token: "x"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	session, err := h.Open(t.Context(), Identity{UserID: "ann"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := net.Pipe()
	defer ours.Close()
	c := newConn(s, session, theirs, false, false, &entry{})
	if !s.enter() || !s.add(c) {
		t.Fatal("no connection")
	}
	c.finish()
	c.admit(0)
	if n := len(s.places.users); n != 0 {
		t.Errorf("%d users have a place", n)
	}
}
