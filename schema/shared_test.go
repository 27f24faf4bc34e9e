package schema_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ignex/nova/schema"
	"github.com/ignex/nova/wire"
)

// file returns the bytes of a file of the repository, by its path from this folder.
func file(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.FromSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// read reads a schema that must be right and checks that its layout is.
func read(t *testing.T, src string) *schema.Model {
	t.Helper()
	m, err := schema.Read("schema.json", []byte(src), schema.Options{})
	if err != nil {
		t.Fatalf("Read:\n%v\n%s", err, src)
	}
	if _, err := m.Layout(); err != nil {
		t.Fatalf("Layout: %v", err)
	}
	return m
}

// describe writes a field's type in the notation of typebox-verdicts.tsv.
func describe(f *schema.Field) string { return describeIn(f, nil) }

func describeIn(f *schema.Field, open []*schema.Table) string {
	s := f.Kind.String()
	switch {
	case f.Map:
		s = "map(" + describeIn(f.Table.Fields[1], open) + ")"
	case f.Kind == wire.Struct && f.Table.Shape != schema.Plain:
		s = describeIn(f.Table.Fields[len(f.Table.Fields)-1], open)
	case f.Kind == wire.Struct:
		s = describeTableIn(f.Table, open)
	case f.Kind == wire.Union:
		var members []string
		for _, m := range f.Union.Members {
			members = append(members, m.Value.Text+describeTableIn(m.Table, open))
		}
		s = "union(" + f.Union.Tag + " " + strings.Join(members, " ") + ")"
	case f.Kind == wire.Enum:
		var literals []string
		for _, v := range f.Enum.Values {
			literals = append(literals, plain(v.Literal))
		}
		s = "enum(" + strings.Join(literals, " ") + ")"
	case f.BigInt:
		s = "bigint"
	case f.Numbers != nil:
		s += "(" + strings.Trim(fmt.Sprint(f.Numbers), "[]") + ")"
	}
	if f.Vector && !f.Map {
		s = "[" + s + "]"
	}
	return s + [...]string{"", "?", "~", "?~"}[f.Presence]
}

func describeTable(t *schema.Table) string { return describeTableIn(t, nil) }

// describeTableIn writes a table inside others; one of those is ^ and how many
// levels up it stands.
func describeTableIn(t *schema.Table, open []*schema.Table) string {
	if i := slices.Index(open, t); i >= 0 {
		return "^" + strconv.Itoa(len(open)-i)
	}
	open = append(slices.Clone(open), t)
	var fields []string
	for _, f := range t.Fields {
		if f.Kind != wire.UnionType {
			fields = append(fields, f.JSON+":"+describeIn(f, open))
		}
	}
	return "{" + strings.Join(fields, " ") + "}"
}

func plain(s string) string {
	if q := strconv.QuoteToASCII(s); q != `"`+s+`"` {
		return q
	}
	return s
}
