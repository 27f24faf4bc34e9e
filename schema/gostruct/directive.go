package gostruct

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/ignex/nova/schema"
)

// Directives are comments of their own line, written without a space as Go's
// own are:
//
//	//nova:event NAME [delivery=…] [key=…] [inbound] [retain=…] [internal] [compress=false]
//	//nova:call NAME REQUEST RESPONSE
//	//nova:union TAG VALUE=TYPE VALUE=TYPE …

// event is a type with a directive.
type event struct {
	name    string
	options object
	at      schema.Pos
	object  types.Object // the struct
}

type call struct {
	name              string
	request, response string
	at                schema.Pos
	doc               string
}

// union is what the directive of an interface says.
type union struct {
	tag     string
	members []member
}

type member struct {
	value, name string
	at          schema.Pos
}

const directivePrefix = "//nova:"

var directiveWords = []string{"event", "call", "union"}

// directives reads those of all files, in order.
func (p *pkg) directives() {
	for _, file := range p.files {
		docs := map[*ast.CommentGroup]types.Object{}
		for obj, s := range p.specs {
			if s.doc != nil {
				docs[s.doc] = obj
			}
		}
		for _, group := range file.Comments {
			for _, c := range group.List {
				p.directive(c, group, docs[group])
			}
		}
	}
}

func (p *pkg) directive(c *ast.Comment, group *ast.CommentGroup, target types.Object) {
	at := p.pos(c.Pos())
	if spaced := strings.TrimLeft(strings.TrimPrefix(c.Text, "//"), " \t"); !strings.HasPrefix(c.Text, directivePrefix) {
		for _, word := range directiveWords {
			if strings.HasPrefix(spaced, "nova:"+word) && strings.HasPrefix(c.Text, "//") {
				p.fail(at, "a directive behind a space is a mere comment", "write "+directivePrefix+word+" without the space")
			}
		}
		return
	}
	words := strings.Fields(strings.TrimPrefix(c.Text, directivePrefix))
	switch word := append(words, "")[0]; {
	case strings.HasPrefix(c.Text, directivePrefix+" "), !slices.Contains(directiveWords, word):
		p.fail(at, fmt.Sprintf("unknown directive %s%s", directivePrefix, word), "known are //nova:event, //nova:call and //nova:union")
	case word == "call":
		p.callDirective(at, words[1:], group)
	case target == nil:
		p.fail(at, directivePrefix+word+" stands above no type", "write it in the comment right above the type, with no empty line between")
	case word == "event":
		p.eventDirective(at, words[1:], target)
	default:
		p.unionDirective(at, words[1:], target)
	}
}

// eventOptions are the options of an event with the values they take; nil = it
// stands alone.
var eventOptions = map[string][]string{"delivery": {"must", "drop", "latest"}, "key": nil, "retain": {"true", "false", "latest"},
	"inbound": {"", "true", "false"}, "internal": {"", "true", "false"}, "compress": {"", "true", "false"}}

func (p *pkg) eventDirective(at schema.Pos, words []string, target types.Object) {
	if len(words) == 0 || strings.Contains(words[0], "=") {
		p.fail(at, "//nova:event without a name", "write //nova:event NAME")
		return
	}
	e := event{name: words[0], at: at, object: target}
	for _, other := range p.events {
		if other.name == e.name {
			p.fail(at, fmt.Sprintf("the event %q is declared twice, first at %s", e.name, other.at), "rename one of the two")
			return
		}
	}
	for _, w := range words[1:] {
		key, value, _ := strings.Cut(w, "=")
		allowed, known := eventOptions[key]
		switch {
		case !known:
			p.fail(at, fmt.Sprintf("unknown option %q of //nova:event", key), "known are delivery, key, inbound, retain, internal and compress")
		case allowed != nil && !slices.Contains(allowed, value) || allowed == nil && value == "":
			p.fail(at, fmt.Sprintf("%s=%q in //nova:event", key, value), optionAdvice(key, allowed))
		case slices.ContainsFunc(e.options, func(o pair) bool { return o.key == key }):
			p.fail(at, fmt.Sprintf("the option %s stands twice in //nova:event", key), "remove one of the two")
		case value == "" || value == "true":
			e.options = append(e.options, pair{key, true})
		case value == "false":
			e.options = append(e.options, pair{key, false})
		default:
			e.options = append(e.options, pair{key, value})
		}
	}
	p.events = append(p.events, e)
}

func optionAdvice(key string, allowed []string) string {
	if allowed == nil {
		return "write " + key + "=PROPERTY"
	}
	if allowed[0] == "" {
		return fmt.Sprintf("write %s or %s=false", key, key)
	}
	return fmt.Sprintf("write %s=%s", key, strings.Join(allowed, " or "+key+"="))
}

func (p *pkg) callDirective(at schema.Pos, words []string, group *ast.CommentGroup) {
	if len(words) != 3 {
		p.fail(at, fmt.Sprintf("//nova:call with %d words", len(words)), "write //nova:call NAME REQUEST RESPONSE, the two being struct types of this package (\"type Done struct{}\" for nothing)")
		return
	}
	for _, other := range p.calls {
		if other.name == words[0] {
			p.fail(at, fmt.Sprintf("the call %q is declared twice, first at %s", words[0], other.at), "rename one of the two")
			return
		}
	}
	doc := ""
	if !slices.ContainsFunc(p.files, func(f *ast.File) bool { return f.Doc == group }) && !p.ofType(group) {
		doc = clean(group.Text())
	}
	p.calls = append(p.calls, call{words[0], words[1], words[2], at, doc})
}

// ofType reports whether a comment is the doc comment of a type.
func (p *pkg) ofType(group *ast.CommentGroup) bool {
	for _, s := range p.specs {
		if s.doc == group {
			return true
		}
	}
	return false
}

func (p *pkg) unionDirective(at schema.Pos, words []string, target types.Object) {
	const form = "write //nova:union TAG VALUE=TYPE VALUE=TYPE …, for example //nova:union kind circle=Circle square=Square"
	if len(words) < 2 || strings.Contains(words[0], "=") {
		p.fail(at, "//nova:union without a tag and members", form)
		return
	}
	if _, ok := target.Type().Underlying().(*types.Interface); !ok {
		p.fail(at, fmt.Sprintf("//nova:union above %s, which is no interface", target.Name()), fmt.Sprintf("write type %s interface{ NovaUnion() }", target.Name()))
		return
	}
	u := union{tag: words[0]}
	for _, w := range words[1:] {
		value, name, ok := strings.Cut(w, "=")
		if !ok || value == "" || !token.IsIdentifier(name) {
			p.fail(at, fmt.Sprintf("the member %q of //nova:union", w), form)
			return
		}
		u.members = append(u.members, member{value, name, at})
	}
	p.unions[target] = u
}

// event returns the schema of an event.
func (p *pkg) event(e event) any {
	pointer := under("/events", e.name)
	p.Places[pointer] = e.at
	ref, ok := p.payload(e.object, e.at, fmt.Sprintf("the event %q", e.name))
	if !ok {
		return object{}
	}
	body := object{{"$ref", ref}}
	if len(e.options) > 0 {
		body = append(body, pair{"x-nova", e.options})
	}
	return body
}

func (p *pkg) call(c call) (any, bool) {
	p.Places[under("/calls", c.name)] = c.at
	var body object
	if c.doc != "" {
		body = append(body, pair{"description", c.doc})
	}
	for _, side := range []pair{{"request", c.request}, {"response", c.response}} {
		name := side.value.(string)
		obj := p.types.Scope().Lookup(name)
		if _, ok := obj.(*types.TypeName); !ok {
			p.fail(c.at, fmt.Sprintf("the %s %s of the call %q is no type of this package", side.key, name, c.name), "declare it as a struct")
			return nil, false
		}
		ref, ok := p.payload(obj, c.at, fmt.Sprintf("the %s of the call %q", side.key, c.name))
		if !ok {
			return nil, false
		}
		body = append(body, pair{side.key, object{{"$ref", ref}}})
	}
	return body, true
}

// payload returns the reference to a struct that stands alone in a frame: it
// gets methods, so it must be a defined type of the package.
func (p *pkg) payload(obj types.Object, at schema.Pos, what string) (string, bool) {
	named, ok := obj.Type().(*types.Named)
	if ok {
		_, ok = named.Underlying().(*types.Struct)
	}
	switch {
	case !ok && named != nil && named.Underlying() == types.Typ[types.Invalid]:
		p.fail(p.pos(obj.Pos()), fmt.Sprintf("the type %s does not compile", obj.Name()), "mend it")
		return "", false
	case !ok:
		p.fail(at, fmt.Sprintf("%s is %s, which is no struct of its own", what, obj.Name()), "write a struct type with that as its one field")
		return "", false
	}
	return p.reference(named, p.pos(obj.Pos()))
}
