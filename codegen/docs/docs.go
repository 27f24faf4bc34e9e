// Package docs describes a schema for people and tools: an AsyncAPI document and
// a page that is one file. The same model gives the same bytes.
package docs

import (
	"fmt"

	"github.com/ignex/nova/codegen"
	"github.com/ignex/nova/schema"
	"github.com/ignex/nova/wire"
)

// Target is the directory of the two files.
const Target codegen.Target = "docs"

// Generate returns asyncapi.json and index.html of a model.
func Generate(m *schema.Model) (codegen.Files, error) {
	layout, err := m.Layout()
	if err != nil {
		return nil, fmt.Errorf("lay out schema %s: %w", m.Package, err)
	}
	w := &writer{model: m, layout: layout, unions: map[*schema.Union]int{}}
	for i, u := range m.Unions {
		w.unions[u] = i
	}
	api, err := w.asyncAPI()
	if err != nil {
		return nil, err
	}
	page, err := w.page()
	if err != nil {
		return nil, err
	}
	return codegen.Files{{Target: Target, Name: "asyncapi.json", Data: api}, {Target: Target, Name: "index.html", Data: page}}, nil
}

// writer is a model while it is described.
type writer struct {
	model  *schema.Model
	layout *wire.Layout
	unions map[*schema.Union]int // index in layout
}

// live returns the fields that have a property.
func live(t *schema.Table) []*schema.Field {
	var list []*schema.Field
	for _, f := range t.Fields {
		if !f.Deprecated && f.Kind != wire.UnionType {
			list = append(list, f)
		}
	}
	return list
}

// last returns the field that a table of nova's own stands for.
func last(t *schema.Table) *schema.Field { return t.Fields[len(t.Fields)-1] }

// wraps reports whether a table is nova's own and shows as its last field alone.
func wraps(t *schema.Table) bool { return t.Shape == schema.Box || t.Shape == schema.Row }
