package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// ValueError is a value that a setting cannot have.
type ValueError struct {
	Name  string // of the flag, the variable or the key
	Value string // "" = secret or too long to show
	Err   error
}

func (e *ValueError) Error() string {
	if e.Value == "" {
		return fmt.Sprintf("%s: %v", e.Name, e.Err)
	}
	return fmt.Sprintf("%s: %q is not right; %v", e.Name, e.Value, e.Err)
}

func (e *ValueError) Unwrap() error { return e.Err }

// ErrEmpty is what is wrong with a flag that is given without a value.
var ErrEmpty = errors.New("the value is empty; give one, or leave the flag out")

// wrong says which setting an error is about, in the words of the file.
func (t *Setting) wrong(value string, err error) error { return t.wrongAs(t.Key, value, err) }

func (t *Setting) wrongAs(name, value string, err error) error {
	if t.secret || len(value) > 100 || t.kind == "yaml" {
		value = ""
	}
	return &ValueError{Name: name, Value: value, Err: err}
}

var errUnknown = errors.New("unknown")

type unknownError struct{ text string }

func (e *unknownError) Error() string { return e.text }
func (e *unknownError) Unwrap() error { return errUnknown }

// unknown says that there is no such setting, and which is near.
func (s *Set) unknown(what, key string) error {
	text := fmt.Sprintf("unknown %s %q; nova config lists all", what, key)
	if near := s.nearest(key); near != "" {
		text = fmt.Sprintf("unknown %s %q; did you mean %q?", what, key, near)
	}
	return &unknownError{text}
}

// flagValue is a setting as a flag.
type flagValue struct{ setting *Setting }

func (f flagValue) String() string {
	if f.setting == nil { // pflag asks a zero value
		return ""
	}
	return textOf(f.setting.node())
}

func (f flagValue) Type() string { return f.setting.kind }

// Set keeps the value for Load: the flags come last.
func (f flagValue) Set(text string) error {
	given, err := f.setting.parse(text)
	if text == "" && err == nil {
		err = ErrEmpty // an unset variable of a shell must not switch a check off
	}
	if err != nil {
		return f.setting.wrongAs("--"+flagName(f.setting.Key), text, err)
	}
	f.setting.flags = append(f.setting.flags, given)
	return nil
}

// Bind makes a flag of each setting.
func (s *Set) Bind(flags *pflag.FlagSet) {
	for _, setting := range s.settings {
		f := flags.VarPF(flagValue{setting}, flagName(setting.Key), "", setting.Usage)
		if setting.kind == "bool" {
			f.NoOptDefVal = "true"
		}
	}
}

// Load applies the file, the environment (as os.Environ has it) and the flags, in
// this order, then reads the files of secrets. path is the config file; with
// optional set it may be missing. The error names the place: file and line, variable
// or flag.
func (s *Set) Load(path string, optional bool, environ []string) error {
	if path != "" {
		if err := s.readFile(path); err != nil && !(optional && errors.Is(err, fs.ErrNotExist)) {
			return err
		}
	}
	if err := s.readEnvironment(environ); err != nil {
		return err
	}
	for _, setting := range s.settings {
		if len(setting.flags) > 0 {
			setting.give(byFlag, "flag --"+flagName(setting.Key), setting.flags...)
		}
	}
	return s.readSecrets()
}

// linked are variables that Kubernetes and Docker make for a service called nova, or
// nova-something, without anyone's wish.
var linked = regexp.MustCompile(`_SERVICE_HOST$|_SERVICE_PORT(_|$)|_PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?$`)

// known are variables of other commands, and the one that names the file.
var known = []string{"NOVA_CONFIG", "NOVA_URL"}

// readEnvironment applies the variables that begin with NOVA_. An empty one is as
// good as none, because many tools cannot take a variable away.
func (s *Set) readEnvironment(environ []string) error {
	byName := map[string]*Setting{}
	for _, setting := range s.settings {
		byName[envName(setting.Key)] = setting
	}
	for _, entry := range slices.Sorted(slices.Values(environ)) {
		name, text, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, prefix) || text == "" || slices.Contains(known, name) {
			continue
		}
		setting := byName[name]
		if setting == nil {
			if linked.MatchString(name) {
				continue
			}
			return s.unknownVariable(name)
		}
		given, err := setting.parse(text)
		if err != nil {
			return setting.wrongAs(name, text, err)
		}
		setting.give(byVariable, name, given)
	}
	return nil
}

func (s *Set) unknownVariable(name string) error {
	key := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, prefix), "_", "-"))
	if near := s.nearest(key); s.byKey[near] != nil {
		return fmt.Errorf("unknown environment variable %s; did you mean %s?", name, envName(near))
	}
	return fmt.Errorf("unknown environment variable %s; nova config lists the settings", name)
}

// Find returns the config file to read: what was asked for, else NOVA_CONFIG, else
// the name given if there is such a file, which then is optional.
func Find(asked, usual string) (path string, optional bool) {
	if asked != "" {
		return asked, false
	}
	if named := os.Getenv("NOVA_CONFIG"); named != "" {
		return named, false
	}
	return usual, true
}
