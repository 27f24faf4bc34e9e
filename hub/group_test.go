package hub_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
)

// Handles that were kept while their group was empty, and went through many lives of it,
// name the group there is: the original's worked on a set that nobody looked at any more.
func TestGroupHandlesOutliveTheirGroup(t *testing.T) {
	h := newHub(t, hub.Options{AuthorizeGroup: func(_ context.Context, c *nova.Client, group string) error {
		if c.ID() == "c" {
			return errors.New("no")
		}
		return nil
	}})
	for _, id := range []string{"b", "a", "c"} {
		connect(t, h, hub.Identity{ClientID: id, UserID: "user of " + id})
	}
	g, users := h.Group("desk"), h.UserGroup("staff")
	is := func(clients ...string) {
		t.Helper()
		if got := g.Members(); !slices.Equal(got, clients) || g.Len() != len(clients) || h.Group("desk").Len() != len(clients) {
			t.Errorf("members %v, %d; want %v", got, g.Len(), clients)
		}
		var want []string
		for _, id := range clients {
			if !g.Has(id) || !users.Has("user of "+id) {
				t.Errorf("%s is not in it", id)
			}
			want = append(want, "user of "+id)
		}
		if got := users.Members(); !slices.Equal(got, want) || users.Len() != len(want) {
			t.Errorf("users %v, %d; want %v", got, users.Len(), want)
		}
		for _, to := range []nova.Target{nova.Group("desk"), nova.UserGroup("staff")} {
			if n := publish(t, h, to, 1).Members; n != len(clients) {
				t.Errorf("a publish reaches %d, want %d", n, len(clients))
			}
		}
		if listed := slices.Contains(h.Groups(), "desk"); listed != (len(clients) > 0) {
			t.Errorf("groups %v", h.Groups())
		}
	}
	for range 3 {
		is()
		for _, id := range []string{"b", "a", "b"} {
			for _, err := range []error{g.Add(t.Context(), id), users.Add("user of " + id)} {
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		is("a", "b")
		g.Remove("b")
		users.Remove("user of b")
		is("a")
		g.Remove("a")
		g.Remove("nobody")
		users.Remove("user of a")
		users.Remove("nobody")
	}
	if err := g.Add(t.Context(), "nobody"); nova.CodeOf(err) != nova.NotFound {
		t.Errorf("nobody: %v", err)
	}
	if err := g.Add(t.Context(), "c"); nova.CodeOf(err) != nova.Denied {
		t.Errorf("refused: %v", err)
	}
	if g.Has("c") || g.Has("nobody") || users.Has("nobody") {
		t.Error("has those it refused")
	}
	for _, name := range []string{"", "a\nb"} {
		if err := h.Group(name).Add(t.Context(), "a"); nova.CodeOf(err) != nova.Invalid {
			t.Errorf("group %q: %v", name, err)
		}
		if err := h.UserGroup(name).Add("a"); nova.CodeOf(err) != nova.Invalid {
			t.Errorf("user group %q: %v", name, err)
		}
	}
	// Whoever is gone is in nothing; a user stays in its groups.
	if err := g.Add(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if err := users.Add("user of a"); err != nil {
		t.Fatal(err)
	}
	h.Client("a").Disconnect(1000, "")
	eventually(t, "it left", func() bool { return g.Len() == 0 && len(g.Members()) == 0 && !g.Has("a") })
	if !users.Has("user of a") {
		t.Error("the user left with the connection")
	}
}
