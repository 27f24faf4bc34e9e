package codegen_test

import (
	"fmt"

	constraints "github.com/ignex/nova/codegen/testdata/constraints/go"
)

// A schema with constraints gives its types a Validate, which names the first
// value that breaks one.
func ExampleGenerate_validate() {
	tree := constraints.Node{Name: "root", Kids: []constraints.Node{{Name: "left"}, {Name: ""}}}
	fmt.Println(tree.Validate())
	// Output: invalid value: /kids/1/name: must have at least 1 characters
}
