// Package wire has the name of a package that generated code imports.
package wire

// Tag is a string with constants.
type Tag string

// The tags.
const (
	B Tag = "b-1"
	A Tag = "a+"
)

// Base is embedded.
type Base struct {
	Seq  uint32 `json:"seq"`
	Name string `json:"name"`
}

// Reader has the name of a type of the runtime.
type Reader struct {
	Tags []Tag `json:"tags"`
}
