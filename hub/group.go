package hub

import (
	"context"
	"slices"

	"github.com/ignex/nova"
)

// Group is a handle on a group of clients, good also while the group is empty: it holds
// nothing but the name. Publish to it with nova.Group(name).
type Group struct {
	hub  *Hub
	name string
}

// Group returns the handle of that name.
func (h *Hub) Group(name string) Group { return Group{h, name} }

// Add puts a client in, past AuthorizeGroup. Errors carry a Code: NotFound (no such
// client), and those of Client.JoinGroup.
func (g Group) Add(ctx context.Context, clientID string) error {
	c := g.hub.Client(clientID)
	if c == nil {
		return nova.Errorf(nova.NotFound, "there is no client %q", clientID)
	}
	return c.JoinGroup(ctx, g.name)
}

// Remove takes a client out.
func (g Group) Remove(clientID string) {
	if c := g.hub.Client(clientID); c != nil {
		c.LeaveGroup(g.name)
	}
}

// Has reports whether a client is in the group.
func (g Group) Has(clientID string) bool {
	s, r := g.hub.session(clientID), g.hub.groups.get(g.name)
	return s != nil && r != nil && s.in(r)
}

// Members returns the ids of the clients in the group, sorted. It looks at all clients
// there are.
func (g Group) Members() []string {
	list := []string{}
	r := g.hub.groups.get(g.name)
	if r == nil {
		return list
	}
	for _, s := range g.hub.sessions() {
		if s.in(r) {
			list = append(list, s.id)
		}
	}
	slices.Sort(list)
	return list
}

// Len returns the number of clients in the group.
func (g Group) Len() int {
	r := g.hub.groups.lock(g.name, nil)
	if r == nil {
		return 0
	}
	defer r.mu.Unlock()
	return r.members
}
