package codegen

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ignex/nova/schema"
)

// private puts nova in front of the names of the package scope that are not
// exported, as the package is the user's: fillQuote becomes novaFillQuote.
func private(src []byte) ([]byte, error) {
	file, err := parser.ParseFile(token.NewFileSet(), "", src, parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("parse generated Go: %w", err)
	}
	own := map[string]bool{}
	for name := range declared(file, false) {
		if first, _ := utf8.DecodeRuneInString(name); !unicode.IsUpper(first) && name != "_" && !strings.Contains(name, ".") {
			own[name] = true
		}
	}
	var out []byte
	var s scanner.Scanner
	files := token.NewFileSet()
	f := files.AddFile("", files.Base(), len(src))
	s.Init(f, src, nil, 0)
	copied, last := 0, token.ILLEGAL
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return append(out, src[copied:]...), nil
		}
		if tok == token.IDENT && last != token.PERIOD && own[text] {
			at := f.Offset(pos)
			out = append(append(out, src[copied:at]...), "nova"+strings.ToUpper(text[:1])+text[1:]...)
			copied = at + len(text)
		}
		last = tok
	}
}

// declared returns the names of the package scope, and methods as Type.Method;
// with imports also their names, which nothing in the package scope may have.
func declared(file *ast.File, imports bool) map[string]bool {
	names := map[string]bool{}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				t := d.Recv.List[0].Type
				if star, ok := t.(*ast.StarExpr); ok {
					t = star.X
				}
				name = fmt.Sprint(t) + "." + name
			}
			names[name] = true
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.ValueSpec:
					for _, n := range s.Names {
						names[n.Name] = true
					}
				case *ast.TypeSpec:
					names[s.Name.Name] = true
				case *ast.ImportSpec:
					switch {
					case !imports:
					case s.Name != nil:
						names[s.Name.Name] = true
					default:
						names[strings.Trim(s.Path.Value[strings.LastIndexByte(s.Path.Value, '/')+1:], `"`)] = true
					}
				}
			}
		}
	}
	return names
}

// collisions reports names that generated code needs and the package has.
func (in *input) collisions(src []byte) error {
	file, err := parser.ParseFile(token.NewFileSet(), "", src, parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("parse generated Go: %w", err)
	}
	var problems schema.Errors
	for name := range declared(file, true) {
		at, taken := in.structs.Declared[name]
		what := "the name " + name
		if typ, method, ok := strings.Cut(name, "."); ok {
			at, taken = in.structs.Methods[name]
			what = fmt.Sprintf("the method %s of %s", method, typ)
		}
		if taken {
			problems = append(problems, schema.Problem{Pos: at, Found: what + " is one that nova writes", Fix: "rename it, or the event or call it comes from"})
		}
	}
	if len(problems) == 0 {
		return nil
	}
	return problems.Sorted()
}
