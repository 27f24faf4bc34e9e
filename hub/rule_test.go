package hub

import (
	"strings"
	"testing"
	"time"

	"github.com/ignex/nova/market"
	"github.com/ignex/nova/topiclog"
)

// slowMatch is the obvious matcher.
func slowMatch(pattern, name []string) bool {
	switch {
	case len(pattern) == 0 || len(name) == 0:
		return len(pattern) == len(name)
	case pattern[0] == ">":
		return true
	case pattern[0] == "*" || pattern[0] == name[0]:
		return slowMatch(pattern[1:], name[1:])
	}
	return false
}

func checkMatch(t *testing.T, pattern, name string) {
	t.Helper()
	r, err := parsePattern(pattern)
	if err != nil {
		return
	}
	want := slowMatch(strings.Split(pattern, "."), strings.Split(name, "."))
	if got := r.matches(name); got != want {
		t.Errorf("pattern %q, name %q: %v, want %v", pattern, name, got, want)
	}
}

// TestPatterns compares every short pattern with every short name.
func TestPatterns(t *testing.T) {
	words := func(alphabet string, most int) (list []string) {
		list = []string{""}
		for from := 0; most > 0; most-- {
			to := len(list)
			for _, w := range list[from:to] {
				for _, c := range alphabet {
					list = append(list, w+string(c))
				}
			}
			from = to
		}
		return list
	}
	names := words("ab.", 5)
	for _, pattern := range words("a*>.", 5) {
		for _, name := range names {
			checkMatch(t, pattern, name)
		}
	}
}

func FuzzPattern(f *testing.F) {
	f.Add("orders.*", "orders.1")
	f.Add("a.>", "a.b.c")
	f.Add(">", "x")
	f.Add("*..b", "a..b")
	f.Fuzz(func(t *testing.T, pattern, name string) { checkMatch(t, pattern, name) })
}

func TestBadRules(t *testing.T) {
	for want, r := range map[string]TopicRule{
		"the pattern is empty":   {},
		"only be the last part":  {Pattern: ">.a"},
		"a part of its own":      {Pattern: "a.b*"},
		"MaxMembers is -1":       {Pattern: "a", MaxMembers: -1},
		"TTL is -1s":             {Pattern: "a", TTL: -time.Second},
		"LogPolicy 7 is unknown": {Pattern: "a", LogPolicy: 7},
		"Options.Log is missing": {Pattern: "a", Log: true},
		"LogPolicy is set witho": {Pattern: "a", LogPolicy: Hold},
	} {
		_, err := New(Options{Schema: market.Schema, Topics: []TopicRule{{Pattern: "x"}, r}})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "Options.Topics[1]") {
			t.Errorf("%+v: %v, want %q", r, err, want)
		}
	}
	log := topiclog.NewMemory(topiclog.MemoryOptions{})
	defer log.Close()
	_, err := New(Options{Schema: market.Schema, Log: log, Topics: []TopicRule{{Pattern: "x", Log: true, TTL: time.Second}}})
	if err == nil || !strings.Contains(err.Error(), "TTL does not go with Log") {
		t.Errorf("TTL with log: %v", err)
	}
}
