package gostruct

import (
	"encoding/json"
	"fmt"
	"go/types"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/ignex/nova/schema"
)

// tags are what the tags of a field say.
type tags struct {
	name                       string // of the property
	given                      bool   // the name stands in the tag
	skip                       bool
	optional                   bool // omitempty or omitzero
	bigint, secret, nullable   bool
	element, list, mapKeywords object // constraints
}

// keywords are the constraints of the tag nova, with what they are about.
var keywords = map[string]string{
	"min": "minimum", "max": "maximum", "minimum": "minimum", "maximum": "maximum",
	"exclusiveMinimum": "exclusiveMinimum", "exclusiveMaximum": "exclusiveMaximum", "multipleOf": "multipleOf",
	"minLength": "minLength", "maxLength": "maxLength", "pattern": "pattern", "format": "format",
	"minItems": "minItems", "maxItems": "maxItems", "uniqueItems": "uniqueItems",
	"minProperties": "minProperties", "maxProperties": "maxProperties",
}

// readTags reads the tags json and nova of a field.
func (p *pkg) readTags(f *types.Var, tag string, at schema.Pos) tags {
	t := tags{name: f.Name()}
	st := reflect.StructTag(tag)
	if strings.TrimSpace(tag) != "" && !strings.Contains(tag, `:"`) {
		p.fail(at, fmt.Sprintf("the tag %s of the field %s has no key", strconv.Quote(tag), f.Name()), "write `json:\"name\"`")
	}
	whole := st.Get("json")
	name, options, _ := strings.Cut(whole, ",")
	if whole == "-" || st.Get("nova") == "-" {
		t.skip = true
		return t
	}
	if name != "" {
		t.name, t.given = name, true
	}
	for option := range strings.SplitSeq(options, ",") {
		switch option {
		case "":
		case "omitempty", "omitzero":
			t.optional = true
		case "string":
			if !isInt64(f.Type()) {
				p.fail(at, fmt.Sprintf("the json option \"string\" of the field %s, which is %s", f.Name(), p.typeName(f.Type())), "use it with int64 and uint64, or remove it")
			}
			t.bigint = true
		default:
			p.fail(at, fmt.Sprintf("the json option %q of the field %s, which nova does not follow", option, f.Name()), "known are omitempty, omitzero and string")
		}
	}
	p.novaTag(&t, f, st.Get("nova"), at)
	return t
}

func (p *pkg) novaTag(t *tags, f *types.Var, tag string, at schema.Pos) {
	for tag != "" {
		if strings.HasPrefix(tag, "pattern=") { // it may hold commas, and takes the rest
			t.element = append(t.element, pair{"pattern", strings.TrimPrefix(tag, "pattern=")})
			return
		}
		var word string
		word, tag, _ = strings.Cut(tag, ",")
		key, value, valued := strings.Cut(word, "=")
		keyword := keywords[key]
		switch {
		case key == "secret" && !valued:
			t.secret = true
		case key == "bigint" && !valued:
			t.bigint = true
			if !isInt64(f.Type()) {
				p.fail(at, fmt.Sprintf("bigint on the field %s, which is %s", f.Name(), p.typeName(f.Type())), "use it with int64, or remove it")
			}
		case key == "nullable" && !valued:
			t.nullable = true
		case key == "uniqueItems" && !valued:
			t.list = append(t.list, pair{keyword, true})
		case keyword == "" || key == "uniqueItems":
			p.fail(at, fmt.Sprintf("unknown word %q in the nova tag of the field %s", word, f.Name()),
				"known are secret, bigint, nullable, and min, max, minLength, maxLength, pattern, format, minItems, maxItems, uniqueItems and the other constraints of JSON Schema")
		case keyword == "format":
			t.element = append(t.element, pair{keyword, value})
		case !isNumber(value):
			p.fail(at, fmt.Sprintf("%s=%q in the nova tag of the field %s is no number", key, value, f.Name()), "write a number, such as "+key+"=1")
		case strings.HasSuffix(keyword, "Items"):
			t.list = append(t.list, pair{keyword, number(value)})
		case strings.HasSuffix(keyword, "Properties"):
			t.mapKeywords = append(t.mapKeywords, pair{keyword, number(value)})
		default:
			t.element = append(t.element, pair{keyword, number(value)})
		}
	}
}

// isNumber reports whether s is a JSON number.
func isNumber(s string) bool {
	return json.Valid([]byte(s)) && (s[0] == '-' || s[0] >= '0' && s[0] <= '9')
}

// isInt64 reports whether a field holds 64-bit integers, alone or in a list.
func isInt64(t types.Type) bool {
	for range 10 { // a type can hold itself
		switch u := t.Underlying().(type) {
		case *types.Pointer:
			t = u.Elem()
		case *types.Slice:
			t = u.Elem()
		case *types.Map:
			t = u.Elem()
		case *types.Basic:
			return slices.Contains([]types.BasicKind{types.Int, types.Int64, types.Uint64}, u.Kind())
		default:
			return false
		}
	}
	return false
}
