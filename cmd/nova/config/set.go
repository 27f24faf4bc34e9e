// Package config reads the settings of a command from its flags, the environment and
// a YAML file, and says where each value is from.
//
// A setting has one key, in parts that dots separate, and by it one name in each
// place: tls.cert is the flag --tls-cert, the variable NOVA_TLS_CERT, and cert in the
// section tls of the file. A flag counts before the environment, that before the
// file, that before the default. A name that is no setting is an error everywhere.
package config

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// Set is the settings of one command, in the order in which they were declared.
// Declare settings (Text, Int, ...) first, with the settings of one section one
// after the other, then Bind, then Load. It is for one goroutine.
type Set struct {
	settings []*Setting
	byKey    map[string]*Setting
	sections map[string]bool
	secrets  []secret
}

// Setting is one named value.
type Setting struct {
	Key    string
	Usage  string
	Source string // "default", or where the value was given: a flag, a variable, file:line

	secret bool
	path   bool   // names a file; in the config file relative to its directory
	kind   string // as --help says
	parse  func(text string) (any, error)
	decode func(node *yaml.Node) (any, error) // of the file; nil = parse of a scalar
	assign func(given []any)                  // replaces the value
	node   func() *yaml.Node                  // the value as the file would say it
	flags  []any                              // given as flags, parsed
	def    string                             // the default, by textOf
	layer  layer
}

// layer is where a value is from; a higher one counts before a lower one.
type layer uint8

const (
	byDefault layer = iota
	byFile
	byVariable
	byFlag
)

// give replaces the value.
func (t *Setting) give(from layer, source string, values ...any) {
	t.assign(values)
	t.layer, t.Source = from, source
}

// defaultSource is the Source of a setting that nobody gave.
const defaultSource = "default"

// New returns an empty set.
func New() *Set {
	return &Set{byKey: map[string]*Setting{}, sections: map[string]bool{}}
}

// All returns the settings in their order.
func (s *Set) All() []*Setting { return s.settings }

// Changed reports whether the value is not the default, wherever it is from.
func (t *Setting) Changed() bool { return textOf(t.node()) != t.def }

func flagName(key string) string { return strings.ReplaceAll(key, ".", "-") }

func envName(key string) string {
	return prefix + strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(key))
}

// prefix of environment variables.
const prefix = "NOVA_"

// declare adds a setting.
func (s *Set) declare(setting *Setting) *Setting {
	if s.byKey[setting.Key] != nil {
		panic("config: key " + setting.Key + " is declared twice")
	}
	setting.Source, setting.def = defaultSource, textOf(setting.node())
	s.settings = append(s.settings, setting)
	s.byKey[setting.Key] = setting
	for i, c := range setting.Key {
		if c == '.' {
			s.sections[setting.Key[:i]] = true
		}
	}
	return setting
}

// scalar declares a setting of one value. show writes a value as parse reads it.
func scalar[T any](s *Set, p *T, key, kind, usage string, parse func(string) (T, error), show func(T) string) *Setting {
	return s.declare(&Setting{
		Key: key, Usage: usage, kind: kind,
		parse:  func(text string) (any, error) { return parse(text) },
		assign: func(given []any) { *p = given[len(given)-1].(T) },
		node:   func() *yaml.Node { return scalarNode(show(*p), kind) },
	})
}
