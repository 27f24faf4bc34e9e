package schema

// Rule is one constraint.
type Rule struct{}

func (r *reader) rules(c *core) []Rule { return nil }
