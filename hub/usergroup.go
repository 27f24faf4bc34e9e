package hub

import (
	"slices"
	"sync"
)

// userGroups are named sets of users, kept apart from sessions: a user stays in
// one whether connected or not.
type userGroups struct {
	mu     sync.RWMutex
	groups map[string]map[string]struct{}
}

func (g *userGroups) members(name string) []string {
	g.mu.RLock()
	defer g.mu.RUnlock()
	list := make([]string, 0, len(g.groups[name]))
	for user := range g.groups[name] {
		list = append(list, user)
	}
	slices.Sort(list)
	return list
}

func (g *userGroups) len() int {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return len(g.groups)
}

// UserGroup is a handle on a set of users, good also while the set is empty: it holds
// nothing but the name. Publish to them with nova.UserGroup(name).
type UserGroup struct {
	hub  *Hub
	name string
}

// UserGroup returns the handle of that name.
func (h *Hub) UserGroup(name string) UserGroup { return UserGroup{h, name} }

// Add puts a user in. Errors have code Invalid: a name that cannot be used.
func (g UserGroup) Add(user string) error {
	if err := g.hub.options.checkName("user group", g.name); err != nil {
		return err
	}
	if err := g.hub.options.checkName("user", user); err != nil {
		return err
	}
	s := &g.hub.userGroups
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.groups == nil {
		s.groups = map[string]map[string]struct{}{}
	}
	if s.groups[g.name] == nil {
		s.groups[g.name] = map[string]struct{}{}
	}
	s.groups[g.name][user] = struct{}{}
	return nil
}

// Remove takes a user out.
func (g UserGroup) Remove(user string) {
	s := &g.hub.userGroups
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.groups[g.name], user)
	if len(s.groups[g.name]) == 0 {
		delete(s.groups, g.name)
	}
}

// Members returns the users in the group, sorted.
func (g UserGroup) Members() []string { return g.hub.userGroups.members(g.name) }

// Has reports whether a user is in the group.
func (g UserGroup) Has(user string) bool {
	s := &g.hub.userGroups
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, ok := s.groups[g.name][user]
	return ok
}

// Len returns the number of users in the group.
func (g UserGroup) Len() int {
	s := &g.hub.userGroups
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.groups[g.name])
}
