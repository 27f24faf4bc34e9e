package gostruct

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// typeSpec is the declaration of a type of the package.
type typeSpec struct {
	spec *ast.TypeSpec
	doc  *ast.CommentGroup
}

// text returns what people should read about the type.
func (t typeSpec) text() string {
	if t.doc == nil {
		return ""
	}
	return clean(t.doc.Text())
}

// index notes what the package declares.
func (p *pkg) index() {
	for _, file := range p.files {
		if p.clause.Line == 0 {
			p.clause = p.pos(file.Name.Pos())
		}
		if file.Doc != nil && p.doc == "" {
			p.doc = clean(file.Doc.Text())
		}
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				p.function(d)
			case *ast.GenDecl:
				p.general(d)
			}
		}
	}
	for _, name := range p.types.Scope().Names() {
		p.names[name] = true
	}
}

func (p *pkg) function(d *ast.FuncDecl) {
	if d.Recv == nil {
		p.Declared[d.Name.Name] = p.pos(d.Name.Pos())
		return
	}
	t := d.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if name, ok := t.(*ast.Ident); ok {
		p.Methods[name.Name+"."+d.Name.Name] = p.pos(d.Name.Pos())
	}
}

func (p *pkg) general(d *ast.GenDecl) {
	for _, s := range d.Specs {
		switch s := s.(type) {
		case *ast.ValueSpec:
			for _, n := range s.Names {
				p.Declared[n.Name] = p.pos(n.Pos())
			}
		case *ast.TypeSpec:
			p.Declared[s.Name.Name] = p.pos(s.Name.Pos())
			doc := s.Doc
			if doc == nil && d.Lparen == token.NoPos {
				doc = d.Doc
			}
			if obj := p.info.Defs[s.Name]; obj != nil {
				p.specs[obj] = typeSpec{s, doc}
			}
			if st, ok := s.Type.(*ast.StructType); ok {
				for _, f := range st.Fields.List {
					for _, n := range f.Names {
						p.fields[p.info.Defs[n]] = f
					}
				}
			}
		}
	}
}

// comment returns what people should read about a field.
func (p *pkg) comment(field types.Object) string {
	f := p.fields[field]
	if f == nil {
		return ""
	}
	return clean(f.Doc.Text() + "\n" + f.Comment.Text())
}

// clean cuts a comment to what a description holds.
func clean(s string) string { return strings.TrimSpace(s) }

// typeName writes a type as generated code does, and notes what it imports.
func (p *pkg) typeName(t types.Type) string {
	return types.TypeString(t, func(other *types.Package) string {
		if other == p.types {
			return ""
		}
		if name, ok := p.Imports[other.Path()]; ok {
			return name
		}
		name := other.Name()
		for p.names[name] || taken[name] || len(name) < 3 {
			name += "pkg"
		}
		p.names[name] = true
		p.Imports[other.Path()] = name
		return name
	})
}

// taken are the names that generated code has for its own imports and variables.
var taken = map[string]bool{"binary": true, "fmt": true, "math": true, "strconv": true, "strings": true, "nova": true, "wire": true,
	"base": true, "payload": true, "kind": true, "dst": true, "err": true}
