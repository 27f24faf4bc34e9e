package gostruct

import (
	"fmt"
	"go/types"
	"slices"

	"github.com/ignex/nova/schema"
)

// property is one field of a struct, or of one that is embedded in it.
type property struct {
	tags
	field *types.Var
	path  string // from the struct
	depth int    // of embedding
	at    schema.Pos
}

// structure returns the keywords of a struct.
func (p *pkg) structure(d definition, st *types.Struct, pointer string) object {
	name := d.named.Obj().Name()
	var list []property
	p.collect(&list, d.named, st, property{at: d.at}, map[*types.Struct]bool{})
	properties := object{}
	required := []any{}
	for i, f := range list {
		if !p.visible(list, i, name) {
			continue
		}
		at := under(pointer, "properties", f.name)
		p.Places[at] = f.at
		body, v, ok := p.field(f, name, at)
		if !ok {
			continue
		}
		v.Path = f.path
		p.Values[at] = v
		properties = append(properties, pair{f.name, body})
		if !f.absent(v) {
			required = append(required, f.name)
		}
	}
	return object{{"type", "object"}, {"properties", properties}, {"required", required}}
}

// absent reports whether the property may be left out.
func (f property) absent(v Value) bool { return f.optional || v.Pointer && !f.nullable }

// collect lists the fields in order, those of embedded structs in their place.
// under is what embeds them: its path, depth and place.
func (p *pkg) collect(list *[]property, owner *types.Named, st *types.Struct, under property, open map[*types.Struct]bool) {
	if open[st] {
		return
	}
	open[st] = true
	defer delete(open, st)
	for i := range st.NumFields() {
		f := st.Field(i)
		at := p.own(f, under.at)
		t := p.readTags(f, st.Tag(i), at)
		if t.skip || f.Name() == "_" {
			continue
		}
		if f.Embedded() && !t.given {
			if inner, ok := p.embedded(f, at); ok {
				p.collect(list, owner, inner, property{path: under.path + f.Name() + ".", depth: under.depth + 1, at: at}, open)
				continue
			} else if inner == nil {
				continue
			}
		}
		if !f.Exported() {
			fix := "export it, or leave it out of the events with `json:\"-\"`"
			if f.Pkg() != p.types {
				fix = "write the fields that are sent in a struct of your own"
			}
			p.fail(at, fmt.Sprintf("the field %s of %s is not exported", under.path+f.Name(), owner.Obj().Name()), fix)
			continue
		}
		full := under.path + f.Name()
		if obj, _, _ := types.LookupFieldOrMethod(owner, true, owner.Obj().Pkg(), f.Name()); obj == f {
			full = f.Name() // promoted, also through a type that is not exported
		}
		*list = append(*list, property{t, f, full, under.depth, at})
	}
}

// embedded returns the struct whose fields are merged. Without one, the struct is
// nil when a problem was told, and empty when the field is one like any other.
func (p *pkg) embedded(f *types.Var, at schema.Pos) (*types.Struct, bool) {
	t := types.Unalias(f.Type())
	if inner, ok := t.(*types.Pointer); ok {
		p.fail(at, fmt.Sprintf("the embedded pointer *%s: its fields would come and go together", p.typeName(inner.Elem())),
			"embed the struct itself, or give the field a name")
		return nil, false
	}
	if st, ok := t.Underlying().(*types.Struct); ok && !isTime(t) {
		return st, true
	}
	return &types.Struct{}, false
}

// visible reports whether the property is the one that its name means: the one
// that is embedded least deep, as in Go and encoding/json.
func (p *pkg) visible(list []property, i int, owner string) bool {
	f := list[i]
	for j, other := range list {
		switch {
		case j == i || other.name != f.name || other.depth > f.depth:
		case other.depth < f.depth:
			return false
		case j < i:
			p.fail(f.at, fmt.Sprintf("the fields %s and %s of %s are both the property %q", other.path, f.path, owner, f.name), "give one of them another name in its json tag")
			return false
		}
	}
	return true
}

// field returns the schema of a field.
func (p *pkg) field(f property, owner, pointer string) (object, Value, bool) {
	w := where{f.at, fmt.Sprintf("the field %s of %s", f.path, owner)}
	body, v, ok := p.value(f.field.Type(), pointer, w, &f.tags)
	if !ok {
		return nil, v, false
	}
	if doc := p.comment(f.field); doc != "" {
		body = append(body, pair{"description", doc})
	}
	if f.nullable {
		if f.optional || !v.Pointer && !isList(f.field.Type()) {
			p.fail(f.at, w.what+" is nullable and "+kindOf(f, v), "make it a pointer, a slice or a map without omitempty")
			return nil, v, false
		}
		body = append(body, pair{"nullable", true})
	}
	if f.secret {
		body = withOption(body, "secret", true)
	}
	if f.optional && !v.Pointer && !isList(f.field.Type()) {
		if v.Cast == Same && isObject(f.field.Type()) {
			p.fail(f.at, w.what+" is a struct, of which no value means that it is absent", "make it a pointer: *"+v.Type)
			return nil, v, false
		}
		v.ByZero = true
	}
	return body, v, true
}

func kindOf(f property, v Value) string {
	if f.optional {
		return "optional"
	}
	return v.Type + ", which has no value for null"
}

// isList reports whether nil means absent, without a pointer.
func isList(t types.Type) bool {
	switch t.Underlying().(type) {
	case *types.Slice, *types.Map, *types.Interface:
		return true
	}
	return false
}

func isObject(t types.Type) bool {
	_, ok := t.Underlying().(*types.Struct)
	return ok
}

// withOption adds an entry to the x-nova of a schema.
func withOption(body object, key string, value any) object {
	i := slices.IndexFunc(body, func(m pair) bool { return m.key == "x-nova" })
	if i < 0 {
		return append(body, pair{"x-nova", object{{key, value}}})
	}
	body[i].value = append(body[i].value.(object), pair{key, value})
	return body
}
