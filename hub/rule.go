package hub

import (
	"fmt"
	"strings"
	"time"
)

// TopicRule sets what holds for the topics whose name matches its pattern. Of
// several the first that matches counts, when the topic comes into being.
type TopicRule struct {
	// Pattern is a name in parts that dots separate. A part "*" stands for any one
	// part, ">" as the last for one or more: "orders.*.filled", "chat.>", ">".
	Pattern string
	// Size is the number of frames kept in memory; 0 = History.Size, negative = none.
	// A topic with a log keeps at least 256 there, whatever Size says.
	Size int
	// TTL is the age after which a frame is not given any more; 0 = no limit. With
	// Log the log's own bounds count, and TTL must be 0.
	TTL time.Duration
	// Log keeps the topic in Options.Log: a frame is delivered once the log has it.
	Log bool
	// LogPolicy says what becomes of frames while the log cannot be written.
	LogPolicy LogPolicy
	// MaxMembers bounds the sessions in the topic; a join beyond is refused with code
	// Exhausted. 0 = no limit.
	MaxMembers int
}

// LogPolicy is what happens to the frames of a topic while its log is away.
type LogPolicy uint8

// The policies.
const (
	// Degrade delivers without position what the log did not take within
	// Options.LogWait. When the log is back the topic has a new epoch.
	Degrade LogPolicy = iota
	// Hold delivers nothing until the log has it. A publish to a topic with a frame
	// that has waited for LogWait is refused with code Unavailable; what was accepted
	// before stays.
	Hold
)

// rule is a checked TopicRule.
type rule struct {
	TopicRule
	parts []string // of the pattern, without the last ">"
	rest  bool     // the pattern ends in ">"
}

// compileRules checks what is set for topics and fills in the defaults.
func (o *Options) compileRules() ([]rule, error) {
	if o.LogWait == 0 {
		o.LogWait = 2 * time.Second
	}
	if o.LogWait < 0 {
		return nil, fmt.Errorf("hub: Options.LogWait is %v; it must be positive", o.LogWait)
	}
	var rules []rule
	for i, r := range o.Topics {
		wrong := func(format string, args ...any) error {
			return fmt.Errorf("hub: Options.Topics[%d] (pattern %q): %s", i, r.Pattern, fmt.Sprintf(format, args...))
		}
		c, err := parsePattern(r.Pattern)
		if err != nil {
			return nil, wrong("%v", err)
		}
		switch {
		case r.MaxMembers < 0:
			return nil, wrong("MaxMembers is %d; it must not be negative", r.MaxMembers)
		case r.TTL < 0:
			return nil, wrong("TTL is %v; it must not be negative", r.TTL)
		case r.LogPolicy > Hold:
			return nil, wrong("LogPolicy %d is unknown", r.LogPolicy)
		case r.Log && o.Log == nil:
			return nil, wrong("Log is set but Options.Log is missing")
		case r.Log && r.TTL > 0:
			return nil, wrong("TTL does not go with Log: bound the log itself by age")
		case !r.Log && r.LogPolicy != Degrade:
			return nil, wrong("LogPolicy is set without Log")
		}
		c.TopicRule = r
		if c.Size == 0 {
			c.Size = o.History.Size
		}
		if c.Size = max(c.Size, 0); c.Log {
			c.Size = max(c.Size, leastLogged)
		}
		rules = append(rules, c)
	}
	return rules, nil
}

// leastLogged is the least number of newest frames in memory of a topic with a
// log: the last step of a catch-up takes place among them.
const leastLogged = 256

// parsePattern splits a pattern and checks its wildcards.
func parsePattern(pattern string) (rule, error) {
	if pattern == "" {
		return rule{}, fmt.Errorf("the pattern is empty; %q matches every topic", ">")
	}
	parts := strings.Split(pattern, ".")
	for i, p := range parts {
		switch {
		case p == ">" && i < len(parts)-1:
			return rule{}, fmt.Errorf("%q may only be the last part", ">")
		case p == "*" || p == ">":
		case strings.ContainsAny(p, "*>"):
			return rule{}, fmt.Errorf("a wildcard is a part of its own, in %q it is not", p)
		}
	}
	last := len(parts) - 1
	if parts[last] == ">" {
		return rule{parts: parts[:last], rest: true}, nil
	}
	return rule{parts: parts}, nil
}

// matches reports whether the rule is for topics of that name.
func (r *rule) matches(name string) bool {
	more := true // name holds a part
	for _, p := range r.parts {
		if !more {
			return false
		}
		var part string
		part, name, more = strings.Cut(name, ".")
		if p != "*" && p != part {
			return false
		}
	}
	return more == r.rest
}

// ruleOf returns the rule for a topic.
func (h *Hub) ruleOf(name string) *rule {
	for i := range h.rules {
		if h.rules[i].matches(name) {
			return &h.rules[i]
		}
	}
	return &h.anyTopic
}
