package config

import (
	"bytes"
	"errors"
	"io"

	"go.yaml.in/yaml/v3"
)

// Records declares a setting that is a list of entries with fields of their own,
// which declare names for one entry. As a flag or variable it is the same YAML text:
// [{pattern: a, size: 1}].
func Records[T any](s *Set, p *[]T, key, usage string, fields func(*Set, *T)) {
	decode := func(node *yaml.Node) (any, error) {
		if node.Kind != yaml.SequenceNode {
			return nil, at(node, errors.New("write a list of entries, each behind a dash"))
		}
		var list []T
		for _, item := range node.Content {
			if item.Kind != yaml.MappingNode {
				return nil, at(item, errors.New("write an entry as names and values, such as {pattern: chat.>}"))
			}
			var entry T
			set := New()
			fields(set, &entry)
			if err := set.read(item, ""); err != nil {
				return nil, err
			}
			list = append(list, entry)
		}
		return list, nil
	}
	s.declare(&Setting{
		Key: key, Usage: usage, kind: "yaml", decode: decode,
		parse: func(text string) (any, error) {
			node, err := parseYAML([]byte(text))
			if err != nil {
				return nil, err
			}
			if node == nil {
				return []T(nil), nil
			}
			return decode(node)
		},
		assign: func(given []any) {
			*p = nil
			for _, list := range given {
				*p = append(*p, list.([]T)...)
			}
		},
		node: func() *yaml.Node {
			out := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
			for i := range *p {
				out.Content = append(out.Content, recordNode((*p)[i], fields))
			}
			if len(*p) == 0 {
				out.Style = yaml.FlowStyle
			}
			return out
		},
	})
}

// recordNode writes the fields of an entry that are not as in an empty one.
func recordNode[T any](entry T, fields func(*Set, *T)) *yaml.Node {
	var blank T
	set, empty := New(), New()
	fields(empty, &blank)
	kept := entry
	fields(set, &kept)
	out := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for i, field := range set.settings {
		value := field.node()
		if value.Value != empty.settings[i].node().Value || len(value.Content) > 0 {
			out.Content = append(out.Content, scalarNode(field.Key, "string"), value)
		}
	}
	return out
}

// parseYAML returns the one document of a text, nil when there is none.
func parseYAML(data []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	if err := decoder.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, syntaxError(err)
	}
	var second yaml.Node
	if err := decoder.Decode(&second); err == nil {
		return nil, at(&second, errors.New("a second document begins; write one"))
	} else if !errors.Is(err, io.EOF) {
		return nil, syntaxError(err)
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	return doc.Content[0], nil
}
