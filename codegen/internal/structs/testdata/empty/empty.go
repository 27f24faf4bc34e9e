package empty

// A is not marked.
type A struct{}
