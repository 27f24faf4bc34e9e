package codegen

import (
	"fmt"
	"go/format"
)

// goTests returns a test, a fuzz target and a benchmark for each type that
// stands alone in a payload, in the package of that name.
func (in *input) goTests(pkg string) ([]byte, error) {
	g := &goFile{input: in}
	g.line("%s\n", header)
	g.line("package %s\n", pkg)
	g.line("import (\n\"testing\"\n\n\"github.com/ignex/nova/codectest\"\n)")
	taken := in.goNames()
	for _, t := range in.tables {
		if len(t.roots) == 0 {
			continue
		}
		name := "Nova" + t.Name
		for taken["Test"+name] || taken["Fuzz"+name] || taken["Benchmark"+name] {
			name += "_"
		}
		g.line("\nfunc Test%s(t *testing.T) { codectest.RoundTrip[%s](t, Schema, %s) }", name, t.goStruct(), quote(t.Name))
		g.line("\nfunc Fuzz%s(f *testing.F) { codectest.Fuzz[%s](f, Schema, %s) }", name, t.goStruct(), quote(t.Name))
		g.line("\nfunc Benchmark%s(b *testing.B) { codectest.Benchmark[%s](b, Schema, %s) }", name, t.goStruct(), quote(t.Name))
	}
	src, err := format.Source(g.Bytes())
	if err != nil {
		return nil, fmt.Errorf("format generated tests: %w", err)
	}
	return src, nil
}

// goNames returns the exported names of the Go package.
func (in *input) goNames() map[string]bool {
	names := map[string]bool{}
	for _, t := range in.model.Tables {
		names[t.Name] = true
	}
	for _, u := range in.model.Unions {
		names[u.Name] = true
	}
	for _, e := range in.model.Enums {
		names[e.Name] = true
		for _, v := range e.Values {
			names[v.GoName] = true
		}
	}
	for _, e := range in.model.Events {
		names[e.GoName] = true
	}
	for _, c := range in.model.Calls {
		names[c.GoName] = true
	}
	return names
}
