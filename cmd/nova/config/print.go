package config

import (
	"bytes"
	"encoding/json"
	"strings"

	"go.yaml.in/yaml/v3"
)

// scalarNode writes one value. Numbers and switches stand bare, texts are quoted when
// YAML would read them as something else.
func scalarNode(text, kind string) *yaml.Node {
	node := &yaml.Node{Kind: yaml.ScalarNode, Value: text, Tag: "!!str"}
	switch kind {
	case "number":
		node.Tag = "!!int"
		if strings.Contains(text, ".") {
			node.Tag = "!!float"
		}
	case "bool":
		node.Tag = "!!bool"
	case "size":
		if strings.Trim(text, "0123456789") == "" {
			node.Tag = "!!int"
		}
	}
	return node
}

func listNode(list []string) *yaml.Node {
	node := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle}
	for _, text := range list {
		node.Content = append(node.Content, scalarNode(text, "string"))
	}
	return node
}

// textOf is a value on one line: the parts of a list with commas between them.
func textOf(node *yaml.Node) string {
	if node.Kind == yaml.ScalarNode {
		return node.Value
	}
	var texts []string
	for _, item := range node.Content {
		texts = append(texts, textOf(item))
	}
	return strings.Join(texts, ",")
}

// printed is the value of a setting as others may see it.
func (t *Setting) printed() *yaml.Node {
	if t.hides() {
		return scalarNode(Hidden, "string")
	}
	return t.node()
}

// YAML returns all settings as a config file with the source of each behind it, and
// *** for secrets.
func (s *Set) YAML() ([]byte, error) {
	root := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	sections := map[string]*yaml.Node{"": root}
	for _, setting := range s.settings {
		parent, name := "", setting.Key
		if i := strings.LastIndexByte(name, '.'); i >= 0 {
			parent, name = name[:i], name[i+1:]
		}
		into := sections[parent]
		if into == nil {
			into = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
			sections[parent] = into
			root.Content = append(root.Content, scalarNode(parent, "string"), into)
		}
		key, value := scalarNode(name, "string"), setting.printed()
		if value.Kind == yaml.SequenceNode && value.Style != yaml.FlowStyle {
			key.LineComment = setting.Source
		} else {
			value.LineComment = setting.Source
		}
		into.Content = append(into.Content, key, value)
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(root); err != nil {
		return nil, err
	}
	err := encoder.Close()
	return out.Bytes(), err
}

// JSON returns all settings as an array of {key, value, source}, with *** for
// secrets.
func (s *Set) JSON() ([]byte, error) {
	type entry struct {
		Key    string `json:"key"`
		Value  any    `json:"value"`
		Source string `json:"source"`
	}
	entries := make([]entry, len(s.settings))
	for i, setting := range s.settings {
		entries[i] = entry{Key: setting.Key, Source: setting.Source}
		if err := setting.printed().Decode(&entries[i].Value); err != nil {
			return nil, err
		}
	}
	return json.MarshalIndent(entries, "", "  ")
}
