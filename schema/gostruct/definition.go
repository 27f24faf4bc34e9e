package gostruct

import (
	"fmt"
	"go/constant"
	"go/types"
	"slices"

	"github.com/ignex/nova/schema"
)

// definition is a named type that something refers to.
type definition struct {
	name  string
	named *types.Named
	at    schema.Pos // where it was first referred to
}

// reference returns the JSON pointer of a type's definition.
func (p *pkg) reference(named *types.Named, at schema.Pos) (string, bool) {
	obj := named.Obj()
	name := obj.Name()
	switch {
	case named.TypeArgs().Len() > 0 || named.TypeParams().Len() > 0:
		p.fail(at, fmt.Sprintf("the type %s is generic", p.typeName(named)), "declare a struct of its own with the fields written out")
		return "", false
	case !obj.Exported():
		p.fail(at, fmt.Sprintf("the type %s is not exported, and TypeScript and .fbs know it by its name", name), "export it")
		return "", false
	}
	ref := "#" + under("/$defs", name)
	switch first := p.defined[name]; {
	case first == obj:
		return ref, true
	case first != nil:
		p.fail(at, fmt.Sprintf("two types are called %s: %s.%s and %s.%s", name, first.Pkg().Path(), name, obj.Pkg().Path(), name), "declare a type of another name for one of them")
		return "", false
	}
	p.defined[name] = obj
	p.queue = append(p.queue, definition{name, named, at})
	pointer := under("/$defs", name)
	p.Places[pointer] = p.own(obj, at)
	p.Types[pointer] = Type{p.typeName(named)}
	return ref, true
}

// definition returns the schema of a named type.
func (p *pkg) definition(d definition) object {
	var body object
	if doc := p.specs[d.named.Obj()].text(); doc != "" {
		body = append(body, pair{"description", doc})
	}
	pointer := under("/$defs", d.name)
	switch u := d.named.Underlying().(type) {
	case *types.Struct:
		return append(body, p.structure(d, u, pointer)...)
	case *types.Interface:
		return append(body, p.union(d.named)...)
	}
	var literals []any
	for i, c := range constants(d.named) {
		literals = append(literals, constant.StringVal(c.Val()))
		p.Places[under(pointer, "enum", fmt.Sprint(i))] = p.own(c, d.at)
	}
	return append(body, pair{"enum", literals})
}

// constants returns the constants of a named string type in the order they are
// declared, each value once.
func constants(named *types.Named) []*types.Const {
	pkg := named.Obj().Pkg()
	if b, ok := named.Underlying().(*types.Basic); !ok || b.Kind() != types.String || pkg == nil {
		return nil
	}
	var list []*types.Const
	for _, name := range pkg.Scope().Names() {
		if c, ok := pkg.Scope().Lookup(name).(*types.Const); ok && types.Identical(c.Type(), named) && c.Val().Kind() == constant.String {
			list = append(list, c)
		}
	}
	// One package is read into consecutive places, in the order of its files.
	slices.SortFunc(list, func(a, b *types.Const) int { return int(a.Pos()) - int(b.Pos()) })
	seen := map[string]bool{}
	return slices.DeleteFunc(list, func(c *types.Const) bool {
		text := constant.StringVal(c.Val())
		twice := seen[text]
		seen[text] = true
		return twice
	})
}

// union returns the schema of a marked interface.
func (p *pkg) union(named *types.Named) object {
	p.used = append(p.used, named.Obj())
	u := p.unions[named.Obj()]
	at := p.pos(named.Obj().Pos())
	iface := named.Underlying().(*types.Interface)
	if iface.NumMethods() != 1 || iface.Method(0).Name() != "NovaUnion" || iface.Method(0).Signature().Params().Len()+iface.Method(0).Signature().Results().Len() > 0 {
		p.fail(at, fmt.Sprintf("the union %s has other methods than NovaUnion()", named.Obj().Name()), fmt.Sprintf("write type %s interface{ NovaUnion() }; nova writes that method for the members, and members of newer schemas have no other", named.Obj().Name()))
	}
	var refs []any
	for _, m := range u.members {
		member, ok := p.types.Scope().Lookup(m.name).(*types.TypeName)
		if !ok {
			p.fail(m.at, fmt.Sprintf("the member %s of the union %s is no type of this package", m.name, named.Obj().Name()), "declare it as a struct")
			continue
		}
		if ref, ok := p.payload(member, m.at, fmt.Sprintf("the member %s of the union %s", m.value, named.Obj().Name())); ok {
			refs = append(refs, object{{"$ref", ref}})
		}
	}
	return object{{"anyOf", refs}, {"discriminator", object{{"propertyName", u.tag}}}}
}

// tagMembers gives the members of unions the property that tells them apart,
// which Go has in the type. It comes when all definitions are read.
func (p *pkg) tagMembers(defs object) {
	for _, obj := range p.used {
		u := p.unions[obj]
		for _, m := range u.members {
			i := slices.IndexFunc(defs, func(d pair) bool { return d.key == m.name })
			if i < 0 {
				continue // told above
			}
			def := defs[i].value.(object)
			for j, part := range def {
				switch part.key {
				case "properties":
					p.tagProperty(u, m, &def[j], obj.Name())
				case "required":
					def[j].value = append([]any{u.tag}, part.value.([]any)...)
				}
			}
		}
	}
}

func (p *pkg) tagProperty(u union, m member, part *pair, name string) {
	properties := part.value.(object)
	if slices.ContainsFunc(properties, func(f pair) bool { return f.key == u.tag }) {
		p.fail(m.at, fmt.Sprintf("%s has a property %q, which tells the members of the union %s apart", m.name, u.tag, name),
			"remove the field: the Go type says it; or tell them apart by another name")
		return
	}
	part.value = append(object{{u.tag, object{{"const", m.value}}}}, properties...)
}
