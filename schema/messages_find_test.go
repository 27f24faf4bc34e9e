package schema_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// The texts of problems, found in the sources: what is given to a function that makes
// a schema.Problem, or stands in one, whatever it is put together from.

// sources is one package. Texts are lists of alternatives; the parameters of the
// function around them are runes from hole on.
type sources struct {
	fset      *token.FileSet
	values    map[string]ast.Expr // constants and variables of the package
	functions map[string]*ast.FuncType
	returns   map[string][]ast.Expr // what the helpers return
	reporters map[string]reporter   // by name and number of parameters
	out       []message
	told      map[token.Pos]bool
}

// reporter is a function that makes a problem of its parameters.
type reporter struct{ found, fixes []string }

const hole = '\ue000'

// helpers are the functions whose texts are looked into.
var helpers = []string{"foreignAdvice", "didYouMean", "suggest", "optionAdvice"}

func messages(t *testing.T, dir string) []message {
	t.Helper()
	s := &sources{fset: token.NewFileSet(), values: map[string]ast.Expr{}, returns: map[string][]ast.Expr{}, functions: map[string]*ast.FuncType{},
		reporters: map[string]reporter{}, told: map[token.Pos]bool{}}
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(s.fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
		s.declarations(f)
	}
	for known := -1; known != len(s.reporters); { // reporters that call reporters
		known = len(s.reporters)
		for _, f := range files {
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
					s.function(fn.Name.Name, fn.Type, fn.Body, newScope(nil, fn.Type, fn.Body))
				}
			}
		}
	}
	slices.SortStableFunc(s.out, func(a, b message) int { return strings.Compare(a.file, b.file) })
	return s.out
}

func (s *sources) declarations(f *ast.File) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if slices.Contains(helpers, n.Name.Name) {
				s.functions[n.Name.Name] = n.Type
				ast.Inspect(n.Body, func(n ast.Node) bool {
					if r, ok := n.(*ast.ReturnStmt); ok {
						s.returns[helperOf(f, r)] = append(s.returns[helperOf(f, r)], r.Results...)
					}
					return true
				})
			}
			return false
		case *ast.ValueSpec:
			for i, name := range n.Names {
				if i < len(n.Values) {
					s.values[name.Name] = n.Values[i]
				}
			}
		}
		return true
	})
}

// helperOf names the function around a statement.
func helperOf(f *ast.File, at ast.Node) string {
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Pos() <= at.Pos() && at.End() <= fn.End() {
			return fn.Name.Name
		}
	}
	return ""
}

// scope is a function with what its names can hold.
type scope struct {
	outer  *scope
	params map[string]int
	locals map[string][]ast.Expr
}

func newScope(outer *scope, typ *ast.FuncType, body *ast.BlockStmt) *scope {
	c := &scope{outer, map[string]int{}, map[string][]ast.Expr{}}
	for _, p := range typ.Params.List {
		for _, name := range p.Names {
			c.params[name.Name] = len(c.params)
		}
	}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				if name, ok := left.(*ast.Ident); ok && i < len(n.Rhs) {
					c.locals[name.Name] = append(c.locals[name.Name], n.Rhs[i])
				}
			}
		case *ast.ValueSpec:
			for i, name := range n.Names {
				if i < len(n.Values) {
					c.locals[name.Name] = append(c.locals[name.Name], n.Values[i])
				}
			}
		}
		return true
	})
	return c
}

// function looks for problems in a function, and in the functions inside it.
func (s *sources) function(name string, typ *ast.FuncType, body *ast.BlockStmt, c *scope) {
	key := fmt.Sprint(name, "/", typ.Params.NumFields())
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if lit, ok := n.Rhs[0].(*ast.FuncLit); ok {
				s.function(n.Lhs[0].(*ast.Ident).Name, lit.Type, lit.Body, newScope(c, lit.Type, lit.Body))
				return false
			}
		case *ast.CompositeLit:
			var found, fix ast.Expr
			for _, e := range n.Elts {
				if kv, ok := e.(*ast.KeyValueExpr); ok {
					switch k, _ := kv.Key.(*ast.Ident); {
					case k != nil && k.Name == "Found":
						found = kv.Value
					case k != nil && k.Name == "Fix":
						fix = kv.Value
					}
				}
			}
			if found != nil {
				s.tell(n, key, s.text(found, c), s.text(fix, c))
			}
		case *ast.CallExpr:
			called := ""
			switch f := n.Fun.(type) {
			case *ast.SelectorExpr:
				called = f.Sel.Name
			case *ast.Ident:
				called = f.Name
			}
			if r, ok := s.reporters[fmt.Sprint(called, "/", len(n.Args))]; ok {
				var args [][]string
				for _, a := range n.Args {
					args = append(args, s.text(a, c))
				}
				s.tell(n, key, fill(r.found, args), fill(r.fixes, args))
			}
		}
		return true
	})
}

// tell notes a message, or that the function around it makes one of its parameters.
func (s *sources) tell(at ast.Node, function string, found, fixes []string) {
	letters := func(text string) bool {
		return strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) })
	}
	place := s.fset.Position(at.Pos())
	for _, text := range found {
		switch {
		case !letters(text) && strings.ContainsFunc(text, isHole):
			if _, known := s.reporters[function]; !known {
				s.reporters[function] = reporter{found, fixes}
			}
		case letters(text) && !s.told[at.Pos()]:
			m := message{file: filepath.ToSlash(place.Filename), found: shown(text)}
			for _, fix := range fixes {
				if fix = shown(fix); letters(fix) && !slices.Contains(m.fixes, fix) {
					m.fixes = append(m.fixes, fix)
				}
			}
			s.out = append(s.out, m)
		}
	}
	s.told[at.Pos()] = s.told[at.Pos()] || slices.ContainsFunc(found, letters)
}

func isHole(r rune) bool { return r >= hole && r < hole+20 }

// shown is a text with "…" for what is not known.
func shown(text string) string {
	text = strings.Map(func(r rune) rune {
		if isHole(r) {
			return '…'
		}
		return r
	}, text)
	for strings.Contains(text, "……") {
		text = strings.ReplaceAll(text, "……", "…")
	}
	return text
}

// fill puts arguments where the parameters are.
func fill(texts []string, args [][]string) []string {
	for i, alternatives := range args {
		var out []string
		for _, text := range texts {
			if !strings.ContainsRune(text, hole+rune(i)) {
				out = append(out, text)
				continue
			}
			for _, a := range alternatives {
				// Holes of the caller must not be taken for those of the called.
				out = append(out, strings.ReplaceAll(text, string(hole+rune(i)), strings.Map(away, a)))
			}
		}
		texts = out
	}
	return apply(texts, func(text string) string { return strings.Map(back, text) })
}

func away(r rune) rune {
	if isHole(r) {
		return r + 100
	}
	return r
}

func back(r rune) rune {
	if isHole(r - 100) {
		return r - 100
	}
	return r
}

var verb = regexp.MustCompile(`%[-+#0-9.]*[a-z%]`)

// text returns what an expression can say.
func (s *sources) text(e ast.Expr, c *scope) []string {
	unknown := []string{"…"}
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil {
			return []string{text}
		}
		return []string{e.Value}
	case *ast.BinaryExpr:
		if e.Op != token.ADD {
			return unknown
		}
		var out []string
		for _, a := range s.text(e.X, c) {
			for _, b := range s.text(e.Y, c) {
				out = append(out, a+b)
			}
		}
		return out
	case *ast.Ident:
		return s.name(e.Name, c)
	case *ast.IndexExpr: // any value of a map
		x, ok := e.X.(*ast.Ident)
		if !ok || s.values[x.Name] == nil {
			return unknown
		}
		lit, ok := s.values[x.Name].(*ast.CompositeLit)
		if !ok {
			return unknown
		}
		var out []string
		for _, el := range lit.Elts {
			if kv, ok := el.(*ast.KeyValueExpr); ok {
				out = append(out, s.text(kv.Value, c)...)
			}
		}
		return out
	case *ast.CallExpr:
		return s.call(e, c)
	}
	return unknown
}

func (s *sources) name(name string, c *scope) []string {
	for at := c; at != nil; at = at.outer {
		if exprs := at.locals[name]; exprs != nil {
			delete(at.locals, name) // it may be made of itself
			var out []string
			for _, e := range exprs {
				out = append(out, s.text(e, c)...)
			}
			at.locals[name] = exprs
			return out
		}
		if i, ok := at.params[name]; ok {
			if at != c {
				return []string{"…"}
			}
			return []string{string(hole + rune(i))}
		}
	}
	if e := s.values[name]; e != nil {
		return s.text(e, nil)
	}
	return []string{"…"}
}

func (s *sources) call(e *ast.CallExpr, c *scope) []string {
	called := ""
	switch f := e.Fun.(type) {
	case *ast.SelectorExpr:
		called = f.Sel.Name
	case *ast.Ident:
		called = f.Name
	}
	switch called {
	case "quote", "Quote":
		return []string{`"…"`}
	case "Sprintf":
		out := s.text(e.Args[0], c)
		return apply(out, func(format string) string {
			next := 0
			return verb.ReplaceAllStringFunc(format, func(v string) string {
				if v == "%%" {
					return "%"
				}
				next++
				known := []string{"…"}
				if next < len(e.Args) {
					known = s.text(e.Args[next], c)
				}
				switch _, err := strconv.Atoi(strings.ReplaceAll(known[0], "_", "")); {
				case len(known) == 1 && err == nil:
					return strings.ReplaceAll(known[0], "_", "")
				case v == "%q":
					return `"…"`
				case len(known) == 1:
					return known[0]
				}
				return "…"
			})
		})
	}
	if s.returns[called] == nil || c == nil {
		return []string{"…"}
	}
	inner := newScope(nil, s.functions[called], &ast.BlockStmt{})
	var out []string
	for _, r := range s.returns[called] {
		out = append(out, s.text(r, inner)...)
	}
	var args [][]string
	for _, a := range e.Args {
		args = append(args, s.text(a, c))
	}
	return fill(out, args)
}
