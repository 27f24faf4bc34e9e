package hub_test

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
)

func TestClientData(t *testing.T) {
	type cart struct{ items int }
	var key nova.Key[cart] = "cart"
	var other nova.Key[string] = "cart"
	ended := make(chan map[string]any, 1)
	h := newHub(t, hub.Options{OnDisconnect: func(_ context.Context, c *nova.Client, _ hub.EndReason) { ended <- c.All() }})
	p := connect(t, h, hub.Identity{ClientID: "a"})
	c := h.Client("a")
	if _, ok := key.Get(c); ok || c.Get("cart") != nil || len(c.All()) != 0 {
		t.Error("a new client has data")
	}
	key.Set(c, cart{3})
	c.Set("name", "ann")
	if got, ok := key.Get(c); !ok || got.items != 3 {
		t.Errorf("%+v %v", got, ok)
	}
	if got, ok := other.Get(c); ok {
		t.Errorf("as another type it is %q", got)
	}
	all := c.All()
	if want := map[string]any{"cart": cart{3}, "name": "ann"}; !maps.Equal(all, want) {
		t.Errorf("%v", all)
	}
	all["name"] = "eve" // a copy
	if c.Get("name") != "ann" {
		t.Error(c.Get("name"))
	}
	key.Delete(c)
	if _, ok := key.Get(c); ok {
		t.Error("deleted and still there")
	}
	p.session.End()
	if got := <-ended; !maps.Equal(got, map[string]any{"name": "ann"}) {
		t.Errorf("in the hook: %v", got)
	}
	if err := h.Close(t.Context()); err != nil { // waits for the hook
		t.Fatal(err)
	}
	if len(c.All()) != 0 {
		t.Errorf("after the end: %v", c.All())
	}
}

func TestLists(t *testing.T) {
	h := newHub(t, hub.Options{})
	for _, id := range []string{"c", "a", "b"} {
		connect(t, h, hub.Identity{ClientID: id, UserID: map[string]string{"a": "ann", "c": "ann"}[id], Topics: []string{"t-" + id}, Groups: []string{"g"}})
	}
	ids := func(list []*nova.Client) (ids []string) {
		for _, c := range list {
			ids = append(ids, c.ID())
		}
		return ids
	}
	for _, c := range []struct{ got, want []string }{
		{ids(h.Clients()), []string{"a", "b", "c"}}, {ids(h.ClientsOf("ann")), []string{"a", "c"}},
		{ids(h.ClientsOf("bob")), nil}, {ids(h.ClientsOf("")), nil},
		{h.Topics(), []string{"t-a", "t-b", "t-c"}}, {h.Groups(), []string{"g"}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%v, want %v", c.got, c.want)
		}
	}
	s := connectStuck(t, h, hub.Identity{ClientID: "d"})
	order(t, h, nova.ClientID("d"), 10)
	s.session.Leave("none") // waits for the loop
	if frames, bytes := h.Client("d").Queued(); frames != 1 || bytes == 0 {
		t.Errorf("%d frames, %d bytes queued", frames, bytes)
	}
}
