package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxFile bounds a config file, in bytes.
const maxFile = 1 << 20

// lineError is an error with its place in a text.
type lineError struct {
	line int // from 1
	err  error
}

func (e *lineError) Error() string { return fmt.Sprintf("line %d: %v", e.line, e.err) }
func (e *lineError) Unwrap() error { return e.err }

// at gives an error the line of a node, unless it has one.
func at(node *yaml.Node, err error) error {
	var placed *lineError
	if errors.As(err, &placed) {
		return err
	}
	return &lineError{max(node.Line, 1), err}
}

// syntaxLine is where the library's message has the line.
var syntaxLine = regexp.MustCompile(`^line (\d+): `)

// syntaxError makes one line of the library's message.
func syntaxError(err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 1
	if m := syntaxLine.FindStringSubmatch(text); m != nil {
		text = text[len(m[0]):]
		line, _ = strconv.Atoi(m[1]) // the pattern lets digits through only
	}
	return &lineError{line, fmt.Errorf("not YAML: %s", strings.ReplaceAll(text, "\n", " "))}
}

// readFile applies a config file.
func (s *Set) readFile(path string) error {
	data, err := readBounded(path, maxFile)
	if err != nil {
		return err
	}
	if err := s.readText(path, data); err != nil {
		var placed *lineError
		if errors.As(err, &placed) {
			return fmt.Errorf("%s:%d: %w", path, placed.line, placed.err)
		}
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func (s *Set) readText(path string, data []byte) error {
	root, err := parseYAML(data)
	switch {
	case err != nil:
		return err
	case root == nil || root.Kind == yaml.ScalarNode && root.Tag == "!!null":
		return nil // empty, or only comments
	case root.Kind != yaml.MappingNode:
		return at(root, errors.New("write settings as name: value"))
	}
	if err := s.read(root, ""); err != nil {
		return err
	}
	for _, setting := range s.settings {
		if line, ok := strings.CutPrefix(setting.Source, "line "); ok {
			setting.Source = path + ":" + line
			s.relocate(setting, filepath.Dir(path))
		}
	}
	return nil
}

// relocate makes a path of the file relative to its directory.
func (s *Set) relocate(setting *Setting, dir string) {
	if !setting.path {
		return
	}
	if name := setting.node().Value; name != "" && !filepath.IsAbs(name) {
		setting.assign([]any{filepath.Join(dir, name)})
	}
}

// read applies a mapping, whose keys stand behind section.
func (s *Set) read(mapping *yaml.Node, section string) error {
	seen := map[string]int{}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		name, value := mapping.Content[i], mapping.Content[i+1]
		switch {
		case name.Kind != yaml.ScalarNode:
			return at(name, errors.New("write a name before the colon"))
		case name.Tag == "!!merge":
			return at(name, errors.New("<< is not followed; write the settings themselves"))
		}
		if line := seen[name.Value]; line > 0 {
			return at(name, fmt.Errorf("%q is given twice, first on line %d; keep one", section+name.Value, line))
		}
		seen[name.Value] = name.Line
		if err := s.readEntry(name, value, section); err != nil {
			return err
		}
	}
	return nil
}

func (s *Set) readEntry(name, value *yaml.Node, section string) error {
	key := section + name.Value
	setting := s.byKey[key]
	switch {
	case strings.Contains(name.Value, ".") && setting != nil:
		above, last, _ := strings.Cut(name.Value, ".")
		return at(name, fmt.Errorf("write %q as %s in the section %s", key, last, above))
	case setting == nil && s.sections[key]:
		if value.Kind == yaml.MappingNode {
			return s.read(value, key+".")
		}
		return at(value, fmt.Errorf("%q is a section; write its settings below it, indented", key))
	case setting == nil:
		return at(name, s.unknown("key", key))
	}
	given, err := setting.fromFile(value)
	if err != nil {
		return err
	}
	setting.give(byFile, "line "+strconv.Itoa(value.Line), given)
	return nil
}

// fromFile reads a value of the file.
func (t *Setting) fromFile(node *yaml.Node) (any, error) {
	decode := t.decode
	if decode == nil {
		decode = func(node *yaml.Node) (any, error) { return parseScalar(node, t.parse) }
	}
	given, err := decode(node)
	var placed *lineError
	if err != nil && !errors.As(err, &placed) {
		err = at(node, err)
	}
	if errors.As(err, &placed) && !placed.named() {
		value := node.Value
		if node.Kind != yaml.ScalarNode {
			value = ""
		}
		err = &lineError{placed.line, t.wrong(value, placed.err)}
	}
	return given, err
}

// named reports whether the error says already which setting it is about.
func (e *lineError) named() bool {
	var v *ValueError
	return errors.As(e.err, &v) || errors.Is(e.err, errUnknown)
}

// parseScalar reads a node of one value.
func parseScalar(node *yaml.Node, parse func(string) (any, error)) (any, error) {
	switch {
	case node.Kind == yaml.AliasNode:
		return nil, at(node, errors.New("an alias is not followed; write the value itself"))
	case node.Kind != yaml.ScalarNode:
		return nil, at(node, errors.New("write one value"))
	case node.Tag == "!!null":
		return nil, at(node, errors.New("no value is given; write one, or leave the line out"))
	}
	given, err := parse(node.Value)
	if err != nil {
		return nil, at(node, err)
	}
	return given, nil
}

// readBounded reads a file of at most max bytes.
func readBounded(path string, max int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s (%w)", path, cause(err))
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, max+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot read %s (%w)", path, cause(err))
	case int64(len(data)) > max:
		return nil, fmt.Errorf("%s is longer than %d bytes; is it the right file?", path, max)
	}
	return data, nil
}

// cause is the error behind one that repeats the path.
func cause(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}
