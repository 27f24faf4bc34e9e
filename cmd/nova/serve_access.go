package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ignex/nova"
)

// accessRules are the topics and groups that clients may enter; a list that is empty
// lets them enter all.
type accessRules struct {
	topics []string
	groups []string
}

// userPart stands for the client's user in a pattern.
const userPart = "{user}"

// check refuses patterns that would never match, or match what nobody expects.
func (a *accessRules) check() error {
	for _, list := range []struct {
		key      string
		patterns []string
	}{{"access.topics", a.topics}, {"access.groups", a.groups}} {
		for _, p := range list.patterns {
			if err := checkPattern(p); err != nil {
				return usagef("%s: %q: %v", list.key, p, err)
			}
		}
	}
	return nil
}

func checkPattern(pattern string) error {
	parts := strings.Split(pattern, ".")
	for i, p := range parts {
		switch {
		case p == ">" && i < len(parts)-1:
			return errors.New(`">" may only be the last part`)
		case p == "*" || p == ">" || p == userPart:
		case strings.ContainsAny(p, "*>{}"):
			return fmt.Errorf("*, > and %s are parts of their own, in %q they are not", userPart, p)
		}
	}
	return nil
}

// granted is what a token itself names, in the meta of a client.
type granted struct {
	Topics []string `json:"topics,omitempty"`
	Groups []string `json:"groups,omitempty"`
}

// grantedKey is its place there.
const grantedKey = "granted"

// authorizer returns the hook for a list, nil when there is none. What the token
// names is let in, too.
func authorizer(what string, patterns []string, named func(granted) []string) func(context.Context, *nova.Client, string) error {
	if len(patterns) == 0 {
		return nil
	}
	split := make([][]string, len(patterns))
	for i, p := range patterns {
		split[i] = strings.Split(p, ".")
	}
	return func(_ context.Context, client *nova.Client, name string) error {
		parts, user := strings.Split(name, "."), client.User()
		if slices.ContainsFunc(split, func(p []string) bool { return matches(p, parts, user) }) {
			return nil
		}
		if token, ok := client.Meta()[grantedKey].(granted); ok && slices.Contains(named(token), name) {
			return nil
		}
		return nova.Errorf(nova.Denied, "%s %q is not for this client", what, name)
	}
}

// matches compares the parts of a name. {user} matches one part that is the user:
// nobody is none, and one with a dot in the name spans parts, so that a.b could be
// taken for a; it matches nothing.
func matches(pattern, name []string, user string) bool {
	for i, p := range pattern {
		switch {
		case p == ">":
			return len(name) > i
		case i == len(name):
			return false
		case p == userPart:
			if user == "" || name[i] != user {
				return false
			}
		case p != "*" && p != name[i]:
			return false
		}
	}
	return len(pattern) == len(name)
}
