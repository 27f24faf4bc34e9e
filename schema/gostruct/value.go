package gostruct

import (
	"fmt"
	"go/types"
	"slices"

	"github.com/ignex/nova/schema"
)

// where tells about what a problem is.
type where struct {
	at   schema.Pos
	what string
}

func (p *pkg) refuse(w where, found, fix string) bool {
	p.fail(w.at, w.what+" "+found, fix)
	return false
}

// value returns the schema of a field, of what a map holds, or of a slice inside
// a slice.
func (p *pkg) value(t types.Type, pointer string, w where, tag *tags) (object, Value, bool) {
	t = types.Unalias(t)
	v := Value{Type: p.typeName(t)}
	if _, named := t.(*types.Named); named && p.foreign(t) {
		return nil, v, p.refuse(w, "is "+v.Type+", which writes a JSON form of its own that nova cannot know", "write a string, or the type that it should have on the wire")
	}
	switch u := t.Underlying().(type) {
	case *types.Pointer:
		if t != u {
			break
		}
		elem := types.Unalias(u.Elem())
		switch elem.Underlying().(type) {
		case *types.Slice, *types.Map, *types.Interface, *types.Pointer:
			return nil, v, p.refuse(w, "is "+v.Type+", a pointer to what can be nil itself", fmt.Sprintf("write %s; with `omitempty` in its json tag nil is absent", p.typeName(elem)))
		}
		body, ok := p.single(elem, &v, w, tag)
		v.Pointer = true
		return body, v, ok
	case *types.Slice:
		if b, ok := types.Unalias(u.Elem()).(*types.Basic); ok && b.Kind() == types.Byte {
			v.Single = v.Type
			return append(object{{"type", "Uint8Array"}}, byteKeywords(tag.element)...), v, true
		}
		return p.list(t, u, v, pointer, w, tag)
	case *types.Map:
		return p.mapping(t, u, v, pointer, w, tag)
	}
	body, ok := p.single(t, &v, w, tag)
	return body, v, ok
}

// byteKeywords names the constraints of bytes.
func byteKeywords(list object) object {
	var out object
	for _, k := range list {
		switch k.key {
		case "minLength":
			k.key = "minByteLength"
		case "maxLength":
			k.key = "maxByteLength"
		}
		out = append(out, k)
	}
	return out
}

// within refuses slices and maps that hold themselves with no struct between.
func (p *pkg) within(t types.Type, w where) bool {
	if slices.Contains(p.inside, t) {
		return p.refuse(w, "is "+p.typeName(t)+", which holds itself", "put a struct between: one with a slice of itself")
	}
	p.inside = append(p.inside, t)
	return true
}

func (p *pkg) leave() { p.inside = p.inside[:len(p.inside)-1] }

func (p *pkg) list(t types.Type, u *types.Slice, v Value, pointer string, w where, tag *tags) (object, Value, bool) {
	if !p.within(t, w) {
		return nil, v, false
	}
	defer p.leave()
	elem := types.Unalias(u.Elem())
	var items object
	switch e := elem.Underlying().(type) {
	case *types.Slice, *types.Map:
		inner := *tag
		inner.list, inner.mapKeywords = nil, nil
		body, held, ok := p.value(elem, under(pointer, "items"), w, &inner)
		if !ok {
			return nil, v, false
		}
		items, v.Single = body, held.Type
		p.Values[under(pointer, "items")] = held
	default:
		if pointed, ok := e.(*types.Pointer); ok && elem == e && isObject(pointed.Elem()) && !isTime(pointed.Elem()) {
			v.Held, elem = true, types.Unalias(pointed.Elem())
		} else if ok {
			return nil, v, p.refuse(w, "is "+v.Type+": elements have no null", "write []"+p.typeName(pointed.Elem()))
		}
		body, ok := p.single(elem, &v, w, tag)
		if !ok {
			return nil, v, false
		}
		items = body
	}
	p.Places[under(pointer, "items")] = w.at
	return append(object{{"type", "array"}, {"items", items}}, tag.list...), v, true
}

func (p *pkg) mapping(t types.Type, u *types.Map, v Value, pointer string, w where, tag *tags) (object, Value, bool) {
	if !p.within(t, w) {
		return nil, v, false
	}
	defer p.leave()
	key, ok := u.Key().Underlying().(*types.Basic)
	if !ok || key.Kind() != types.String {
		return nil, v, p.refuse(w, "is "+v.Type+": the keys of maps are strings", "write map[string]"+p.typeName(u.Elem())+", or a slice of structs with the key")
	}
	inner := *tag
	inner.list, inner.mapKeywords = nil, nil
	elem := types.Unalias(u.Elem())
	if pointed, ok := elem.(*types.Pointer); ok && (!isObject(pointed.Elem()) || isTime(pointed.Elem())) {
		return nil, v, p.refuse(w, "is "+v.Type+": what a map holds has no null", "write map[string]"+p.typeName(pointed.Elem()))
	}
	at := under(pointer, "additionalProperties")
	body, held, ok := p.value(elem, at, w, &inner)
	if !ok {
		return nil, v, false
	}
	v.Single, v.Key = held.Type, p.typeName(u.Key())
	p.Values[at], p.Places[at] = held, w.at
	return append(object{{"type", "object"}, {"additionalProperties", body}}, tag.mapKeywords...), v, true
}

// narrow are the numbers with a scalar of their own.
var narrow = map[types.BasicKind]string{types.Int8: "int8", types.Int16: "int16", types.Int32: "int32", types.Uint8: "uint8",
	types.Uint16: "uint16", types.Uint32: "uint32", types.Uint64: "uint64"}

// advice says what to write instead of a basic type.
var advice = map[types.BasicKind]string{types.Uint: "write uint32 or uint64: uint has no size of its own", types.Uintptr: "write uint64",
	types.Complex64: "write a struct of two floats", types.Complex128: "write a struct of two floats", types.UnsafePointer: "events carry data only"}

// single returns the schema of a value that is no list.
func (p *pkg) single(t types.Type, v *Value, w where, tag *tags) (object, bool) {
	v.Single = p.typeName(t)
	named, _ := t.(*types.Named)
	if isTime(t) {
		v.Cast = Time
		return append(object{{"type", "integer"}}, tag.element...), true
	}
	if named != nil && p.foreign(t) {
		return nil, p.refuse(w, "is "+v.Single+", which writes a JSON form of its own that nova cannot know", "write a string, or the type that it should have on the wire")
	}
	switch u := t.Underlying().(type) {
	case *types.Struct:
		if named == nil {
			return nil, p.refuse(w, "is a struct without a name", "declare it: type NAME struct { … }")
		}
		return p.refer(named, w)
	case *types.Interface:
		if _, marked := p.unions[objectOf(named)]; marked {
			return p.refer(named, w)
		}
		return nil, p.refuse(w, "is "+v.Single+", an interface", "write a struct, a string holding JSON text, or mark the interface //nova:union TAG VALUE=TYPE …")
	case *types.Basic:
		if named != nil {
			v.Cast = Convert
			if len(constants(named)) > 0 {
				v.Cast = Literal
				return p.refer(named, w)
			}
		}
		return p.basic(u, v, w, tag)
	case *types.Array:
		return nil, p.refuse(w, "is "+v.Single+", an array of fixed length", "write []"+p.typeName(u.Elem()))
	case *types.Chan, *types.Signature:
		return nil, p.refuse(w, "is "+v.Single+", which holds no data", "leave it out of the events with `json:\"-\"`")
	case *types.Pointer:
		return nil, p.refuse(w, "is "+v.Single+", a named pointer", "write *"+p.typeName(u.Elem()))
	}
	return nil, p.refuse(w, "is "+v.Single+", which has no binary form", "write a struct, a string, a number or a slice of them")
}

func (p *pkg) basic(u *types.Basic, v *Value, w where, tag *tags) (object, bool) {
	var body object
	switch kind := u.Kind(); kind {
	case types.String:
		body = object{{"type", "string"}}
	case types.Bool:
		body = object{{"type", "boolean"}}
	case types.Float64:
		body = object{{"type", "number"}}
	case types.Float32:
		body = object{{"type", "number"}, {"x-nova", object{{"type", "float32"}}}}
	case types.Int, types.Int64:
		body = object{{"type", "integer"}}
		if kind == types.Int {
			v.Cast, p.Ints = Convert, true
		}
		if tag.bigint {
			body = append(body, pair{"x-nova", object{{"bigint", true}}})
		}
	case types.Invalid:
		return nil, p.refuse(w, "has a type that does not exist or does not compile", "mend it; go vet tells more")
	default:
		if narrow[kind] == "" {
			return nil, p.refuse(w, "is "+v.Single+", which has no binary form", advice[kind])
		}
		body = object{{"type", "integer"}, {"x-nova", object{{"type", narrow[kind]}}}}
	}
	return append(body, tag.element...), true
}

// refer returns the schema that refers to a named type.
func (p *pkg) refer(named *types.Named, w where) (object, bool) {
	ref, ok := p.reference(named, w.at)
	return object{{"$ref", ref}}, ok
}

func objectOf(named *types.Named) types.Object {
	if named == nil {
		return nil
	}
	return named.Obj()
}

func isTime(t types.Type) bool {
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Name() == "Time" && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == "time"
}

// foreign reports whether a type of another package says itself what its JSON is:
// its fields are not what it stands for.
func (p *pkg) foreign(t types.Type) bool {
	named, ok := t.(*types.Named)
	if !ok || named.Obj().Pkg() == p.types || isTime(t) || len(constants(named)) > 0 {
		return false
	}
	methods := types.NewMethodSet(types.NewPointer(named))
	return methods.Lookup(nil, "MarshalJSON") != nil || methods.Lookup(nil, "MarshalText") != nil
}
