package gostruct

import (
	"context"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/ignex/nova/schema"
)

// check type-checks the declarations. What does not compile in them is told
// where a marked type holds it; the rest may not compile yet.
func (p *pkg) check(ctx context.Context, importPath string, hidden map[string][]byte) error {
	deps := dependencies{}
	if needed := p.needed(); len(needed) > 0 {
		loaded, err := p.load(ctx, hidden, packages.NeedName|packages.NeedFiles|packages.NeedModule|packages.NeedTypes, needed...)
		if err != nil {
			return err
		}
		for _, l := range loaded {
			if len(l.Errors) > 0 || l.Types == nil || !l.Types.Complete() {
				p.missing(l)
				continue
			}
			deps[l.PkgPath] = l.Types
			if m := l.Module; m != nil && len(l.GoFiles) > 0 && (m.Version == "" || m.Replace != nil && m.Replace.Version == "") {
				p.Dirs = append(p.Dirs, filepath.Dir(l.GoFiles[0]))
			}
		}
	}
	if len(p.problems) > 0 {
		return p.problems.Sorted()
	}
	p.info = &types.Info{Defs: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: deps, IgnoreFuncBodies: true, Error: func(error) {}}
	p.types, _ = config.Check(importPath, p.fset, p.files, p.info) // told where they matter
	return nil
}

// missing reports a package that cannot be read, where it is imported.
func (p *pkg) missing(l *packages.Package) {
	reason := "it does not compile"
	if len(l.Errors) > 0 {
		reason = strings.Join(strings.Fields(l.Errors[0].Msg), " ")
	}
	for _, file := range p.files {
		for _, i := range file.Imports {
			if imported(i) == l.PkgPath || imported(i) == l.ID {
				p.fail(p.pos(i.Pos()), fmt.Sprintf("the package %s cannot be loaded: %s", imported(i), reason), "mend it, or get it with go get")
				return
			}
		}
	}
	p.fail(schema.Pos{File: p.dir, Line: 1, Column: 1}, fmt.Sprintf("the package %s cannot be loaded: %s", l.PkgPath, reason), "mend it, or get it with go get")
}

func imported(i *ast.ImportSpec) string {
	name, _ := strconv.Unquote(i.Path.Value) // the parser has checked it
	return name
}

// needed returns the imports that declarations of types and constants name.
func (p *pkg) needed() []string {
	var list []string
	for _, file := range p.files {
		used := map[string]bool{}
		for _, d := range file.Decls {
			if d, ok := d.(*ast.GenDecl); ok && (d.Tok == token.TYPE || d.Tok == token.CONST) {
				ast.Inspect(d, func(n ast.Node) bool {
					if s, ok := n.(*ast.SelectorExpr); ok {
						if x, ok := s.X.(*ast.Ident); ok {
							used[x.Name] = true
						}
					}
					return true
				})
			}
		}
		var sure, maybe []string
		for _, i := range file.Imports {
			switch {
			case i.Name != nil && (used[i.Name.Name] || i.Name.Name == "."), i.Name == nil && used[path.Base(imported(i))]:
				sure = append(sure, imported(i))
				name := path.Base(imported(i))
				if i.Name != nil {
					name = i.Name.Name
				}
				delete(used, name)
			case i.Name == nil: // the package may have another name than its path
				maybe = append(maybe, imported(i))
			}
		}
		if len(used) > 0 {
			sure = append(sure, maybe...)
		}
		list = append(list, sure...)
	}
	slices.Sort(list)
	return slices.DeleteFunc(slices.Compact(list), func(s string) bool { return s == "unsafe" })
}

// dependencies imports what was loaded; of the rest it makes empty packages, as
// nothing that is read refers to them.
type dependencies map[string]*types.Package

func (d dependencies) Import(importPath string) (*types.Package, error) {
	if importPath == "unsafe" {
		return types.Unsafe, nil
	}
	if loaded, ok := d[importPath]; ok {
		return loaded, nil
	}
	empty := types.NewPackage(importPath, path.Base(importPath))
	empty.MarkComplete()
	d[importPath] = empty
	return empty, nil
}
