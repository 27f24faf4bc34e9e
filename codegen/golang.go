package codegen

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
)

// goFile is the Go output while it is written.
type goFile struct {
	out
	*input
	bare     bool
	patterns map[string]int // RE2 → number of its variable
}

// goImports are the packages that generated code may use, "" for an empty line.
var goImports = [...]string{
	"encoding/binary", "fmt", "math", "strconv", "strings", "",
	"github.com/ignex/nova", "github.com/ignex/nova/wire",
}

// goSource returns the formatted Go package.
func (in *input) goSource(bare bool) ([]byte, error) {
	body := &goFile{input: in, bare: bare, patterns: map[string]int{}}
	body.line("// Generated code and runtime are of one generation, or this does not compile.")
	body.line("const _ = wire.GeneratedV1")
	if in.structs != nil && in.structs.Ints {
		body.line("\n// The structs have ints, which hold 64 bits or this does not compile.")
		body.line("const _ int = math.MaxInt64")
	}
	body.schema()
	body.descriptors()
	for _, e := range in.model.Enums {
		body.enum(e)
	}
	for _, u := range in.unions {
		body.unionType(u)
	}
	for _, t := range in.tables {
		body.structType(t)
		body.codec(t)
	}
	if in.valid && !bare {
		body.validation()
	}
	head := &goFile{input: in, bare: bare}
	head.line("%s\n", header)
	name := in.model.Package
	if in.structs == nil {
		head.comment("", fmt.Sprintf("Package %s holds the types of schema %s with their codecs.", name, name), in.model.Doc)
	} else {
		name = in.structs.Name
	}
	head.line("package %s\n\nimport (", name)
	used, err := selectors(body.Bytes())
	if err != nil {
		return nil, err
	}
	head.imports(used)
	head.line(")\n")
	head.Write(body.Bytes())
	src := head.Bytes()
	if in.structs != nil {
		if src, err = private(src); err != nil {
			return nil, err
		}
	}
	if src, err = format.Source(src); err != nil {
		return nil, fmt.Errorf("format generated Go: %w", err)
	}
	if in.structs != nil {
		err = in.collisions(src)
	}
	return src, err
}

// imports writes what the code uses: the standard library, then the rest.
func (g *goFile) imports(used map[string]bool) {
	lines := [2][]string{}
	for i, p := range goImports {
		if p != "" && used[path.Base(p)] {
			lines[i/6] = append(lines[i/6], strconv.Quote(p))
		}
	}
	if g.structs != nil {
		for p, name := range g.structs.Imports {
			if !used[name] {
				continue
			}
			line := strconv.Quote(p)
			if name != path.Base(p) {
				line = name + " " + line
			}
			group := 0
			if first, _, _ := strings.Cut(p, "/"); strings.Contains(first, ".") {
				group = 1
			}
			lines[group] = append(lines[group], line)
		}
		for _, list := range lines {
			slices.SortFunc(list, func(a, b string) int {
				return strings.Compare(a[strings.IndexByte(a, '"'):], b[strings.IndexByte(b, '"'):])
			})
		}
	}
	for i, list := range lines {
		if i > 0 {
			g.line("")
		}
		for _, l := range list {
			g.line("%s", l)
		}
	}
}

// selectors returns the package names that code without imports refers to.
func selectors(body []byte) (map[string]bool, error) {
	file, err := parser.ParseFile(token.NewFileSet(), "", append([]byte("package p\n"), body...), parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("parse generated Go: %w", err)
	}
	used := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok {
				used[x.Name] = true
			}
		}
		return true
	})
	return used, nil
}

// comment writes a doc comment: a sentence of ours, then the schema's text.
func (g *goFile) comment(indent, sentence, doc string) {
	lines := docLines(doc)
	if sentence != "" {
		g.line("%s// %s", indent, sentence)
		if len(lines) > 0 {
			g.line("%s//", indent)
		}
	}
	for _, l := range lines {
		if t := strings.TrimSpace(l); strings.HasPrefix(t, "+build") || strings.HasPrefix(t, "go:") { // would look like a directive
			l = "<" + l + ">"
		}
		g.line("%s// %s", indent, l)
	}
}

// goBytes writes bytes as a constant string expression, 16 a line.
func goBytes(b []byte) string {
	if len(b) == 0 {
		return `""`
	}
	var s strings.Builder
	for i, x := range b {
		switch {
		case i == 0:
			s.WriteByte('"')
		case i%16 == 0:
			s.WriteString("\" +\n\"")
		}
		fmt.Fprintf(&s, `\x%02x`, x)
	}
	s.WriteByte('"')
	return s.String()
}

func quote(s string) string { return strconv.Quote(s) }
